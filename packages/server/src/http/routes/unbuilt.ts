import { OPERATIONS } from "@drover/api";
import { Hono } from "hono";
import { NotImplementedError } from "../../core/errors.ts";
import type { AppEnv } from "../context.ts";

/**
 * Endpoints of the contract that this version does not have. Each says what it belongs to, so that
 * nobody takes it for a wrong address.
 */
export function unbuiltRoutes(): Hono<AppEnv> {
  const routes = new Hono<AppEnv>();
  for (const { method, path, unbuilt } of OPERATIONS) {
    if (unbuilt === undefined) continue;
    routes.on(method, path.replaceAll(/\{(\w+)\}/g, ":$1"), () => {
      throw new NotImplementedError(`not implemented in this version: ${unbuilt}`);
    });
  }
  return routes;
}
