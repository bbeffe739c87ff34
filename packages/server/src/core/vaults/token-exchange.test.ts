import { expect, test } from "vitest";
import { isFinalRefusal, refreshedTokens } from "./token-exchange.ts";

const bytes = (body: unknown) =>
  Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
const NOW = Date.UTC(2026, 0, 1);

test.each([
  [{}, undefined],
  [{ expires_in: 60 }, "2026-01-01T00:01:00.000Z"],
  [{ expires_in: "60" }, "2026-01-01T00:01:00.000Z"],
  [{ expires_in: -1 }, undefined],
  [{ expires_in: "soon" }, undefined],
])("what the endpoint says of the new token's life (%j) is what is known", (life, expires_at) => {
  const tokens = refreshedTokens(bytes({ access_token: "new", ...life }), NOW);
  expect(tokens).toEqual({ access_token: "new", ...(expires_at !== undefined && { expires_at }) });
});

test.each([
  {},
  { access_token: "" },
  { access_token: "two\nlines" },
  { access_token: 1 },
  [],
  "no",
])("an answer such as %j has no token", (answer) => {
  expect(refreshedTokens(bytes(answer), NOW)).toBeUndefined();
});

test.each([
  [400, { error: "invalid_grant" }, true],
  [401, { error: "invalid_client", error_description: "x" }, true],
  [400, { error: "temporarily_unavailable" }, false],
  [400, "invalid_grant", false],
  [403, { error: "invalid_grant" }, false],
  [500, { error: "invalid_grant" }, false],
])("%s with %j is final: %s", (status, body, isFinal) => {
  expect(isFinalRefusal({ status, body: bytes(body) })).toBe(isFinal);
});
