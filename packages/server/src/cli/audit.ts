import type { CredentialUse } from "@drover/api";
import type { RunningServer } from "./running-server.ts";

export interface AuditFilter {
  readonly session?: string;
  readonly credential?: string;
}

/** Who used which credential for whom, the oldest first: one JSON object a line, page by page. */
export async function* audit(
  server: RunningServer,
  { session, credential }: AuditFilter,
): AsyncGenerator<string> {
  const query = { session_id: session, credential_id: credential, limit: "1000" };
  const pages = server.pages<CredentialUse>("/v1/drover/credential_uses", query);
  for await (const uses of pages) {
    for (const use of uses) yield JSON.stringify(use);
  }
}
