import { readHost } from "../../core/egress/host.ts";
import { PACKAGE_REGISTRIES } from "../../core/egress/package-registries.ts";
import type { PackageRegistries } from "./managers.ts";

/** Whom a sandbox that installs may speak to: the public registries and those of the operator. */
export function registryHosts(registries: PackageRegistries): readonly string[] {
  const own = Object.values(registries).flatMap((url) => {
    const host = readHost(new URL(url.replace(/^sparse\+/, "")).hostname);
    return host === undefined ? [] : [host.text];
  });
  return [...new Set([...PACKAGE_REGISTRIES, ...own])];
}
