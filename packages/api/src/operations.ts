import type { Operation } from "./operation.ts";
import { agentOperations } from "./operations/agents.ts";
import { environmentOperations } from "./operations/environments.ts";
import { fileOperations } from "./operations/files.ts";
import { memoryStoreOperations } from "./operations/memory-stores.ts";
import { modelOperations } from "./operations/models.ts";
import { serverOperations } from "./operations/server.ts";
import { sessionCopyOperations } from "./operations/session-copies.ts";
import { sessionOperations } from "./operations/sessions.ts";
import { skillOperations } from "./operations/skills.ts";
import { unbuiltOperations } from "./operations/unbuilt.ts";
import { vaultOperations } from "./operations/vaults.ts";
import { workspaceOperations } from "./operations/workspaces.ts";

/**
 * Every endpoint of the contract (wire §2) and of this server beyond it, as data: what the OpenAPI
 * document, the endpoints that answer 501, the wrong methods and the fuzz are made of.
 */
export const OPERATIONS: readonly Operation[] = [
  ...serverOperations,
  ...agentOperations,
  ...environmentOperations,
  ...sessionOperations,
  ...fileOperations,
  ...memoryStoreOperations,
  ...skillOperations,
  ...modelOperations,
  ...vaultOperations,
  ...workspaceOperations,
  ...sessionCopyOperations,
  ...unbuiltOperations,
];

/** The methods that the path takes, `HEAD` with `GET`; empty for a path that is none of these. */
export function methodsAt(pathname: string): readonly string[] {
  const methods = OPERATIONS.filter(({ path }) => patternOf(path).test(pathname)).flatMap(
    ({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]),
  );
  return [...new Set(methods)].sort();
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", String.raw`\.`).replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}
