import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { pairs } from "../support/agents.ts";
import {
  cloud,
  environmentWith,
  NO_PACKAGES,
  noEnvironmentWith,
  UNRESTRICTED,
} from "../support/environments.ts";
import { assertHas, assertTime, refused } from "../support/expect.ts";

const LIMITED = { type: "limited" };

/** Making environments; for what becomes of them see `environment-lives.ts`. */
export const environments: readonly Scenario[] = [
  scenario(
    "a minimal environment is cloud, unrestricted and empty",
    {
      verifies: [
        "environments.object",
        "environments.object.times",
        "environments.object.scope",
        "environments.create.description",
        "environments.create.metadata",
        "environments.config.default",
        "environments.config.null",
        "environments.packages.keys",
        "environments.networking.unrestricted",
        "environments.retrieve",
      ],
      rows: [24],
    },
    async (t) => {
      const config = { type: "cloud", networking: UNRESTRICTED, packages: NO_PACKAGES };
      for (const fields of [{}, { config: null }, cloud(), cloud({ networking: null })]) {
        const name = t.unique("minimal");
        const made = await environmentWith(t, { name, ...fields });
        assert.ok(made.id.length > 0);
        assertTime(made.created_at);
        assertTime(made.updated_at);
        assertHas(made, { type: "environment", name, scope: "organization", config });
        assertHas(made, { description: null, metadata: {}, archived_at: null });
        assert.deepEqual(made.config, config);
        assert.deepEqual(await t.client.beta.environments.retrieve(made.id), made);
      }
    },
  ),

  scenario(
    "name, description and metadata come back, within their limits",
    {
      verifies: [
        "environments.create.name",
        "environments.create.name-max",
        "environments.create.description",
        "environments.create.description-max",
        "environments.create.metadata",
        "environments.create.metadata-max",
        "environments.create.unknown-field",
      ],
      rows: [24],
    },
    async (t) => {
      const longest = {
        name: t.unique("n").padEnd(256, "ü"),
        description: "d".repeat(2048),
        metadata: { ...pairs(15), ["k".repeat(64)]: "v".repeat(512) },
      };
      assertHas(await environmentWith(t, longest), longest);
      assertHas(await environmentWith(t, { description: "" }), { description: "" });
      await noEnvironmentWith(t, { name: undefined }, /name/);
      await noEnvironmentWith(t, { name: null }, /name/);
      await noEnvironmentWith(t, { name: "" }, /name/);
      await noEnvironmentWith(t, { name: "n".repeat(257) }, /name/);
      await noEnvironmentWith(t, { description: "d".repeat(2049) }, /description/);
      await noEnvironmentWith(t, { metadata: pairs(17) }, /metadata/);
      await noEnvironmentWith(t, { metadata: { ["k".repeat(65)]: "" } }, /metadata/);
      await noEnvironmentWith(t, { metadata: { k: "v".repeat(513) } }, /metadata/);
      await noEnvironmentWith(t, { metadata: { k: 1 } }, /metadata/);
      await noEnvironmentWith(t, { networking: UNRESTRICTED }, /networking/);
    },
  ),

  scenario(
    "a name is used once among those not archived",
    { verifies: ["environments.create.unique"], rows: [4] },
    async (t) => {
      const { environments } = t.client.beta;
      const taken = { status: 409, type: "conflict_error", says: /name/ };
      const first = await environmentWith(t, {});
      const again = () => environmentWith(t, { name: first.name });
      const error = await refused(again(), taken);
      assert.equal(error.headers?.get("x-should-retry"), "false");
      await environmentWith(t, { name: first.name.toUpperCase() });
      await environments.archive(first.id);
      const second = await again();
      await refused(again(), taken);
      await environments.delete(second.id);
      assert.equal((await again()).name, first.name);
    },
  ),

  scenario(
    "a self-hosted environment is only that",
    {
      verifies: [
        "environments.config.self-hosted",
        "environments.config.self-hosted-fields",
        "environments.config.type",
      ],
      rows: [25],
    },
    async (t) => {
      const config = { type: "self_hosted" };
      const made = await environmentWith(t, { config });
      assert.deepEqual(made.config, config);
      assert.deepEqual(await t.client.beta.environments.retrieve(made.id), made);
      const networked = { ...config, networking: UNRESTRICTED };
      await noEnvironmentWith(t, { config: networked }, /networking/);
      await noEnvironmentWith(t, { config: { ...config, packages: {} } }, /packages/);
      await noEnvironmentWith(t, { config: { type: "on_premises" } }, /config/);
      await noEnvironmentWith(t, { config: {} }, /config/);
    },
  ),

  scenario(
    "limited networking comes back with its defaults filled in",
    {
      verifies: [
        "environments.networking.limited",
        "environments.networking.echo",
        "environments.networking.type",
        "environments.networking.unrestricted",
      ],
      rows: [24],
    },
    async (t) => {
      const closed = {
        ...LIMITED,
        allowed_hosts: [],
        allow_mcp_servers: false,
        allow_package_managers: false,
      };
      const nulls = {
        ...LIMITED,
        allowed_hosts: null,
        allow_mcp_servers: null,
        allow_package_managers: null,
      };
      const open = {
        ...LIMITED,
        allowed_hosts: ["api.example.com", "*.example.org"],
        allow_mcp_servers: true,
        allow_package_managers: true,
      };
      const networkingOf = async (networking: object) => {
        const { config } = await environmentWith(t, cloud({ networking }));
        assert.ok(config.type === "cloud");
        return config.networking;
      };
      assert.deepEqual(await networkingOf(LIMITED), closed);
      assert.deepEqual(await networkingOf(nulls), closed);
      assert.deepEqual(await networkingOf(open), open);
      assert.deepEqual(await networkingOf(UNRESTRICTED), UNRESTRICTED);
      await noEnvironmentWith(t, cloud({ networking: { type: "none" } }), /networking/);
      const mixed = { ...UNRESTRICTED, allowed_hosts: [] };
      await noEnvironmentWith(t, cloud({ networking: mixed }), /allowed_hosts/);
    },
  ),

  scenario(
    "an allowed host is a bare one or a wildcard",
    { verifies: ["environments.networking.hosts"], rows: [24] },
    async (t) => {
      const hosts = (...allowed_hosts: unknown[]) =>
        cloud({ networking: { ...LIMITED, allowed_hosts } });
      await environmentWith(t, hosts("example.com", "*.example.com", "10.0.0.1", "localhost"));
      for (const bad of ["https://h.com", "h.com:443", "h.com/", "*", "a.*.com", "h com", "", 7]) {
        await noEnvironmentWith(t, hosts(bad), /allowed_hosts\.0/);
      }
    },
  ),

  scenario(
    "packages come back for every manager, with their versions",
    {
      verifies: [
        "environments.packages.keys",
        "environments.packages.echo",
        "environments.packages.null",
        "environments.packages.manager",
      ],
      rows: [24],
    },
    async (t) => {
      const packagesOf = async (packages: object | null) => {
        const { config } = await environmentWith(t, cloud({ packages }));
        assert.ok(config.type === "cloud");
        return config.packages;
      };
      const some = {
        apt: ["ffmpeg", "libssl-dev=3.0.2"],
        cargo: ["ripgrep@14.0.0"],
        gem: ["rails:7.1.0"],
        go: ["golang.org/x/tools/cmd/goimports@latest"],
        npm: ["@types/node@22.0.0", "left-pad"],
        pip: ["pandas==2.2.0", "numpy"],
      };
      assert.deepEqual(await packagesOf(some), { type: "packages", ...some });
      assert.deepEqual(await packagesOf(null), NO_PACKAGES);
      assert.deepEqual(await packagesOf({ type: "packages", pip: null }), NO_PACKAGES);
      assert.deepEqual(await packagesOf({ pip: ["numpy"] }), { ...NO_PACKAGES, pip: ["numpy"] });
      await noEnvironmentWith(t, cloud({ packages: { brew: ["jq"] } }), /brew/);
      await noEnvironmentWith(t, cloud({ packages: { pip: "numpy" } }), /pip/);
    },
  ),

  scenario(
    "packages under limited networking need the package managers",
    { verifies: ["environments.packages.limited"], rows: [29] },
    async (t) => {
      const packages = { pip: ["numpy"] };
      const closed = { ...LIMITED, allowed_hosts: ["pypi.org"] };
      const open = { ...closed, allow_package_managers: true };
      await noEnvironmentWith(t, cloud({ networking: closed, packages }), /allow_package_managers/);
      await environmentWith(t, cloud({ networking: open, packages }));
      await environmentWith(t, cloud({ networking: closed, packages: { pip: [] } }));
      await environmentWith(t, cloud({ networking: UNRESTRICTED, packages }));
    },
  ),

  scenario(
    "an environment is the organization's",
    {
      verifies: ["environments.scope.organization", "environments.scope.account"],
      rows: [24],
    },
    async (t) => {
      for (const scope of ["organization", null, undefined]) {
        assert.equal((await environmentWith(t, { scope })).scope, "organization");
      }
      await noEnvironmentWith(t, { scope: "account" }, /scope/);
      await noEnvironmentWith(t, { scope: "everybody" }, /scope/);
    },
  ),
];
