import { CredentialBindingParams, CredentialUseListQuery } from "@drover/api";
import { Hono } from "hono";
import { retrieveBinding, updateBinding } from "../../app/credential-bindings.ts";
import { listCredentialUses } from "../../app/credential-uses.ts";
import type { CredentialPlace } from "../../app/credentials.ts";
import type { Cursors } from "../../app/pagination.ts";
import type { Store } from "../../core/ports/store.ts";
import { readJson } from "../body.ts";
import type { AppContext, AppEnv } from "../context.ts";
import type { Write } from "../once.ts";
import { parseQuery, refuseQuery } from "../parse.ts";

interface Options {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly write: Write;
}

const BINDING = "/v1/drover/vaults/:vault_id/credentials/:credential_id/binding";

/** What credentials were used for, and what they may be: Drover's own, beyond the contract. */
export function credentialUseRoutes(options: Options): Hono<AppEnv> {
  const { store, write } = options;
  return new Hono<AppEnv>()
    .get("/v1/drover/credential_uses", async (c) => {
      const query = parseQuery(c, CredentialUseListQuery);
      return c.json(await listCredentialUses(options, c.get("principal").workspaceId, query));
    })
    .get(BINDING, async (c) => {
      refuseQuery(c);
      const { workspaceId } = c.get("principal");
      return c.json(await store.write((tx) => retrieveBinding(tx, workspaceId, placeOf(c))));
    })
    .post(BINDING, async (c) => {
      refuseQuery(c);
      const { value, bytes } = await readJson(c, CredentialBindingParams);
      const { workspaceId } = c.get("principal");
      return await write(c, (tx) => updateBinding(tx, workspaceId, placeOf(c), value), bytes);
    });
}

function placeOf(c: AppContext): CredentialPlace {
  return { vaultId: c.req.param("vault_id") ?? "", id: c.req.param("credential_id") ?? "" };
}
