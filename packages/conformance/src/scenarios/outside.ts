import assert from "node:assert/strict";
import { type Scenario, scenario } from "../scenario.ts";
import { accepted } from "../support/expect.ts";

export const outside: readonly Scenario[] = [
  scenario(
    "events are delivered to a webhook",
    { verifies: ["outside.webhooks.delivery"], rows: [120], deferred: "webhooks are not built" },
    async (t) => {
      const body = { url: "https://example.com/hook", enabled_events: ["session.created"] };
      const made = await t.request("POST", "/v1/organizations/webhooks", { body });
      assert.ok(accepted(made).id);
    },
  ),
  scenario(
    "the token endpoint exchanges an assertion",
    { verifies: ["outside.token"], rows: [122], deferred: "the token endpoint is not built" },
    async (t) => {
      const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
      const body = { grant_type, assertion: "a.b.c" };
      const answer = await t.request("POST", "/v1/oauth/token", { body });
      assert.notEqual(answer.status, 501, answer.text);
    },
  ),
  scenario(
    "a tunnel is made, listed and archived",
    { verifies: ["outside.tunnels"], rows: [123], deferred: "tunnels are not built" },
    async (t) => {
      const tunnel = await t.client.beta.tunnels.create({ display_name: t.unique("tunnel") });
      assert.match(tunnel.id, /^tnl_/);
      assert.notEqual((await t.client.beta.tunnels.archive(tunnel.id)).archived_at, null);
    },
  ),
  scenario(
    "a webhook endpoint shows its secret once",
    { verifies: ["outside.webhooks.endpoints"], rows: [124], deferred: "webhooks are not built" },
    async (t) => {
      const answer = await t.request("GET", "/v1/organizations/webhooks");
      assert.ok(Array.isArray(accepted(answer).data));
    },
  ),
];
