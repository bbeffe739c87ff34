import { existsSync } from "node:fs";
import { join } from "node:path";
import { TRUST_BUNDLE, TRUST_FOLDER } from "../../egress/trust/trust-files.ts";
import { AUTHORITIES } from "../local/root-view.ts";
import type { Bind } from "./container-spec.ts";

/**
 * With the folder of what programs trust, if there is one, also in the place where programs look that are told
 * nothing; of an image it is not known whether it has that place.
 */
export function withTrust(
  binds: readonly Bind[],
  trust: string | undefined,
  root: string | undefined,
): readonly Bind[] {
  if (trust === undefined) return binds;
  const folder: Bind = { source: trust, target: TRUST_FOLDER, isWritable: false };
  if (root === undefined || !existsSync(join(root, AUTHORITIES))) return [...binds, folder];
  const bundle = { source: join(trust, TRUST_BUNDLE), target: AUTHORITIES, isWritable: false };
  return [...binds.filter(({ target }) => target !== AUTHORITIES), folder, bundle];
}
