import { type Scenario, scenario } from "../scenario.ts";
import { refused } from "../support/expect.ts";

export const transport: readonly Scenario[] = [
  scenario(
    "a bearer key is let in, an unknown one is not",
    { verifies: ["transport.auth.bearer", "transport.auth.unknown-key"], rows: [1] },
    async (t) => {
      await t.client.beta.agents.list();
      const stranger = t.clientWith({ apiKey: "nobody-knows-this-key" });
      await refused(stranger.beta.agents.list(), { status: 401, type: "authentication_error" });
    },
  ),
];
