import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { CredentialAuthParams, CredentialAuthUpdateParams, describeProblems } from "./index.ts";

const BEARER = { type: "static_bearer", token: "t", mcp_server_url: "https://example.com" };
const VARIABLE = {
  type: "environment_variable",
  secret_name: "A",
  secret_value: "v",
  networking: { type: "unrestricted" },
};
const LIMITED = (...hosts: string[]) => ({
  ...VARIABLE,
  networking: { type: "limited", allowed_hosts: hosts },
});

/** Empty where it is accepted. */
const problems = (value: object, schema: z.ZodType = CredentialAuthParams): string => {
  const result = schema.safeParse(value);
  return result.success ? "" : describeProblems(result.error);
};

describe("a URL that a secret is sent to", () => {
  test.each([
    "https://example.com",
    "https://192.0.2.1:8443/mcp?tenant=a",
    "http://localhost:3000/mcp",
    "http://api.localhost",
    "http://127.0.0.1:8080",
    "http://[::1]:8080/",
  ])("may be %s", (mcp_server_url) => {
    expect(problems({ ...BEARER, mcp_server_url })).toBe("");
  });

  test.each([
    "",
    "example.com",
    "http://example.com",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "https://user:canary@example.com",
    "https://canary@example.com",
    "ftp://localhost",
    "https:///",
    "https://example.com/a b",
    " https://example.com",
    `https://example.com/${"x".repeat(2048)}`,
  ])("may not be %s", (mcp_server_url) => {
    const said = problems({ ...BEARER, mcp_server_url });
    expect(said).toMatch(/^mcp_server_url: /);
    expect(said).not.toContain("canary");
  });
});

describe("a host that a secret may go to", () => {
  test.each([
    "example.com",
    "localhost",
    "a-1.example.com",
    "192.0.2.1",
    "*.example.com",
    "1a.com",
  ])("may be %s", (host) => {
    expect(problems(LIMITED(host))).toBe("");
  });

  test.each([
    "",
    "*",
    "*.",
    "*example.com",
    "a.*.com",
    "https://example.com",
    "example.com:443",
    "example.com/a",
    "::1",
    "[::1]",
    "192.0.2.256",
    "192.0.2",
    "*.192.0.2.1",
    "-a.com",
    "a_b.com",
    "a..com",
    "exämple.com",
    `${"a".repeat(64)}.com`,
  ])("may not be %s", (host) => {
    expect(problems(LIMITED("example.com", host))).toMatch(/^networking\.allowed_hosts\.1: /);
  });

  test("is one of at most 16", () => {
    const hosts = (count: number) => Array.from({ length: count }, (_, at) => `h${at}.com`);
    expect(problems(LIMITED(...hosts(16)))).toBe("");
    expect(problems(LIMITED(...hosts(17)))).toContain("networking.allowed_hosts");
  });
});

test.each([
  ["secret_name", "1A"],
  ["secret_name", "A-B"],
  ["secret_name", "A=B"],
  ["secret_name", ""],
  ["secret_name", "A".repeat(256)],
  ["secret_value", ""],
  ["secret_value", "a\0b"],
  ["injection_location", null],
  ["injection_location", { header: null }],
  ["injection_location", { query: true }],
  ["networking", null],
  ["networking", { type: "limited" }],
])("a variable with %s = %j is refused by that name", (field, value) => {
  expect(problems({ ...VARIABLE, [field]: value })).toMatch(new RegExp(`^${field}`));
});

test("a token goes into a header, other secrets may have lines", () => {
  for (const token of ["a\nb", "a\r\nx-other: y", "ü", ""]) {
    expect(problems({ ...BEARER, token })).toMatch(/^token: /);
  }
  expect(problems({ ...VARIABLE, secret_value: "-----BEGIN KEY-----\nü\n" })).toBe("");
});

test("what a credential keeps for its life is refused by name in an update", () => {
  const refused = (value: object) => problems(value, CredentialAuthUpdateParams);
  const never = "cannot be changed after the credential was created";
  for (const type of ["static_bearer", "mcp_oauth"]) {
    expect(refused({ type, mcp_server_url: "https://example.com" })).toBe(
      `mcp_server_url: ${never}`,
    );
  }
  expect(refused({ type: "environment_variable", secret_name: "A" })).toBe(`secret_name: ${never}`);
  for (const field of ["client_id", "token_endpoint", "resource"]) {
    expect(refused({ type: "mcp_oauth", refresh: { [field]: "x" } })).toBe(
      `refresh.${field}: ${never}`,
    );
  }
  expect(
    refused({ type: "mcp_oauth", refresh: { token_endpoint_auth: { type: "none" } } }),
  ).toMatch(/^refresh\.token_endpoint_auth\.type: /);
});
