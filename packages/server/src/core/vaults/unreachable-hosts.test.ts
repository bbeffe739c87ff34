import { expect, test } from "vitest";
import type { SandboxNetwork } from "../ports/hands.ts";
import { newCredential } from "../ports/vaults.testsuite.ts";
import { sessionCredentials } from "./session-credentials.ts";
import { unreachableHosts } from "./unreachable-hosts.ts";

function told(allowed_hosts: readonly string[] | undefined, network: SandboxNetwork): string[] {
  const record = newCredential({
    vault_id: "vlt_1",
    auth: {
      type: "environment_variable",
      secret_name: "KEY",
      networking:
        allowed_hosts === undefined ? { type: "unrestricted" } : { type: "limited", allowed_hosts },
      injection_location: { header: true, body: true },
    },
  });
  const errors = unreachableHosts(sessionCredentials(["vlt_1"], [record]), network);
  return errors.map((error) => {
    expect(error).toMatchObject({ credential_id: record.id, vault_id: "vlt_1" });
    return error.message;
  });
}

const limited = (...hosts: string[]): SandboxNetwork => ({ type: "limited", hosts });

test.each([
  [["api.example.com"], limited("api.example.com")],
  [["API.example.com"], limited("*.example.com")],
  [["*.example.com"], limited("*.example.com")],
  [["*.a.example.com"], limited("*.example.com")],
  [["*.example.com"], limited("api.example.com")],
  [["anything.example"], { type: "unrestricted" } as const],
  [undefined, limited()],
])("%j is reachable through %j", (hosts, network) => {
  expect(told(hosts, network)).toEqual([]);
});

test.each([
  [["api.example.com"], limited("example.com")],
  [["example.com"], limited("*.example.com")],
  [["*.example.com"], limited("example.com", "notexample.com")],
  [["api.example.com"], limited()],
  [["*.example.com"], { type: "none" } as const],
])("%j is not reachable through %j", (hosts, network) => {
  expect(told(hosts, network)).toHaveLength(1);
});

test("the error names the hosts that are out of reach, and no others", () => {
  const [message] = told(["a.example", "b.example"], limited("a.example"));
  expect(message).toContain("b.example");
  expect(message).not.toContain("a.example");
});
