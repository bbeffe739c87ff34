/**
 * What can make a sandbox, by the names that settings, environments and recipes use. `gvisor` is the
 * Docker Engine with gVisor's `runsc` as its runtime.
 */
export const PROVIDER_NAMES = ["bubblewrap", "docker", "gvisor"] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
