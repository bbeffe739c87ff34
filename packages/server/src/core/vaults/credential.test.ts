import { CredentialAuthParams, CredentialAuthUpdateParams } from "@drover/api";
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../errors.ts";
import { keyOfAuth, newCredential, updatedCredential } from "./credential.ts";

const NOW = "2026-11-29T12:00:00.000Z";
const URL = "https://mcp.example.com/mcp";

const REFRESH = {
  client_id: "client",
  refresh_token: "refresh-1",
  token_endpoint: "https://auth.example.com/token",
  token_endpoint_auth: { type: "client_secret_basic", client_secret: "client-secret-1" },
};
const OAUTH = { type: "mcp_oauth", access_token: "access-1", mcp_server_url: URL };
const VARIABLE = {
  type: "environment_variable",
  secret_name: "GH_TOKEN",
  secret_value: "value-1",
  networking: { type: "unrestricted" },
};

const make = (params: object) => newCredential(CredentialAuthParams.parse(params), NOW);
const change = (params: object, update: object) =>
  updatedCredential(make(params).auth, CredentialAuthUpdateParams.parse(update), NOW);

describe("a static bearer token", () => {
  const BEARER = { type: "static_bearer", token: "token-1", mcp_server_url: URL };

  test("is for a server, which never changes, and its token is not in what is answered", () => {
    const { auth, secrets } = make(BEARER);
    expect(auth).toEqual({ type: "static_bearer", mcp_server_url: URL });
    expect(secrets).toEqual({ token: "token-1" });
    expect(keyOfAuth(auth)).toBe(`mcp_server_url ${URL}`);
  });

  test("is replaced where a new one is sent, and kept where null or nothing is", () => {
    const update = { type: "static_bearer" };
    expect(change(BEARER, { ...update, token: "token-2" }).secrets).toEqual({ token: "token-2" });
    expect(change(BEARER, { ...update, token: null }).secrets).toEqual({});
    expect(change(BEARER, update)).toEqual({ auth: make(BEARER).auth, secrets: {} });
  });

  test("has the same key as an OAuth token for the same server, however that is written", () => {
    const oauth = make({ ...OAUTH, mcp_server_url: "https://MCP.example.com:443/mcp/" });
    expect(keyOfAuth(oauth.auth)).toBe(keyOfAuth(make(BEARER).auth));
  });
});

describe("an OAuth token", () => {
  test("is without expiry and refresh unless they are given", () => {
    const { auth, secrets } = make(OAUTH);
    expect(auth).toEqual({ type: "mcp_oauth", mcp_server_url: URL, refresh: null });
    expect(secrets).toEqual({ access_token: "access-1" });
  });

  test("keeps how it is refreshed apart from the secrets of that", () => {
    const { auth, secrets } = make({ ...OAUTH, refresh: { ...REFRESH, scope: "a b" } });
    expect(auth).toMatchObject({
      refresh: {
        client_id: "client",
        token_endpoint: "https://auth.example.com/token",
        token_endpoint_auth: { type: "client_secret_basic" },
        resource: null,
        scope: "a b",
      },
    });
    expect(JSON.stringify(auth)).not.toMatch(/-1/);
    expect(secrets).toEqual({
      access_token: "access-1",
      refresh_token: "refresh-1",
      client_secret: "client-secret-1",
    });
  });

  test("expires in the future, in any zone, or not at all", () => {
    const at = (expires_at: string) => make({ ...OAUTH, expires_at }).auth;
    expect(at("2026-11-29T14:00:01+02:00")).toMatchObject({
      expires_at: "2026-11-29T12:00:01.000Z",
    });
    for (const past of ["2026-11-29T12:00:00Z", "2026-11-29T13:59:59+02:00"]) {
      expect(() => at(past)).toThrow("auth.expires_at: must be in the future");
    }
  });

  test("that is new keeps the old expiry, unless one is sent with it", () => {
    const before = { ...OAUTH, expires_at: "2027-01-01T00:00:00Z" };
    const update = { type: "mcp_oauth", access_token: "access-2" };
    const kept = { auth: make(before).auth, secrets: { access_token: "access-2" } };
    expect(change(before, update)).toEqual(kept);
    expect(change(before, { ...update, expires_at: null })).toEqual(kept);
    expect(change(before, { ...update, expires_at: "2028-01-01T00:00:00Z" }).auth).toEqual({
      ...make(before).auth,
      expires_at: "2028-01-01T00:00:00.000Z",
    });
    expect(() => change(before, { ...update, expires_at: NOW })).toThrow("auth.expires_at");
  });

  test("a new client secret keeps the way it is sent, whatever type comes with it", () => {
    const before = { ...OAUTH, refresh: REFRESH };
    const secretOf = (token_endpoint_auth: object) =>
      change(before, { type: "mcp_oauth", refresh: { token_endpoint_auth } });
    const { auth, secrets } = secretOf({ type: "client_secret_post", client_secret: "new" });
    expect(auth).toEqual(make(before).auth);
    expect(secrets).toEqual({ client_secret: "new" });
    expect(secretOf({ type: "client_secret_post" }).secrets).toEqual({});
  });

  test("a client secret is not added to one that has none", () => {
    const refresh = { ...REFRESH, token_endpoint_auth: { type: "none" } };
    const sent = { token_endpoint_auth: { type: "client_secret_basic", client_secret: "x" } };
    expect(() => change({ ...OAUTH, refresh }, { type: "mcp_oauth", refresh: sent })).toThrow(
      "auth.refresh.token_endpoint_auth",
    );
  });

  test("an empty scope clears it, null keeps it", () => {
    const before = { ...OAUTH, refresh: { ...REFRESH, scope: "a" } };
    const scopeAfter = (scope: string | null) =>
      change(before, { type: "mcp_oauth", refresh: { scope } }).auth;
    expect(scopeAfter("")).toMatchObject({ refresh: { scope: null } });
    expect(scopeAfter(null)).toMatchObject({ refresh: { scope: "a" } });
    expect(scopeAfter("b c")).toMatchObject({ refresh: { scope: "b c" } });
  });

  test("a refresh is not added to one that was made without, and null changes nothing", () => {
    const update = { type: "mcp_oauth", refresh: { refresh_token: "new" } };
    expect(() => change(OAUTH, update)).toThrow("auth.refresh: this credential was created");
    expect(change(OAUTH, { ...update, refresh: null }).secrets).toEqual({});
    expect(change({ ...OAUTH, refresh: REFRESH }, update).secrets).toEqual({
      refresh_token: "new",
    });
  });
});

describe("an environment variable", () => {
  const at = (injection_location?: object) =>
    make({ ...VARIABLE, ...(injection_location && { injection_location }) }).auth;

  test("goes anywhere in a request unless locations are given, of which those left out are off", () => {
    expect(at()).toEqual({
      type: "environment_variable",
      secret_name: "GH_TOKEN",
      networking: { type: "unrestricted" },
      injection_location: { header: true, body: true },
    });
    expect(at({ header: true })).toMatchObject({
      injection_location: { header: true, body: false },
    });
    expect(at({ body: true })).toMatchObject({ injection_location: { header: false, body: true } });
    for (const none of [{}, { header: false }, { header: false, body: false }]) {
      expect(() => at(none)).toThrow("auth.injection_location");
    }
  });

  test("has no name that means something to every program", () => {
    for (const secret_name of ["PATH", "LD_PRELOAD", "SSL_CERT_FILE", "home"]) {
      expect(() => make({ ...VARIABLE, secret_name })).toThrow(InvalidRequestError);
      expect(() => make({ ...VARIABLE, secret_name })).toThrow(`auth.secret_name: ${secret_name}`);
    }
  });

  test("its locations are merged by key, of which one stays enabled", () => {
    const before = { ...VARIABLE, injection_location: { header: true } };
    const merged = (injection_location: object) =>
      change(before, { type: "environment_variable", injection_location }).auth;
    expect(merged({})).toEqual(make(before).auth);
    expect(merged({ body: true })).toMatchObject({
      injection_location: { header: true, body: true },
    });
    expect(merged({ header: false, body: true })).toMatchObject({
      injection_location: { header: false, body: true },
    });
    expect(() => merged({ header: false })).toThrow("auth.injection_location");
  });

  test("its networking is replaced as a whole, and its value alone is secret", () => {
    const hosts = ["*.github.com"];
    const before = { ...VARIABLE, networking: { type: "limited", allowed_hosts: hosts } };
    const update = { type: "environment_variable", secret_value: "value-2" };
    expect(change(before, { ...update, networking: null })).toEqual({
      auth: make(before).auth,
      secrets: { secret_value: "value-2" },
    });
    const networking = { type: "unrestricted" };
    expect(change(before, { ...update, networking }).auth).toMatchObject({ networking });
    expect(keyOfAuth(make(before).auth)).toBe("secret_name GH_TOKEN");
  });
});

test("a credential never changes its type", () => {
  expect(() => change(OAUTH, { type: "static_bearer", token: "t" })).toThrow(InvalidRequestError);
  expect(() => change(VARIABLE, { type: "mcp_oauth" })).toThrow(
    "auth.type: a credential of type environment_variable cannot become mcp_oauth",
  );
});
