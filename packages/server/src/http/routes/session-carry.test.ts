import { expect, test } from "vitest";
import type { SecretCarrier } from "../../core/ports/secret-carrier.ts";
import { tokenBinding } from "../../core/sessions/token-binding.ts";
import { openWorld } from "../world.testsuite.ts";

async function setUp(secretCarrier?: SecretCarrier) {
  const world = await openWorld(secretCarrier && { secretCarrier });
  const { body: session } = await world.request("POST", "/v1/sessions", {
    ...(await world.prepare()),
    resources: [
      {
        type: "github_repository",
        url: "https://git.example.com/o/n",
        authorization_token: "canary-token",
      },
    ],
  });
  const tokenOf = async (sessionId: string) => {
    const key = { workspaceId: world.workspaceId, sessionId };
    const { body } = await world.request("GET", `/v1/sessions/${sessionId}`);
    const id = body.resources[0]?.id ?? "";
    const sealed = await world.store.sessions.findRepositoryToken(key, id);
    return { id, sealed, place: tokenBinding(key, id) };
  };
  const fork = () => world.request("POST", `/v1/drover/sessions/${session.id}/fork`, {});
  return { world, session, tokenOf, fork };
}

test("a fork has the tokens of its repositories, sealed for itself", async () => {
  const { world, session, tokenOf, fork } = await setUp();
  const made = await fork();
  expect(made.status).toBe(200);
  const [before, after] = [await tokenOf(session.id), await tokenOf(made.body.id)];
  expect(after.id).not.toBe(before.id);
  const open = ({ sealed = "" }, place: string) => world.secretBox.open(sealed, place).reveal();
  expect(open(after, after.place)).toBe("canary-token");
  expect(open(before, before.place)).toBe("canary-token");
  expect(() => open(after, before.place)).toThrow("does not open");
});

test("where no hands can be had nothing is made, and it can be tried again", async () => {
  const { world, fork } = await setUp({
    carry: async () => ({ type: "unavailable", message: "no hands" }),
  });
  const { status, body } = await fork();
  expect([status, body.error.message]).toEqual([529, expect.stringContaining("no hands")]);
  const { body: list } = await world.request("GET", "/v1/sessions");
  expect(list.data).toHaveLength(1);
});

test("a token that is rotated while it is carried is not left behind in the fork", async () => {
  const world: { rotate?: () => Promise<unknown> } = {};
  const carrier: SecretCarrier = {
    carry: async (moves) => {
      await world.rotate?.();
      return { type: "carried", sealed: moves.map(({ sealed }) => sealed) };
    },
  };
  const { world: opened, session, tokenOf, fork } = await setUp(carrier);
  const { id } = await tokenOf(session.id);
  world.rotate = () =>
    opened.request("POST", `/v1/sessions/${session.id}/resources/${id}`, {
      authorization_token: "canary-new",
    });
  expect((await fork()).status).toBe(409);
});
