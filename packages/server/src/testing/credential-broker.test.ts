import type { CredentialAuth } from "@drover/api";
import { expect, onTestFinished, test } from "vitest";
import type { ExternalSecrets } from "../core/ports/external-secrets.ts";
import type { CredentialUse } from "../core/ports/session-credentials.ts";
import { newSession } from "../core/ports/store.testsuite.ts";
import { tokenBinding } from "../core/sessions/token-binding.ts";
import { Secret } from "../lib/secret.ts";
import { OAUTH, openVaultWorld } from "./vault-world.ts";

const never = new AbortController().signal;

const VARIABLE: CredentialAuth = {
  type: "environment_variable",
  secret_name: "KEY",
  networking: { type: "limited", allowed_hosts: ["api.example.com", "*.sub.example.com"] },
  injection_location: { header: true, body: false },
};
const BEARER: CredentialAuth = {
  type: "static_bearer",
  mcp_server_url: "HTTPS://MCP.example.com:443/mcp/",
};

async function setUp() {
  const world = await openVaultWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  await world.put(VARIABLE, { secret_value: "canary-value" }, { id: "vcrd_v" });
  await world.put(BEARER, { token: "canary-token" }, { id: "vcrd_b" });
  const use = (id: string, host: string, purpose: CredentialUse["purpose"] = "egress") => ({
    ...{ id, host, purpose },
  });
  /** By hands that have asked nothing before. */
  const release = async (wanted: CredentialUse) => {
    const answer = await (await world.openHands()).release(wanted, never);
    return answer.type === "released"
      ? answer.secret.reveal()
      : `${answer.type}: ${answer.message}`;
  };
  const recorded = async () =>
    (await world.uses()).map(({ credential_id, host, verdict, reason, releases }) =>
      [credential_id, host, verdict, reason, releases].join(" "),
    );
  return { world, use, release, recorded };
}

test("a secret is released for its hosts alone, and each answer is on record", async () => {
  const { use, release, recorded, world } = await setUp();
  expect(await release(use("vcrd_v", "api.example.com"))).toBe("canary-value");
  expect(await release(use("vcrd_v", "API.example.com."))).toBe("canary-value");
  expect(await release(use("vcrd_v", "a.sub.example.com"))).toBe("canary-value");
  for (const host of ["sub.example.com", "example.com", "evil.example", "1.2.3.4", "no host"]) {
    expect(await release(use("vcrd_v", host))).toMatch(/^refused: vcrd_v is not released for /);
  }
  expect(await release(use("vcrd_v", "api.example.com", "mcp"))).toMatch(/^refused: /);
  expect(await release(use("vcrd_b", "mcp.example.com", "mcp"))).toBe("canary-token");
  expect(await release(use("vcrd_b", "mcp.example.com"))).toMatch(/^refused: /);
  expect(await release(use("vcrd_b", "api.example.com", "mcp"))).toMatch(/^refused: /);
  const records = await recorded();
  expect(records).toContain("vcrd_v api.example.com released  1");
  expect(records).toContain(
    "vcrd_v evil.example refused the host is not among its allowed hosts 1",
  );
  expect(records).toContain("vcrd_b api.example.com refused it is for another server 1");
  const uses = await world.uses();
  expect(uses.every(({ session_id }) => session_id === world.session.id)).toBe(true);
  expect(uses.every(({ api_key_id }) => api_key_id === "apikey_1")).toBe(true);
  expect(JSON.stringify(uses)).not.toContain("canary");
});

test("uses within a minute are one record, with how often and how many requests", async () => {
  const { world, use, recorded } = await setUp();
  const wanted = use("vcrd_v", "api.example.com");
  const hands = await world.openHands();
  await hands.release(wanted, never);
  await hands.release(wanted, never);
  expect(await recorded()).toEqual(["vcrd_v api.example.com released  1"]);
  await (await world.openHands()).release(wanted, never);
  expect(await recorded()).toEqual(["vcrd_v api.example.com released  2"]);
  hands.used(wanted, 3);
  hands.used(wanted, 4);
  world.clock.advance(5_001);
  await expect.poll(async () => (await world.uses()).map(({ requests }) => requests)).toEqual([7]);
});

test("an archived or deleted credential, vault or session releases nothing", async () => {
  const { world, use, release } = await setUp();
  const { workspace_id } = world.session;
  const wanted = use("vcrd_v", "api.example.com");
  const now = new Date().toISOString();
  await world.store.write((tx) => tx.credentials.archive(workspace_id, "vcrd_v", now));
  expect(await release(wanted)).toContain("the session does not have it");
  await world.store.write((tx) => tx.vaults.archive(workspace_id, "vlt_1", now));
  expect(await release(use("vcrd_b", "mcp.example.com", "mcp"))).toMatch(/^refused: /);
  const hands = await world.openHands();
  expect(await hands.offers(never)).toEqual({ type: "offers", offers: [] });
  await world.store.write((tx) => tx.sessions.delete(world.place));
  expect(await hands.release(wanted, never)).toMatchObject({ type: "refused" });
});

test("no session gets what is another's, whatever it names", async () => {
  const { world } = await setUp();
  const other = newSession({ workspace_id: world.session.workspace_id, vault_ids: ["vlt_1"] });
  await world.store.write((tx) => tx.sessions.insert(other));
  const use = { id: "vcrd_v", host: "api.example.com", purpose: "egress" } as const;
  const grant = await world.grant();
  const asked = { workspaceId: other.workspace_id, sessionId: other.id, grant };
  const { broker } = world;
  expect(await broker.answer({ type: "release", session: asked, use })).toMatchObject({
    type: "refused",
  });
  expect(await broker.answer({ type: "offers", session: asked })).toMatchObject({
    type: "refused",
  });
  const stranger = { ...world.place, grant, workspaceId: "wrkspc_x" };
  expect(await broker.answer({ type: "offers", session: stranger })).toMatchObject({
    type: "refused",
  });
  const credential = { workspace_id: world.session.workspace_id, vault_id: "vlt_1", id: "vcrd_b" };
  const claim = {
    claim_id: "c",
    is_second_try: false,
    credential: { ...credential, ticket: grant },
  };
  expect(await broker.answer({ type: "claim_refresh", ...claim })).toMatchObject({
    type: "refused",
  });
});

test("the first vault's credential is offered, and its placeholder stays the same", async () => {
  const { world } = await setUp();
  const { workspace_id } = world.session;
  const session = newSession({ workspace_id, vault_ids: ["vlt_2", "vlt_1"] });
  await world.store.write((tx) => tx.sessions.insert(session));
  await world.put(VARIABLE, { secret_value: "second" }, { id: "vcrd_w", vault_id: "vlt_2" });
  const grant = world.grants.grantFor("session", workspace_id, session.id);
  const asked = { workspaceId: workspace_id, sessionId: session.id, grant };
  const offers = () => world.broker.answer({ type: "offers", session: asked });
  const before = await offers();
  if (before.type !== "offers") throw new Error("no offers");
  expect(before.offers).toMatchObject([
    { credential_id: "vcrd_w", placeholder: expect.stringMatching(/^drover-secret-\w{32}$/) },
    { credential_id: "vcrd_b", mcp_server_url: "https://mcp.example.com/mcp" },
  ]);
  await world.put(VARIABLE, { secret_value: "third" }, { id: "vcrd_w", vault_id: "vlt_2" });
  expect(await offers()).toEqual(before);
  const use = { id: "vcrd_v", host: "api.example.com", purpose: "egress" } as const;
  expect(await world.broker.answer({ type: "release", session: asked, use })).toMatchObject({
    type: "refused",
  });
});

test("a repository's token is released to its host, as it is now", async () => {
  const { world, use, release } = await setUp();
  const repository = {
    ...{ type: "github_repository", id: "sesrsc_1", url: "https://git.example.com/o/n" },
    ...{ mount_path: "/workspace/n", checkout: null },
    ...{ created_at: world.session.created_at, updated_at: world.session.created_at },
  };
  const seal = (token: string) =>
    world.secretBox.seal(new Secret(token), tokenBinding(world.place, "sesrsc_1"));
  const put = (token: string) =>
    world.store.write(async (tx) => {
      await tx.sessions.update(world.place, { resources: [repository] });
      await tx.sessions.putRepositoryToken(world.place, "sesrsc_1", seal(token));
    });
  await put("token-one");
  const hands = await world.openHands();
  const offers = await hands.offers(never);
  expect(offers).toMatchObject({
    offers: expect.arrayContaining([
      { type: "repository", resource_id: "sesrsc_1", url: "https://git.example.com/o/n" },
    ]),
  });
  expect(await release(use("sesrsc_1", "git.example.com", "git"))).toBe("token-one");
  expect(await release(use("sesrsc_1", "evil.example.com", "git"))).toMatch(/^refused: /);
  expect(await release(use("sesrsc_1", "git.example.com"))).toMatch(/^refused: /);
  await put("token-two");
  expect(await release(use("sesrsc_1", "git.example.com", "git"))).toBe("token-two");
});

test("an OAuth credential goes out sealed, and opens for nobody but whom it is for", async () => {
  const { world } = await setUp();
  const url = "https://oauth.example.com";
  const secrets = { access_token: "canary-access", refresh_token: "canary-refresh" };
  await world.put({ ...OAUTH, mcp_server_url: url }, secrets, { id: "vcrd_o" });
  const answer = await world.broker.answer({
    type: "release",
    session: { ...world.place, grant: await world.grant() },
    use: { id: "vcrd_o", host: "oauth.example.com", purpose: "mcp" },
  });
  expect(JSON.stringify(answer)).not.toContain("canary");
  if (answer.type !== "oauth") throw new Error("not released");
  const { sealed = "", binding = "" } = answer.credential.secrets["access_token"] ?? {};
  expect(world.secretBox.open(sealed, binding).reveal()).toBe("canary-access");
  expect(() => world.secretBox.open(sealed, `${binding}x`)).toThrow("does not open");
});

test("a secret that is kept elsewhere is read where it is used, and told without its text", async () => {
  const kept = new Map([["wrkspc/team/key", "canary-elsewhere"]]);
  const files: ExternalSecrets = {
    read: async (workspaceId, name) => {
      expect(workspaceId).toBe(world.session.workspace_id);
      const text = kept.get(`wrkspc/${name}`);
      if (text === undefined) return { type: "unavailable", message: "there is no file" };
      return { type: "secret", secret: new Secret(text) };
    },
  };
  const world = await openVaultWorld(undefined, { files });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await world.put(VARIABLE, { secret_value: "drover-secrets://files/team/key" }, { id: "vcrd_v" });
  const use = { id: "vcrd_v", host: "api.example.com", purpose: "egress" } as const;
  const hands = await world.openHands();
  const answer = await hands.release(use, never);
  expect(answer.type === "released" && answer.secret.reveal()).toBe("canary-elsewhere");
  expect(hands.known().map((secret) => secret.reveal())).toEqual(["canary-elsewhere"]);
  kept.set("wrkspc/team/key", "canary-rotated");
  world.clock.advance(1_001);
  const rotated = await hands.release(use, never);
  expect(rotated.type === "released" && rotated.secret.reveal()).toBe("canary-rotated");
  kept.clear();
  world.clock.advance(1_001);
  expect(await hands.release(use, never)).toEqual({
    type: "unavailable",
    message: "the secret team/key of the manager files cannot be read: there is no file",
  });
  await world.put(VARIABLE, { secret_value: "drover-secrets://command/x" }, { id: "vcrd_v" });
  world.clock.advance(1_001);
  expect(await hands.release(use, never)).toMatchObject({ type: "unavailable" });
});
