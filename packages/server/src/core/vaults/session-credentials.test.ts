import { expect, test } from "vitest";
import { newCredential } from "../ports/vaults.testsuite.ts";
import { sessionCredentials } from "./session-credentials.ts";

const variable = (vault_id: string, secret_name: string) =>
  newCredential({
    vault_id,
    auth_key: `secret_name ${secret_name}`,
    auth: {
      type: "environment_variable",
      secret_name,
      networking: { type: "unrestricted" },
      injection_location: { header: true, body: true },
    },
  });

test("the first vault wins, whatever order they are read in", () => {
  const [second, first] = [variable("vlt_2", "KEY"), variable("vlt_1", "KEY")];
  const other = variable("vlt_2", "OTHER");
  for (const read of [
    [second, first, other],
    [other, first, second],
  ]) {
    const found = sessionCredentials(["vlt_1", "vlt_2"], read).map(({ record }) => record.id);
    expect(found).toEqual([first.id, other.id]);
  }
  const found = sessionCredentials(["vlt_2", "vlt_1"], [first, second]);
  expect(found.map(({ record }) => record.id)).toEqual([second.id]);
});

test("a vault that is not the session's gives nothing", () => {
  expect(sessionCredentials(["vlt_1"], [variable("vlt_3", "KEY")])).toEqual([]);
});
