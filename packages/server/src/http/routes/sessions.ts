import {
  FileResourceParams,
  PageQuery,
  SessionCreateParams,
  SessionListQuery,
  SessionResourceUpdateParams,
  SessionUpdateParams,
} from "@drover/api";
import { Hono } from "hono";
import type { Cursors } from "../../app/pagination.ts";
import { archiveSession, deleteSession, getSession, listSessions } from "../../app/sessions.ts";
import { createSession } from "../../app/sessions-create.ts";
import {
  addResource,
  deleteResource,
  getResource,
  listResources,
  type ResourceRequest,
  updateResource,
} from "../../app/sessions-resources.ts";
import { updateSession } from "../../app/sessions-update.ts";
import type { SkillReferences } from "../../app/skill-references.ts";
import type { NetworkSetting } from "../../core/egress/sandbox-network.ts";
import type { SandboxBase } from "../../core/ports/hands.ts";
import type { SecretBox } from "../../core/ports/secret-box.ts";
import type { Store } from "../../core/ports/store.ts";
import type { PriceList } from "../../core/pricing/price-list.ts";
import type { ServerProviders } from "../../core/sandboxes/chosen-provider.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppContext, AppEnv } from "../context.ts";
import { sessionKey } from "../keys.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

export interface SessionRouteOptions {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly secretBox: Pick<SecretBox, "seal">;
  readonly write: Write;
  /** RFC 3339 with milliseconds. */
  readonly now: () => string;
  readonly skillReferences: SkillReferences;
  readonly prices: PriceList;
  /** See `AppDeps`. */
  readonly networkSetting?: NetworkSetting | undefined;
  /** See `AppDeps`. */
  readonly sandboxBase?: SandboxBase | undefined;
  readonly providers?: ServerProviders | undefined;
  readonly dockerImage?: string | undefined;
  /** See `AppDeps.wakeDisposer`. */
  readonly wakeDisposer: () => void;
}

export function sessionRoutes(options: SessionRouteOptions): Hono<AppEnv> {
  const { store, write, now, secretBox, skillReferences, prices } = options;
  const { networkSetting, sandboxBase, providers, dockerImage } = options;
  return new Hono<AppEnv>()
    .post("/v1/sessions", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, SessionCreateParams);
      const { workspaceId, keyId } = c.get("principal");
      const place = { networkSetting, sandboxBase, providers, dockerImage };
      const given = { secretBox, skillReferences, prices, ...place };
      const request = { workspaceId, keyId, params: value, ...given };
      return await write(c, (tx) => createSession(tx, request), bytes);
    })
    .get("/v1/sessions", async (c) => {
      const query = parseQuery(c, SessionListQuery);
      const { workspaceId } = c.get("principal");
      return c.json(await listSessions(options, { workspaceId, query, now: now() }));
    })
    .get("/v1/sessions/:session_id", async (c) => {
      refuseQuery(c);
      return c.json(await getSession(store, { key: sessionKey(c), now: now() }));
    })
    .post("/v1/sessions/:session_id", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, SessionUpdateParams);
      const update = { params: value, prices };
      return await write(c, (tx) => updateSession(tx, sessionKey(c), update), bytes);
    })
    .delete("/v1/sessions/:session_id", async (c) => {
      refuseQuery(c);
      const response = await write(c, (tx) => deleteSession(tx, sessionKey(c)), undefined);
      options.wakeDisposer();
      return response;
    })
    .post("/v1/sessions/:session_id/archive", async (c) => {
      refuseQuery(c);
      await readEmpty(c);
      return await write(c, (tx) => archiveSession(tx, sessionKey(c)), undefined);
    });
}

export function sessionResourceRoutes(options: SessionRouteOptions): Hono<AppEnv> {
  const { store, write, secretBox } = options;
  return new Hono<AppEnv>()
    .get("/v1/sessions/:session_id/resources", async (c) => {
      const query = parseQuery(c, PageQuery);
      return c.json(await listResources(options, { key: sessionKey(c), query }));
    })
    .post("/v1/sessions/:session_id/resources", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, FileResourceParams);
      return await write(c, (tx) => addResource(tx, sessionKey(c), value), bytes);
    })
    .get("/v1/sessions/:session_id/resources/:resource_id", async (c) => {
      refuseQuery(c);
      return c.json(await getResource(store, resourceRequest(c)));
    })
    .post("/v1/sessions/:session_id/resources/:resource_id", async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, SessionResourceUpdateParams);
      const update = { params: value, secretBox };
      return await write(c, (tx) => updateResource(tx, resourceRequest(c), update), bytes);
    })
    .delete("/v1/sessions/:session_id/resources/:resource_id", async (c) => {
      refuseQuery(c);
      return await write(c, (tx) => deleteResource(tx, resourceRequest(c)), undefined);
    });
}

function resourceRequest(c: AppContext): ResourceRequest {
  return { key: sessionKey(c), resourceId: c.req.param("resource_id") ?? "" };
}
