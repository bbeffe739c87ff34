import { expect, test } from "vitest";
import { isReservedVariable } from "./reserved-variables.ts";

test.each(["PATH", "path", "HOME", "LD_PRELOAD", "ld_library_path", "SSL_CERT_FILE", "BASH_ENV"])(
  "%s is no name for a secret",
  (name) => expect(isReservedVariable(name)).toBe(true),
);

test.each(["GITHUB_TOKEN", "MY_PATH", "OLD_LD_PRELOAD", "HOMEPAGE"])("%s is one", (name) =>
  expect(isReservedVariable(name)).toBe(false),
);
