import { CredentialCreateParams, CredentialListQuery, CredentialUpdateParams } from "@drover/api";
import { Hono } from "hono";
import type { CredentialValidator } from "../../app/credential-validation.ts";
import type { CredentialPlace, Credentials } from "../../app/credentials.ts";
import { readEmpty, readJson } from "../body.ts";
import type { AppContext, AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

interface Options {
  readonly credentials: Credentials;
  readonly credentialValidator: CredentialValidator;
  readonly write: Write;
}

export function credentialRoutes({
  credentials,
  credentialValidator,
  write,
}: Options): Hono<AppEnv> {
  return (
    new Hono<AppEnv>()
      .post("/v1/vaults/:vault_id/credentials", async (c) => {
        refuseQuery(c);
        const vaultId = c.req.param("vault_id");
        const { value, bytes } = await readJson(c, CredentialCreateParams);
        return await write(
          c,
          (tx) => credentials.create(tx, c.get("principal"), vaultId, value),
          bytes,
        );
      })
      .get("/v1/vaults/:vault_id/credentials", async (c) => {
        const query = parseQuery(c, CredentialListQuery);
        const { workspaceId } = c.get("principal");
        return c.json(await credentials.list(workspaceId, c.req.param("vault_id"), query));
      })
      .get("/v1/vaults/:vault_id/credentials/:id", async (c) => {
        refuseQuery(c);
        const { workspaceId } = c.get("principal");
        return c.json(await credentials.retrieve(workspaceId, placeOf(c)));
      })
      .post("/v1/vaults/:vault_id/credentials/:id", async (c) => {
        refuseQuery(c);
        const { value, bytes } = await readJson(c, CredentialUpdateParams);
        return await write(
          c,
          (tx) => credentials.update(tx, c.get("principal"), placeOf(c), value),
          bytes,
        );
      })
      .delete("/v1/vaults/:vault_id/credentials/:id", async (c) => {
        refuseQuery(c);
        return await write(
          c,
          (tx) => credentials.delete(tx, c.get("principal"), placeOf(c)),
          undefined,
        );
      })
      .post("/v1/vaults/:vault_id/credentials/:id/archive", async (c) => {
        refuseQuery(c);
        await readEmpty(c);
        return await write(
          c,
          (tx) => credentials.archive(tx, c.get("principal"), placeOf(c)),
          undefined,
        );
      })
      // Not within a transaction: it waits for servers of others.
      .post("/v1/vaults/:vault_id/credentials/:id/mcp_oauth_validate", async (c) => {
        refuseQuery(c);
        await readEmpty(c);
        return c.json(await credentialValidator.validate(c.get("principal"), placeOf(c)));
      })
  );
}

function placeOf(c: AppContext): CredentialPlace {
  return { vaultId: c.req.param("vault_id") ?? "", id: c.req.param("id") ?? "" };
}
