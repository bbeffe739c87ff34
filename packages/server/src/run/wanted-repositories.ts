import { GithubRepositoryResource } from "@drover/api";
import type { RepositorySource } from "../core/ports/hands.ts";
import type { SessionReader, SessionRecord } from "../core/ports/sessions.ts";

/**
 * The repositories that the session's sandbox is to have, with their tokens as they are now: a token that
 * was replaced reaches the next call. They stay sealed; only hands open them.
 */
export async function wantedRepositories(
  session: SessionRecord,
  sessions: Pick<SessionReader, "findRepositoryToken">,
): Promise<readonly RepositorySource[]> {
  const key = { workspaceId: session.workspace_id, sessionId: session.id };
  const attached = session.resources.filter(({ type }) => type === "github_repository");
  return await Promise.all(
    attached.map(async (resource) => {
      const { id, url, mount_path, checkout = null } = GithubRepositoryResource.parse(resource);
      const sealed = await sessions.findRepositoryToken(key, id);
      const source = { resource_id: id, url, mount_path, checkout };
      return sealed === undefined ? source : { ...source, sealed_token: sealed };
    }),
  );
}
