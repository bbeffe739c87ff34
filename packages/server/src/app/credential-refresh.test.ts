import { randomBytes } from "node:crypto";
import type { CredentialAuth } from "@drover/api";
import { expect, onTestFinished, test } from "vitest";
import { StoreUnavailableError } from "../core/errors.ts";
import type { Egress } from "../core/ports/egress.ts";
import type { Store } from "../core/ports/store.ts";
import { Secret } from "../lib/secret.ts";
import { systemClock } from "../lib/system-clock.ts";
import { openMemoryStore } from "../store/sqlite/memory-store.testsuite.ts";
import { impatientClock } from "../testing/impatient-clock.ts";
import { createEnvelopeBox } from "../vault/envelope-box.ts";
import { givenKeys } from "../vault/given-keys.ts";
import { refreshCredential } from "./credential-refresh.ts";
import { openedSecrets, sealedSecrets } from "./credential-secrets.ts";

const AUTH: Extract<CredentialAuth, { type: "mcp_oauth" }> = {
  type: "mcp_oauth",
  mcp_server_url: "https://mcp.example.com",
  expires_at: "2020-01-01T00:00:00.000Z",
  refresh: {
    client_id: "c",
    token_endpoint: "https://auth.example.com/token",
    token_endpoint_auth: { type: "none" },
    resource: null,
    scope: null,
  },
};

async function setUp(answer: object, failures: number) {
  const store = openMemoryStore({
    clock: systemClock,
    announcements: { publish: () => undefined },
  });
  onTestFinished(() => store.close());
  const key = new Secret(randomBytes(32).toString("base64"));
  const secretBox = createEnvelopeBox(givenKeys([key], "the test"));
  const record = {
    workspace_id: "wrkspc_a",
    id: "vcrd_1",
    vault_id: "vlt_1",
    auth_key: "k",
    display_name: null,
    metadata: {},
    auth: AUTH,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    archived_at: null,
  };
  const secrets = { access_token: "old", refresh_token: "first" };
  await store.write((tx) =>
    tx.credentials.insert(record, sealedSecrets(secretBox, record, secrets)),
  );
  let left = failures;
  const failing: Pick<Store, "write"> = {
    write: async (work) => {
      left -= 1;
      if (left >= 0) throw new StoreUnavailableError("the disk is full");
      return await store.write(work);
    },
  };
  const egress: Egress = {
    send: async () => ({
      type: "response",
      status: 200,
      headers: {},
      body: Buffer.from(JSON.stringify(answer)),
      isTruncated: false,
    }),
  };
  const deps = { store: { ...store, ...failing }, secretBox, egress, clock: impatientClock() };
  const stored = () =>
    store.write(async (tx) => {
      const found = await tx.credentials.find("wrkspc_a", "vlt_1", "vcrd_1");
      const sealed = await tx.credentials.findSealed("wrkspc_a", "vlt_1", "vcrd_1");
      return { auth: found?.auth, secrets: openedSecrets(secretBox, record, sealed ?? "") };
    });
  return { refresh: () => refreshCredential(deps, { record, auth: AUTH, secrets }), stored };
}

test("a token that cannot be had again waits for a store that cannot write", async () => {
  const { refresh, stored } = await setUp({ access_token: "new", refresh_token: "second" }, 3);
  expect(await refresh()).toEqual({ type: "succeeded", accessToken: "new" });
  expect((await stored()).secrets).toEqual({ access_token: "new", refresh_token: "second" });
});

test("but not for ever", async () => {
  const { refresh, stored } = await setUp({ access_token: "new" }, 1_000);
  await expect(refresh()).rejects.toThrow("the disk is full");
  expect((await stored()).secrets).toEqual({ access_token: "old", refresh_token: "first" });
});

test.each([
  [{}, undefined],
  [{ expires_in: 60 }, "2026-01-01T00:01:00"],
  [{ expires_in: "60" }, "2026-01-01T00:01:00"],
  [{ expires_in: -1 }, undefined],
  [{ expires_in: "soon" }, undefined],
])("what the endpoint says of the new token's life (%j) is what is known", async (life, until) => {
  const { refresh, stored } = await setUp({ access_token: "new", ...life }, 0);
  await refresh();
  const { auth, secrets } = await stored();
  expect(auth?.["expires_at"]?.toString().slice(0, 19)).toBe(until);
  // A server that gives no other refresh token takes the same again.
  expect(secrets).toEqual({ access_token: "new", refresh_token: "first" });
});

test.each([{}, { access_token: "" }, { access_token: "two\nlines" }, { access_token: 1 }, []])(
  "an answer such as %j has no token",
  async (answer) => {
    const { refresh, stored } = await setUp(answer, 0);
    expect(await refresh()).toMatchObject({ type: "failed" });
    expect((await stored()).secrets).toEqual({ access_token: "old", refresh_token: "first" });
  },
);
