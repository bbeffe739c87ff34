import type { SessionKey } from "../ports/event-log.ts";

/** The place that a repository's token is sealed for: it opens for this resource of this session alone. */
export function tokenBinding({ workspaceId, sessionId }: SessionKey, resourceId: string): string {
  return `${workspaceId}/${sessionId}/${resourceId}/authorization_token`;
}
