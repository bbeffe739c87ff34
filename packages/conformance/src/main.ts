import { parseArgs } from "node:util";
import { CHECKLIST } from "./checklist.ts";
import { isGreen, report } from "./report.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { runScenarios } from "./run.ts";
import { SCENARIOS } from "./scenarios.ts";
import { Target } from "./target.ts";

const USAGE = `drover-conformance --base-url URL --api-key KEY [options]

Drives a Managed Agents server through the official client and prints which sentences of the contract
hold. It makes agents, environments and sessions in the key's workspace and leaves them there. Exits with 1 if
something fails that should not.

  --model ID              a model for sessions (default: offline/script)
  --scripted              the model follows the scripts of Drover's offline models (implied for offline/*)
  --loopback              the server is on this machine and may connect to 127.0.0.1 for its users
  --read-only-key KEY     a key of the same workspace that may only read
  --other-key KEY         a key of another workspace
  --only TEXT             only scenarios whose name or requirements contain the text
`;

/** Gives the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const values = optionsOf(args);
  if (typeof values === "string") {
    process.stderr.write(`${values}\n\n${USAGE}`);
    return 2;
  }
  const { "base-url": baseUrl, "api-key": apiKey, model, only } = values;
  if (values.help || baseUrl === undefined || apiKey === undefined) {
    process.stdout.write(USAGE);
    return values.help ? 0 : 2;
  }
  const target = new Target({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKey,
    model,
    isScripted: values.scripted || model.startsWith("offline/"),
    canReachLoopback: values.loopback,
    readOnlyKey: values["read-only-key"],
    otherWorkspaceKey: values["other-key"],
  });
  const scenarios = SCENARIOS.filter(({ name, verifies }) =>
    [name, ...verifies].some((text) => text.includes(only)),
  );
  const start = performance.now();
  const results = await runScenarios(target, scenarios);
  const seconds = (performance.now() - start) / 1000;
  const text = report({ requirements: REQUIREMENTS, checklist: CHECKLIST, results, seconds });
  process.stdout.write(`${text}\n`);
  return isGreen(results) ? 0 : 1;
}

/** A sentence about what is wrong with them instead, if something is. */
function optionsOf(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        "base-url": { type: "string" },
        "api-key": { type: "string" },
        model: { type: "string", default: "offline/script" },
        loopback: { type: "boolean", default: false },
        scripted: { type: "boolean", default: false },
        "read-only-key": { type: "string" },
        "other-key": { type: "string" },
        only: { type: "string", default: "" },
        help: { type: "boolean", default: false },
      },
    });
    return values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

// Scenarios that were cut off may leave streams open, which would keep the process.
process.exit(await main(process.argv.slice(2)));
