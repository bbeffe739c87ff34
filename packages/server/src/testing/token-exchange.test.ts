import { describe, expect, onTestFinished, test } from "vitest";
import type { EgressOutcome } from "../core/ports/egress.ts";
import type { CredentialRelease, SessionCredentials } from "../core/ports/session-credentials.ts";
import { Secret } from "../lib/secret.ts";
import { OAUTH, openVaultWorld, type VaultWorld } from "./vault-world.ts";

const MCP = { id: "vcrd_1", host: "mcp.example.com", purpose: "mcp" } as const;
const SOON = () => new Date(Date.now() + 30_000).toISOString();

/** A token endpoint that takes each refresh token once, and whoever sends one again for a thief. */
function endpoint() {
  const taken: string[] = [];
  let answer: ((token: string) => EgressOutcome) | undefined;
  let gate: Promise<void> = Promise.resolve();
  const egress = {
    send: async ({ body = "" }: { body?: string }) => {
      const token = new URLSearchParams(body).get("refresh_token") ?? "";
      const isThief = taken.includes(token);
      taken.push(token);
      await gate;
      if (answer !== undefined) return answer(token);
      if (isThief) return json(400, { error: "invalid_grant" });
      const n = taken.length;
      return json(200, {
        access_token: `access-${n}`,
        refresh_token: `refresh-${n}`,
        expires_in: 3_600,
      });
    },
  };
  return {
    ...{ egress, taken },
    answerWith: (given: typeof answer) => {
      answer = given;
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

function json(status: number, body: unknown): EgressOutcome {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return { type: "response", status, headers: {}, body: bytes, isTruncated: false };
}

async function setUp({ expires_at = SOON() }: { expires_at?: string } = {}) {
  const tokens = endpoint();
  const world = await openVaultWorld(tokens.egress);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const secrets = { access_token: "access-0", refresh_token: "refresh-0" };
  await world.put({ ...OAUTH, expires_at }, secrets, { id: "vcrd_1" });
  const userChanges = (changed: Readonly<Record<string, string>>) =>
    world.put({ ...OAUTH, expires_at: "2099-01-01T00:00:00.000Z" }, changed, { id: "vcrd_1" });
  return { world, tokens, userChanges };
}

function release(hands: SessionCredentials): Promise<CredentialRelease> {
  return hands.release(MCP, new AbortController().signal);
}

function renew(hands: SessionCredentials, rejected: string): Promise<CredentialRelease> {
  return hands.renew(MCP, new Secret(rejected), new AbortController().signal);
}

async function revealed(answer: Promise<CredentialRelease>): Promise<string> {
  const said = await answer;
  return said.type === "released" ? said.secret.reveal() : `${said.type}: ${said.message}`;
}

const secretsOf = async (world: VaultWorld) => (await world.stored("vcrd_1")).secrets;

describe("at the expiry of a token", () => {
  test("50 calls of two hands make one exchange, and all have its token", async () => {
    const { world, tokens } = await setUp();
    const [one, other] = [await world.openHands(), await world.openHands()];
    const calls = Array.from({ length: 50 }, (_, n) =>
      revealed(release(n % 2 === 0 ? one : other)),
    );
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["access-1"]));
    expect(tokens.taken).toEqual(["refresh-0"]);
    const { auth, secrets, refresh } = await world.stored("vcrd_1");
    expect(secrets).toEqual({ access_token: "access-1", refresh_token: "refresh-1" });
    expect(refresh).toEqual({ claim: null, refused_at: null });
    const leftMs = Date.parse(String(auth?.["expires_at"])) - Date.now();
    expect(leftMs).toBeGreaterThan(3_500_000);
  });

  test("50 calls that their server refused do so too", async () => {
    const { world, tokens } = await setUp({ expires_at: "2099-01-01T00:00:00.000Z" });
    const [one, other] = [await world.openHands(), await world.openHands()];
    const calls = Array.from({ length: 50 }, (_, n) =>
      revealed(renew(n % 2 === 0 ? one : other, "access-0")),
    );
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["access-1"]));
    expect(tokens.taken).toEqual(["refresh-0"]);
  });

  test("a token with an hour to go is used as it is", async () => {
    const { world, tokens } = await setUp({ expires_at: "2099-01-01T00:00:00.000Z" });
    expect(await revealed(release(await world.openHands()))).toBe("access-0");
    expect(tokens.taken).toEqual([]);
  });
});

describe("what its user changes while a token is exchanged stays", () => {
  test("another access token, while the endpoint's new refresh token is kept", async () => {
    const { world, tokens, userChanges } = await setUp();
    const go = tokens.hold();
    const answer = revealed(release(await world.openHands()));
    await expect.poll(() => tokens.taken.length).toBe(1);
    await userChanges({ access_token: "by-hand" });
    go();
    expect(await answer).toBe("by-hand");
    expect(await secretsOf(world)).toEqual({
      access_token: "by-hand",
      refresh_token: "refresh-1",
    });
    expect((await world.stored("vcrd_1")).auth).toMatchObject({
      expires_at: "2099-01-01T00:00:00.000Z",
    });
  });

  test("another refresh token", async () => {
    const { world, tokens, userChanges } = await setUp();
    const go = tokens.hold();
    const answer = revealed(release(await world.openHands()));
    await expect.poll(() => tokens.taken.length).toBe(1);
    await userChanges({ access_token: "by-hand", refresh_token: "refresh-by-hand" });
    go();
    expect(await answer).toBe("by-hand");
    expect(await secretsOf(world)).toEqual({
      access_token: "by-hand",
      refresh_token: "refresh-by-hand",
    });
  });
});

describe("a refresh token that its endpoint does not take", () => {
  test.each([
    [400, { error: "invalid_grant" }],
    [401, { error: "invalid_client" }],
  ])("for good (%s %j) marks the credential, and is not sent again", async (status, body) => {
    const { world, tokens } = await setUp();
    tokens.answerWith(() => json(status, body));
    const hands = await world.openHands();
    // Until its server says no, the old one serves.
    expect(await revealed(release(hands))).toBe("access-0");
    expect(await revealed(renew(hands, "access-0"))).toContain("refused: ");
    expect(await revealed(renew(await world.openHands(), "access-0"))).toContain("authorized anew");
    expect(tokens.taken).toEqual(["refresh-0"]);
    const { secrets, refresh } = await world.stored("vcrd_1");
    expect(secrets).toEqual({ access_token: "access-0", refresh_token: "refresh-0" });
    expect(refresh.refused_at).not.toBeNull();
  });

  test.each([
    json(500, { error: "invalid_grant" }),
    json(403, "<html>Blocked</html>"),
    json(404, { error: "invalid_grant" }),
    json(400, { error: "slow_down" }),
    json(200, { token: "?" }),
    { type: "failed", message: "no connection" },
  ] satisfies readonly EgressOutcome[])("%j may be another time", async (outcome) => {
    const { world, tokens } = await setUp();
    tokens.answerWith(() => outcome);
    const hands = await world.openHands();
    expect(await revealed(renew(hands, "access-0"))).toContain("refused: ");
    expect((await world.stored("vcrd_1")).refresh).toEqual({ claim: null, refused_at: null });
    tokens.answerWith(() => json(200, { access_token: "at last" }));
    expect(await revealed(renew(hands, "access-0"))).toBe("at last");
    expect(await secretsOf(world)).toEqual({
      access_token: "at last",
      refresh_token: "refresh-0",
    });
  });

  test("never shows a secret in what is said of it", async () => {
    const { world, tokens } = await setUp();
    tokens.answerWith((token) => json(400, { error: "invalid_grant", error_description: token }));
    const answer = await revealed(renew(await world.openHands(), "access-0"));
    expect(answer).not.toMatch(/refresh-0|access-0/);
  });
});

test("an exchange whose process died is another's after half a minute", async () => {
  const { world, tokens } = await setUp();
  const dead = await world.broker.answer({
    type: "release",
    session: { ...world.place, grant: await world.grant() },
    use: MCP,
  });
  if (dead.type !== "oauth") throw new Error("no credential");
  const claim = { credential: dead.credential.ticket, claim_id: "dead", is_second_try: false };
  const claimed = await world.broker.answer({ type: "claim_refresh", ...claim });
  expect(claimed.type).toBe("claimed");
  const answer = revealed(release(await world.openHands()));
  await expect.poll(async () => (await world.stored("vcrd_1")).refresh.claim?.id).toBe("dead");
  expect(tokens.taken).toEqual([]);
  // In steps, so that no question waits for too long.
  for (let ms = 0; ms <= 30_000; ms += 2_000) {
    world.clock.advance(2_000);
    await world.store.write(async () => undefined);
  }
  expect(await answer).toBe("access-1");
  // What comes late of the dead one changes nothing.
  const late = { ...claim, secrets: { access_token: "sealed" }, expires_at: null };
  const { is_second_try: _, ...store } = late;
  expect(await world.broker.answer({ type: "store_refresh", ...store })).toEqual({
    type: "stored",
    is_current: false,
  });
  expect(await secretsOf(world)).toMatchObject({ access_token: "access-1" });
});

test("a token that cannot be had again waits for a store that cannot write", async () => {
  const { world, tokens } = await setUp();
  const go = tokens.hold();
  const answer = revealed(release(await world.openHands()));
  await expect.poll(() => tokens.taken.length).toBe(1);
  world.store.failWrites("the disk is full");
  go();
  const isEarly = await Promise.race([
    answer.then(() => true),
    world.store.write(async () => undefined).catch(() => false),
  ]);
  expect(isEarly).toBe(false);
  world.store.failWrites(undefined);
  // A server that did not answer is asked again.
  world.clock.advance(5_001);
  expect(await answer).toBe("access-1");
  expect(await secretsOf(world)).toMatchObject({ refresh_token: "refresh-1" });
});
