import assert from "node:assert/strict";
import {
  BetaEnvironmentArchivedError,
  BetaInvalidConfigTypeChangeError,
} from "@anthropic-ai/sdk/resources/beta/environments/environments";
import { type Scenario, scenario } from "../scenario.ts";
import { many, pairs } from "../support/agents.ts";
import {
  cloud,
  environmentWith,
  NO_PACKAGES,
  UNRESTRICTED,
  updatedEnvironment,
} from "../support/environments.ts";
import { accepted, all, assertHas, assertTime, refused } from "../support/expect.ts";
import { newEnvironment, newSession } from "../support/fixtures.ts";

const OPEN = {
  type: "limited",
  allowed_hosts: ["api.example.com"],
  allow_mcp_servers: true,
  allow_package_managers: true,
};
const INVALID = { status: 400, type: "invalid_request_error" };
const MISSING = { status: 404, type: "not_found_error" };

/** Changing, archiving, deleting and listing environments. */
export const environmentLives: readonly Scenario[] = [
  scenario(
    "an update keeps what it leaves out, on every level of the config",
    {
      verifies: [
        "environments.update.keep",
        "environments.update.config-null",
        "environments.update.networking-keep",
        "environments.update.networking-replace",
        "environments.update.networking-type",
        "environments.update.packages-keep",
      ],
      rows: [26],
    },
    async (t) => {
      const packages = { ...NO_PACKAGES, npm: ["left-pad"], pip: ["numpy"] };
      const config = { type: "cloud", networking: OPEN, packages };
      const made = await environmentWith(t, { config });
      const after = async (fields: object) => (await updatedEnvironment(t, made, fields)).config;
      const kept = [{}, { config: null }, cloud(), cloud({ networking: null, packages: null })];
      for (const fields of [...kept, cloud({ networking: { type: "limited" }, packages: {} })]) {
        assert.deepEqual(await after(fields), config);
      }
      const unmanaged = { ...OPEN, allow_mcp_servers: false };
      assert.deepEqual(
        await after(cloud({ networking: { type: "limited", allow_mcp_servers: false } })),
        { ...config, networking: unmanaged },
      );
      assert.deepEqual(await after(cloud({ networking: { type: "limited", allowed_hosts: [] } })), {
        ...config,
        networking: { ...unmanaged, allowed_hosts: [] },
      });
      assert.deepEqual(await after(cloud({ packages: { pip: [] } })), {
        type: "cloud",
        networking: { ...unmanaged, allowed_hosts: [] },
        packages: { ...packages, pip: [] },
      });
      assert.deepEqual(await after(cloud({ networking: UNRESTRICTED, packages: { npm: [] } })), {
        type: "cloud",
        networking: UNRESTRICTED,
        packages: NO_PACKAGES,
      });
      assertHas(await after(cloud({ networking: { type: "limited" } })), {
        networking: { allowed_hosts: [], allow_mcp_servers: false, allow_package_managers: false },
      });
    },
  ),

  scenario(
    "the rule of packages holds for what an update results in",
    {
      verifies: ["environments.update.packages-limited", "environments.update.whole"],
      rows: [29],
    },
    async (t) => {
      const made = await environmentWith(
        t,
        cloud({ networking: OPEN, packages: { pip: ["numpy"] } }),
      );
      const closing = cloud({ networking: { type: "limited", allow_package_managers: false } });
      const says = /allow_package_managers/;
      await refused(updatedEnvironment(t, made, { ...closing, description: "new" }), {
        ...INVALID,
        says,
      });
      assert.deepEqual(await t.client.beta.environments.retrieve(made.id), made);
      await updatedEnvironment(t, made, cloud({ packages: { pip: [] } }));
      await updatedEnvironment(t, made, closing);
      const adding = updatedEnvironment(t, made, cloud({ packages: { npm: ["left-pad"] } }));
      await refused(adding, { ...INVALID, says });
    },
  ),

  scenario(
    "the type of an environment never changes",
    {
      verifies: [
        "environments.update.type",
        "environments.update.whole",
        "environments.config.immutable",
      ],
      rows: [26],
    },
    async (t) => {
      const selfHosted = { config: { type: "self_hosted" } };
      const [inCloud, own] = [await newEnvironment(t), await environmentWith(t, selfHosted)];
      const code = { ...INVALID, code: "invalid_config_type_change", says: /config\.type/ };
      const error = await refused(updatedEnvironment(t, inCloud, selfHosted), code);
      assert.ok(error instanceof BetaInvalidConfigTypeChangeError);
      await refused(updatedEnvironment(t, own, cloud()), code);
      assert.deepEqual(await updatedEnvironment(t, own, selfHosted), own);
      assert.deepEqual(await updatedEnvironment(t, inCloud, cloud()), inCloud);
    },
  ),

  scenario(
    "name, description and scope of an environment have their own rules",
    {
      verifies: [
        "environments.update.name",
        "environments.update.name-empty",
        "environments.update.name-taken",
        "environments.update.description-null",
        "environments.update.description-empty",
        "environments.update.scope",
        "environments.update.updated-at",
        "environments.update.differences",
      ],
      rows: [27],
    },
    async (t) => {
      const [made, other] = [
        await newEnvironment(t, { description: "d" }),
        await newEnvironment(t),
      ];
      const update = async (fields: object) => await updatedEnvironment(t, made, fields);
      assert.deepEqual(await update({}), made);
      assert.deepEqual(await update({ name: null, description: "d", scope: null }), made);
      const name = t.unique("renamed");
      const renamed = await update({ name });
      assertHas(renamed, { name, description: "d", created_at: made.created_at });
      assert.ok(renamed.updated_at >= made.updated_at);
      assert.equal((await update({ description: "" })).description, "");
      assert.equal((await update({ description: null })).description, null);
      await refused(update({ name: "" }), { ...INVALID, says: /name/ });
      await refused(update({ scope: "account" }), { ...INVALID, says: /scope/ });
      await refused(update({ name: other.name }), { status: 409, type: "conflict_error" });
      await t.client.beta.environments.archive(other.id);
      assert.equal((await update({ name: other.name })).name, other.name);
    },
  ),

  scenario(
    "null and an empty string delete a metadata key of an environment",
    {
      verifies: [
        "environments.update.metadata-set",
        "environments.update.metadata-null",
        "environments.update.metadata-empty",
        "environments.update.metadata-max",
        "environments.update.differences",
      ],
      rows: [27],
    },
    async (t) => {
      const made = await environmentWith(t, { metadata: { a: "1", b: "2", c: "3" } });
      const after = async (metadata: object) =>
        (await updatedEnvironment(t, made, { metadata })).metadata;
      assert.deepEqual(await after({ d: "4" }), { a: "1", b: "2", c: "3", d: "4" });
      assert.deepEqual(await after({ a: null, b: "", absent: "" }), { c: "3", d: "4" });
      await refused(after(pairs(15)), { ...INVALID, says: /metadata/ });
      assert.equal(Object.keys(await after({ ...pairs(15), d: "" })).length, 16);
    },
  ),

  scenario(
    "an archived environment is readable, and takes neither changes nor sessions",
    {
      verifies: [
        "environments.update.archived",
        "environments.archive.time",
        "environments.archive.listed",
        "environments.archive.again",
        "environments.archive.sessions",
        "environments.archive.final",
      ],
      rows: [3, 28],
    },
    async (t) => {
      const { environments } = t.client.beta;
      const made = await newEnvironment(t);
      const session = await newSession(t, { environment_id: made.id });
      const archived = await environments.archive(made.id);
      assertTime(archived.archived_at);
      assert.deepEqual(await environments.retrieve(made.id), archived);
      assert.deepEqual(await environments.archive(made.id), archived);
      const code = { ...INVALID, code: "environment_archived" };
      for (const fields of [{ name: t.unique("late") }, {}, { config: { type: "self_hosted" } }]) {
        const error = await refused(updatedEnvironment(t, made, fields), code);
        assert.ok(error instanceof BetaEnvironmentArchivedError);
      }
      await refused(newSession(t, { environment_id: made.id }), { ...INVALID, says: /archived/ });
      assertHas(await t.client.beta.sessions.retrieve(session.id), { environment_id: made.id });
      const isListed = async (include_archived?: boolean) => {
        const params = include_archived === undefined ? {} : { include_archived };
        return (await all(environments.list(params))).some(({ id }) => id === made.id);
      };
      assert.equal(await isListed(), false);
      assert.equal(await isListed(false), false);
      assert.equal(await isListed(true), true);
    },
  ),

  scenario(
    "an environment is deleted unless a session refers to it",
    {
      verifies: [
        "environments.delete",
        "environments.delete.tombstone",
        "environments.delete.gone",
        "environments.delete.used",
        "environments.delete.archived",
      ],
      rows: [28],
    },
    async (t) => {
      const { environments } = t.client.beta;
      const made = await newEnvironment(t);
      const session = await newSession(t, { environment_id: made.id });
      await refused(environments.delete(made.id), { ...INVALID, says: /session/ });
      await environments.retrieve(made.id);
      await t.client.beta.sessions.delete(session.id);
      const deleted = { id: made.id, type: "environment_deleted" };
      assert.deepEqual(accepted(await t.request("DELETE", `/v1/environments/${made.id}`)), deleted);
      await refused(environments.retrieve(made.id), MISSING);
      await refused(environments.delete(made.id), MISSING);
      await refused(newSession(t, { environment_id: made.id }), MISSING);
      const old = await newEnvironment(t);
      await environments.archive(old.id);
      assertHas(await environments.delete(old.id), { type: "environment_deleted" });
    },
  ),

  scenario(
    "environments that there are not are not found",
    { verifies: ["environments.retrieve.unknown"] },
    async (t) => {
      const { environments } = t.client.beta;
      const unknown = "env_of_nobody";
      await refused(environments.retrieve(unknown), MISSING);
      await refused(environments.update(unknown, {}), MISSING);
      await refused(environments.archive(unknown), MISSING);
      await refused(environments.delete(unknown), MISSING);
    },
  ),

  scenario(
    "environments of another workspace are not found, and names are each workspace's own",
    { verifies: ["environments.retrieve.workspace"], needs: ["other-workspace"] },
    async (t) => {
      const made = await newEnvironment(t);
      const stranger = t.clientWith({ apiKey: t.key("other-workspace") }).beta.environments;
      await refused(stranger.retrieve(made.id), MISSING);
      await refused(stranger.update(made.id, { name: "mine" }), MISSING);
      await refused(stranger.archive(made.id), MISSING);
      await refused(stranger.delete(made.id), MISSING);
      const theirs = await stranger.create({ name: made.name });
      assert.notEqual(theirs.id, made.id);
    },
  ),

  scenario(
    "environments are listed newest first, each once, at any page size",
    {
      verifies: ["environments.list.paged", "environments.list.order"],
      rows: [5],
    },
    async (t) => {
      const made = await Promise.all(many(5, () => newEnvironment(t)));
      for (const limit of [3, 7]) {
        const listed = await all(t.client.beta.environments.list({ limit }));
        const times = listed.map(({ created_at }) => created_at);
        assert.deepEqual(times, times.toSorted().reverse());
        for (const { id } of made) {
          assert.equal(listed.filter((environment) => environment.id === id).length, 1);
        }
      }
    },
  ),
];
