import { FileListQuery } from "@drover/api";
import { Hono } from "hono";
import type { DeletedFile, Files } from "../../app/files.ts";
import type { Blobs } from "../../core/ports/blobs.ts";
import type { AppEnv } from "../context.ts";
import { respondWithFile } from "../download.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";
import { receiveUpload } from "../upload.ts";

interface Options {
  readonly files: Files;
  readonly blobs: Blobs;
  readonly write: Write;
  /** Lets go of content later that nothing refers to by then. */
  readonly collectLater: (workspaceId: string, sha256s: readonly string[]) => void;
}

export function fileRoutes({ files, blobs, write, collectLater }: Options): Hono<AppEnv> {
  return new Hono<AppEnv>()
    .post("/v1/files", async (c) => {
      refuseQuery(c);
      const upload = await receiveUpload(c, blobs);
      let isStored = false;
      try {
        // Boundaries differ between attempts; what is in the form does not.
        const body = JSON.stringify(upload);
        const effect = write(c, (tx) => files.upload(tx, c.get("principal"), upload), body);
        const response = await effect;
        isStored = true;
        return response;
      } finally {
        if (!isStored) collectLater(c.get("principal").workspaceId, [upload.blob.sha256]);
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
      return await respondWithFile(c, await files.download(workspaceId, c.req.param("id")));
    })
    .delete("/v1/files/:id", async (c) => {
      refuseQuery(c);
      const id = c.req.param("id");
      let deleted: DeletedFile | undefined;
      const response = await write(
        c,
        async (tx) => {
          deleted = await files.delete(tx, c.get("principal"), id);
          return deleted.answer;
        },
        undefined,
      );
      if (deleted !== undefined) files.forget(deleted);
      return response;
    });
}
