import {
  AgentCreateParams,
  AgentListQuery,
  AgentRetrieveQuery,
  AgentUpdateParams,
  PageQuery,
} from "@drover/api";
import { Hono } from "hono";
import type { Agents } from "../../app/agents.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

export function agentRoutes({ agents, write }: { agents: Agents; write: Write }): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .post("/v1/agents", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, AgentCreateParams);
      return await write(c, (tx) => agents.create(tx, c.get("principal"), value), bytes);
    })
    .get("/v1/agents", async (c) => {
      const query = parseQuery(c, AgentListQuery);
      return c.json(await agents.list(c.get("principal").workspaceId, query));
    })
    .get("/v1/agents/:id", async (c) => {
      const { version } = parseQuery(c, AgentRetrieveQuery);
      const { workspaceId } = c.get("principal");
      return c.json(await agents.retrieve(workspaceId, c.req.param("id"), version));
    })
    .post("/v1/agents/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      const { value, bytes } = await readJson(c, AgentUpdateParams);
      return await write(c, (tx) => agents.update(tx, c.get("principal"), id, value), bytes);
    })
    .post("/v1/agents/:id/archive", async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      const id = c.req.param("id");
      return await write(c, (tx) => agents.archive(tx, c.get("principal"), id), undefined);
    })
    .get("/v1/agents/:id/versions", async (c) => {
      const query = parseQuery(c, PageQuery);
      const { workspaceId } = c.get("principal");
      return c.json(await agents.listVersions(workspaceId, c.req.param("id"), query));
    });
}
