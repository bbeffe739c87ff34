import {
  PageQuery,
  SkillCreateFields,
  SkillListQuery,
  SkillVersionCreateFields,
} from "@drover/api";
import { Hono } from "hono";
import type { Skills } from "../../app/skills.ts";
import type { BlobRef } from "../../core/ports/blobs.ts";
import type { AppContext, AppEnv, HttpLog } from "../context.ts";
import { respondWithBytes } from "../download.ts";
import type { Write } from "../once.ts";
import { parse, parseQuery, refuseQuery } from "../parse.ts";
import { receiveSkill, type UploadDeps } from "../skill-upload.ts";

interface Options extends UploadDeps {
  readonly skills: Skills;
  readonly write: Write;
  readonly log: HttpLog;
}

export function skillRoutes(options: Options): Hono<AppEnv> {
  const { skills, write } = options;
  return new Hono<AppEnv>()
    .post("/v1/skills", (c) => createSkill(c, options))
    .get("/v1/skills", async (c) => {
      const query = parseQuery(c, SkillListQuery);
      return c.json(await skills.list(c.get("principal").workspaceId, query));
    })
    .get("/v1/skills/:id", async (c) => {
      refuseQuery(c);
      return c.json(await skills.retrieve(c.get("principal").workspaceId, c.req.param("id")));
    })
    .delete("/v1/skills/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      return await write(c, (tx) => skills.delete(tx, c.get("principal"), id), undefined);
    })
    .post("/v1/skills/:id/versions", (c) => createVersion(c, c.req.param("id"), options))
    .get("/v1/skills/:id/versions", async (c) => {
      const query = parseQuery(c, PageQuery);
      const { workspaceId } = c.get("principal");
      return c.json(await skills.listVersions(workspaceId, c.req.param("id"), query));
    })
    .get("/v1/skills/:id/versions/:version", async (c) => {
      refuseQuery(c);
      const { id, version } = c.req.param();
      const { workspaceId } = c.get("principal");
      return c.json(await skills.retrieveVersion(workspaceId, id, version));
    })
    .delete("/v1/skills/:id/versions/:version", async (c) => {
      refuseQuery(c);
      const { id, version } = c.req.param();
      return await write(
        c,
        (tx) => skills.deleteVersion(tx, c.get("principal"), id, version),
        undefined,
      );
    })
    .get("/v1/skills/:id/versions/:version/content", async (c) => {
      refuseQuery(c);
      const { id, version } = c.req.param();
      const content = await skills.download(c.get("principal").workspaceId, id, version);
      return await respondWithBytes(c, {
        filename: `${content.version.name}.zip`,
        mime_type: "application/zip",
        size_bytes: content.size_bytes,
        bytes: content.bytes,
      });
    });
}

async function createSkill(c: AppContext, options: Options): Promise<Response> {
  refuseQuery(c);
  const principal = c.get("principal");
  const upload = await receiveSkill(c, options);
  return await keep(options, principal.workspaceId, upload.package.blob, async () => {
    const { display_name: displayName } = parse(SkillCreateFields, upload.fields);
    const skill = { displayName, package: upload.package };
    // Boundaries differ between attempts; what is in the form does not.
    const body = JSON.stringify(skill);
    return await options.write(c, (tx) => options.skills.create(tx, principal, skill), body);
  });
}

async function createVersion(c: AppContext, id: string, options: Options): Promise<Response> {
  refuseQuery(c);
  const principal = c.get("principal");
  // Before anything is received for a skill that is not there.
  await options.skills.retrieve(principal.workspaceId, id);
  const { package: files, fields } = await receiveSkill(c, options);
  return await keep(options, principal.workspaceId, files.blob, async () => {
    parse(SkillVersionCreateFields, fields);
    return await options.write(
      c,
      (tx) => options.skills.createVersion(tx, principal, id, files),
      JSON.stringify(files),
    );
  });
}

/** Lets the stored content go if what refers to it cannot be made. */
async function keep(
  { skills, log }: Options,
  workspaceId: string,
  blob: BlobRef,
  make: () => Promise<Response>,
): Promise<Response> {
  try {
    return await make();
  } catch (error) {
    await skills.discard(workspaceId, blob).catch((failure: unknown) => {
      log.warn({ err: failure }, "content of a refused upload stays on the disk");
    });
    throw error;
  }
}
