import { FileListQuery } from "@drover/api";
import { Hono } from "hono";
import type { Files } from "../../app/files.ts";
import type { Blobs } from "../../core/ports/blobs.ts";
import type { AppEnv, HttpLog } from "../context.ts";
import { respondWithBytes } from "../download.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";
import { receiveUpload } from "../upload.ts";

interface Options {
  readonly files: Files;
  readonly blobs: Blobs;
  readonly write: Write;
  readonly log: HttpLog;
}

export function fileRoutes({ files, blobs, write, log }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .post("/v1/files", async (c) => {
      refuseQuery(c);
      const upload = await receiveUpload(c, blobs);
      const principal = c.get("principal");
      try {
        // Boundaries differ between attempts; what is in the form does not.
        const body = JSON.stringify(upload);
        return await write(c, (tx) => files.upload(tx, principal, upload), body);
      } catch (error) {
        await files.discard(principal.workspaceId, upload.blob).catch((failure: unknown) => {
          log.warn({ err: failure }, "content of a refused upload stays on the disk");
        });
        throw error;
      }
    })
    .get("/v1/files", async (c) => {
      const query = parseQuery(c, FileListQuery);
      return c.json(await files.list(c.get("principal").workspaceId, query));
    })
    .get("/v1/files/:id", async (c) => {
      refuseQuery(c);
      return c.json(await files.retrieve(c.get("principal").workspaceId, c.req.param("id")));
    })
    .get("/v1/files/:id/content", async (c) => {
      refuseQuery(c);
      const { workspaceId } = c.get("principal");
      const { file, bytes } = await files.download(workspaceId, c.req.param("id"));
      return await respondWithBytes(c, { ...file, bytes });
    })
    .delete("/v1/files/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      return await write(c, (tx) => files.delete(tx, c.get("principal"), id), undefined);
    });
}
