import { Hono } from "hono";
import { NotImplementedError } from "../../core/errors.ts";
import type { AppEnv } from "../context.ts";

/**
 * Endpoints of the contract that this version does not have: what they belong to, and their paths.
 * Each answers every method by name, so that nobody takes it for a wrong address.
 */
const UNBUILT: Readonly<Record<string, readonly string[]>> = {
  "environment work": ["/v1/environments/:environment_id/work/*", "/v1/environments/:id/work"],
  deployments: ["/v1/deployments/*", "/v1/deployments"],
  "deployment runs": ["/v1/deployment_runs/*", "/v1/deployment_runs"],
  vaults: ["/v1/vaults/*", "/v1/vaults"],
  "memory stores": ["/v1/memory_stores/*", "/v1/memory_stores"],
  skills: ["/v1/skills/*", "/v1/skills"],
  dreams: ["/v1/dreams/*", "/v1/dreams"],
  tunnels: ["/v1/tunnels/*", "/v1/tunnels"],
  "changing a session's resources": [
    "/v1/sessions/:session_id/resources",
    "/v1/sessions/:session_id/resources/:resource_id",
  ],
};

export function unbuiltRoutes(): Hono<AppEnv> {
  const routes = new Hono<AppEnv>();
  for (const [name, paths] of Object.entries(UNBUILT)) {
    for (const path of paths) {
      routes.all(path, () => {
        throw new NotImplementedError(`not implemented in this version: ${name}`);
      });
    }
  }
  return routes;
}
