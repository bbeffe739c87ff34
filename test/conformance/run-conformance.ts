import {
  CHECKLIST,
  ENDPOINTS,
  isGreen,
  REQUIREMENTS,
  report,
  runScenarios,
  SCENARIOS,
  Target,
} from "drover-conformance";
import { expect } from "vitest";

/** Runs every scenario against a server of this repository; prints the table, and wants all of it run. */
export async function runConformance(server: { url: string; apiKey: string }): Promise<void> {
  await compareEndpoints(server.url);
  const workspace = await post(server, "workspaces", { name: "the other" });
  const reader = await post(server, "api_keys", { name: "reader", role: "read_only" });
  const other = await post(server, "api_keys", {
    name: "other",
    role: "developer",
    workspace_id: workspace.id,
  });
  const target = new Target({
    baseUrl: server.url,
    apiKey: server.apiKey,
    model: "offline/script",
    isScripted: true,
    canReachLoopback: true,
    readOnlyKey: reader.key,
    otherWorkspaceKey: other.key,
  });
  const start = performance.now();
  const results = await runScenarios(target, SCENARIOS);
  const seconds = (performance.now() - start) / 1000;
  const text = report({ requirements: REQUIREMENTS, checklist: CHECKLIST, results, seconds });
  process.stdout.write(`${text}\n`);
  expect(isGreen(results), text).toBe(true);
  const notRun = results.filter(({ outcome }) => outcome === "not_run");
  expect(notRun.map(({ scenario }) => scenario.name)).toEqual([]);
}

/** Every endpoint of the contract that the server says to have is tried, and every one that is tried is said. */
async function compareEndpoints(url: string): Promise<void> {
  const response = await fetch(`${url}/openapi.json`);
  const { paths } = (await response.json()) as { paths: Record<string, object> };
  const beyond = /^\/v1\/(?:drover|tunnels|organizations|oauth)\/|^\/v1\/tunnels$|^\/(?!v1\/)/;
  const said = Object.entries(paths)
    .filter(([path]) => !beyond.test(path))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${nameless(path)}`),
    )
    // The hosted service's documents show it beside the POST of the same path.
    .filter((endpoint) => !endpoint.startsWith("PATCH "));
  const tried = ENDPOINTS.map(({ method, path }) => `${method} ${nameless(path)}`);
  expect(tried.sort()).toEqual(said.sort());
}

function nameless(path: string): string {
  return path.replaceAll(/\{\w+\}/g, "{}");
}

async function post(
  { url, apiKey }: { url: string; apiKey: string },
  path: string,
  body: object,
): Promise<{ id: string; key: string }> {
  const response = await fetch(`${url}/v1/drover/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string; key: string };
}
