import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { ENDPOINTS, type Endpoint } from "../support/endpoints.ts";
import { accepted, assertRefused } from "../support/expect.ts";
import { MARKER, type ResourceName, Resources } from "../support/resources.ts";
import type { Target } from "../target.ts";

const built = ENDPOINTS.filter(({ deferred }) => deferred === undefined);
/** Models belong to the installation. */
const withIds = built.filter(({ path }) => path.includes("{") && !path.includes("{model_id}"));
const lists = built.filter(({ id, path }) => id.endsWith(".list") && !path.includes("{"));

export const isolation: readonly Scenario[] = [
  scenario(
    "a key of another workspace finds nothing by id, and learns nothing from the refusal",
    { verifies: ["endpoints.isolation"], rows: [9], needs: ["other-workspace"] },
    async (t) => {
      const key = t.key("other-workspace");
      const resources = await t.shared("all resources", () => everything(t));
      for (const endpoint of withIds) {
        const body =
          endpoint.body === undefined ? undefined : await bodyFor(t, endpoint, resources);
        const ask = async (path: string) => {
          const answer = await t.request(endpoint.method, path, { key, body });
          assertRefused(answer, { status: 404, type: "not_found_error" });
          return JSON.stringify(answer.body.error);
        };
        const foreign = await resources.path(endpoint.path);
        const madeUp = foreign.replaceAll(/(?<=[_/])[A-Za-z0-9-]{20,}/g, "nobody");
        assert.notEqual(foreign, madeUp, `no id in ${foreign}`);
        assert.equal(without(await ask(foreign)), without(await ask(madeUp)), endpoint.id);
      }
      const still = await t.request("GET", await resources.path("/v1/sessions/{session_id}"));
      assert.equal(accepted(still).title, MARKER);
    },
  ),
  scenario(
    "lists of another workspace hold nothing of the first",
    { verifies: ["endpoints.isolation"], needs: ["other-workspace"] },
    async (t) => {
      const key = t.key("other-workspace");
      await t.shared("all resources", () => everything(t));
      for (const { id, path } of lists) {
        assert.equal(await isMarkedIn(t, path, { key }), false, id);
        if (id !== "models.list") assert.equal(await isMarkedIn(t, path), true, id);
      }
    },
  ),
  scenario(
    "what is referred to must be of the same workspace",
    { verifies: ["endpoints.isolation.references"], needs: ["other-workspace"] },
    async (t) => {
      const key = t.key("other-workspace");
      const theirs = await t.shared("all resources", () => everything(t));
      const own = new Resources(t, { key, marker: "marker-of-the-other-workspace" });
      const session = {
        agent: await own.id("agent_id"),
        environment_id: await own.id("environment_id"),
      };
      const create = (more: object) =>
        t.request("POST", "/v1/sessions", { key, body: { ...session, ...more } });
      accepted(await create({}));
      const foreign: readonly [ResourceName, (id: string) => object][] = [
        ["agent_id", (id) => ({ agent: id })],
        ["environment_id", (id) => ({ environment_id: id })],
        ["vault_id", (id) => ({ vault_ids: [id] })],
        ["file_id", (id) => ({ resources: [{ type: "file", file_id: id }] })],
        [
          "memory_store_id",
          (id) => ({ resources: [{ type: "memory_store", memory_store_id: id }] }),
        ],
      ];
      for (const [name, change] of foreign) {
        const id = await theirs.id(name);
        const [refusal, madeUp] = [await create(change(id)), await create(change(nobody(id)))];
        assert.notEqual(refusal.status, 200, refusal.text);
        assert.equal(refusal.status, madeUp.status, `${name}: ${refusal.text} ${madeUp.text}`);
        assert.equal(without(refusal.text), without(madeUp.text), name);
      }
    },
  ),
  scenario(
    "a cursor of one workspace does not open in another",
    { verifies: ["endpoints.isolation.cursors"], needs: ["other-workspace"] },
    async (t) => {
      const key = t.key("other-workspace");
      for (let made = 0; made < 2; made += 1) await new Resources(t).id("agent_id");
      const first = accepted(await t.request("GET", "/v1/agents?limit=1"));
      const next = `/v1/agents?limit=1&page=${encodeURIComponent(first.next_page)}`;
      accepted(await t.request("GET", next));
      assertRefused(await t.request("GET", next, { key }), { status: 400, says: /page/ });
    },
  ),
  scenario(
    "a key that may only read changes nothing",
    { verifies: ["endpoints.read-only"], needs: ["read-only-key"] },
    async (t) => {
      const key = t.key("read-only-key");
      for (const { method, path } of built) {
        if (method === "GET") continue;
        const answer = await t.request(method, path.replaceAll(/\{\w+\}/g, "nobody"), { key });
        assertRefused(answer, { status: 403, type: "permission_error" });
      }
      for (const { path } of lists) accepted(await t.request("GET", path, { key }));
    },
  ),
];

async function everything(t: Target): Promise<Resources> {
  const resources = new Resources(t);
  for (const { path } of built) await resources.path(path);
  return resources;
}

/** A body that would be right in the first workspace; what it refers to is not looked at. */
async function bodyFor(t: Target, endpoint: Endpoint, resources: Resources): Promise<unknown> {
  return await endpoint.body?.(resources, t);
}

function nobody(id: string): string {
  return id.replace(/(?<=_).*/, "nobody");
}

/** The text without ids and what else differs from one request to the next. */
function without(text: string): string {
  return text
    .replaceAll(/req_\w+/g, "")
    .replaceAll(/(?<=[a-z]_)(?:[A-Za-z0-9-]{20,}|nobody)/g, "…");
}

/** Looks through all pages: a server may hold more than it shows in one. */
async function isMarkedIn(t: Target, path: string, wire: { key?: string } = {}): Promise<boolean> {
  for (let page = ""; ; ) {
    const answer = await t.request("GET", `${path}?limit=1000${page}`, wire);
    if (accepted(answer) && answer.text.includes(MARKER)) return true;
    const next: unknown = answer.body.next_page;
    if (typeof next !== "string") return false;
    page = `&page=${encodeURIComponent(next)}`;
  }
}
