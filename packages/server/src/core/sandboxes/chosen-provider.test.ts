import { expect, test } from "vitest";
import { chosenProvider } from "./chosen-provider.ts";

test("an environment gets what it names, and else what the server names first", () => {
  expect(chosenProvider({})).toBe("bubblewrap");
  expect(chosenProvider({}, ["gvisor", "bubblewrap"])).toBe("gvisor");
  expect(chosenProvider({ "drover.provider": "bubblewrap" }, ["gvisor", "bubblewrap"])).toBe(
    "bubblewrap",
  );
});

test.each(["Docker", "", "podman", "__proto__"])("%j is refused by the field's name", (asked) => {
  expect(() => chosenProvider({ "drover.provider": asked })).toThrow(
    /^metadata\.drover\.provider: .* is no provider of sandboxes: it may be bubblewrap, docker, gvisor$/,
  );
});

test("a provider that the server has not is refused, never replaced", () => {
  expect(() => chosenProvider({ "drover.provider": "gvisor" }, ["bubblewrap", "docker"])).toThrow(
    "metadata.drover.provider: this server makes no sandboxes with gvisor, only with bubblewrap, docker (DROVER_SANDBOX_PROVIDER)",
  );
});
