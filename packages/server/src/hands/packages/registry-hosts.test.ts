import { expect, test } from "vitest";
import { PACKAGE_REGISTRIES } from "../../core/egress/package-registries.ts";
import { registryHosts } from "./registry-hosts.ts";

test("whoever installs reaches the public registries and the operator's, and no others", () => {
  expect(registryHosts({})).toEqual(PACKAGE_REGISTRIES);
  const own = registryHosts({
    pip: "http://PyPI.internal:8080/simple",
    cargo: "sparse+https://crates.internal/index/",
    npm: "https://[2001:db8::1]/",
    go: "https://proxy.golang.org",
  });
  expect(own).toEqual([...PACKAGE_REGISTRIES, "pypi.internal", "crates.internal", "2001:db8::1"]);
});
