import { expect, test } from "vitest";
import type {
  CredentialOffer,
  RepositoryOffer,
  VariableOffer,
} from "../ports/session-credentials.ts";
import { isForNobody, offersFor, permits, repositoryOf } from "./host-offers.ts";

const VARIABLE: VariableOffer = {
  type: "environment_variable",
  credential_id: "vcred_1",
  vault_id: "vlt_1",
  secret_name: "KEY",
  placeholder: `drover-secret-${"a".repeat(32)}`,
  allowed_hosts: ["api.test", "*.wild.test"],
  injection_location: { header: true, body: true },
};
const REPOSITORY: RepositoryOffer = {
  type: "repository",
  resource_id: "sesrsc_1",
  url: "https://git.test/acme/tools.git",
};
const OFFERS: readonly CredentialOffer[] = [
  VARIABLE,
  REPOSITORY,
  {
    type: "static_bearer",
    credential_id: "vcred_2",
    vault_id: "vlt_1",
    mcp_server_url: "https://api.test/mcp",
  },
];

test.each([
  ["api.test", 443, ["vcred_1"]],
  ["API.test.", 8080, ["vcred_1"]],
  ["a.b.wild.test", 443, ["vcred_1"]],
  ["wild.test", 443, []],
  ["xapi.test", 443, []],
  ["git.test", 443, ["sesrsc_1"]],
  ["git.test", 80, []],
  ["not a host", 443, []],
])("of %s:%i are %j", (host, port, ids) => {
  const { variables, repositories } = offersFor(OFFERS, { host, port });
  const found = [
    ...variables.map(({ credential_id }) => credential_id),
    ...repositories.map(({ resource_id }) => resource_id),
  ];
  expect(found).toEqual(ids);
  expect(isForNobody({ variables, repositories })).toBe(ids.length === 0);
});

test("without allowed hosts a variable is for all", () => {
  const { variables } = offersFor([{ ...VARIABLE, allowed_hosts: null }], {
    host: "1.2.3.4",
    port: 1,
  });
  expect(variables).toHaveLength(1);
});

test.each([
  [undefined, "PUT", "/../x", true],
  [{ methods: ["GET"] }, "GET", "/", true],
  [{ methods: ["GET"] }, "HEAD", "/", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1/x?y=/../z", true],
  [{ paths: ["/v1/*"] }, "GET", "/v1/", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1", false],
  [{ paths: ["/v1"] }, "GET", "/v1?x", true],
  [{ paths: ["/v1/*"] }, "GET", "/v1/a/../../b", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1/a%2F..%2F..%2Fb", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1//b", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1/..", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1/..;/b", false],
  [{ paths: ["/v1/*"] }, "GET", "/v1/\\..\\b", false],
  [{ paths: ["/v1/*"] }, "GET", "/V1/b", false],
  [{ paths: ["/v1/*"] }, "GET", "http://api.test/v1/b", false],
])("a binding to %j takes %s %s: %s", (binding, method, path, isPermitted) => {
  expect(permits(binding, { method, path })).toBe(isPermitted);
});

test("a binding to methods also counts the one that a header asks for", () => {
  const target = { method: "POST", path: "/" };
  expect(permits({ methods: ["POST"] }, target, [["X-HTTP-Method-Override", "delete"]])).toBe(
    false,
  );
  expect(permits({ methods: ["POST", "DELETE"] }, target, [["x-http-method", "DELETE"]])).toBe(
    true,
  );
});

test.each([
  ["/acme/tools/info/refs?service=git-receive-pack", true],
  ["/acme/tools.git/info/refs?service=git-upload-pack", true],
  ["/acme/tools.git/git-receive-pack", true],
  ["/acme/tools/info/lfs/objects/batch", true],
  ["/acme/tools/info/lfs/", false],
  ["/acme/tools", false],
  ["/acme/tools/settings", false],
  ["/acme/tools2/info/refs", false],
  ["/acme/other/info/refs", false],
  ["/acme/other/../tools/info/refs", false],
  ["/acme/tools/../other/info/refs", false],
  ["/acme/tools/info/lfs/../../../other/info/refs", false],
])("%s is git's for the repository: %s", (path, isIts) => {
  expect(repositoryOf([REPOSITORY], path)).toBe(isIts ? REPOSITORY : undefined);
});
