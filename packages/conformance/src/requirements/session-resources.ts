import { type Requirement, requirements } from "../requirement.ts";

/** What is mounted into sessions (§5.1, §5.2, §5.6). */
export const sessionResources: readonly Requirement[] = requirements({
  "resources.file.shape": ["5.1", "A file resource has id, file_id, mount_path and times."],
  "resources.file.default-path": [
    "5.2",
    "A file is mounted at /mnt/session/uploads/<file_id> by default.",
  ],
  "resources.file.copy": ["5.1", "A session gets its own copy of a file, under a new file_id."],
  "resources.file.unknown": ["5.2", "A file that is not there is refused."],
  "resources.file.mount-path": [
    "5.2",
    "A file's mount_path may be chosen, and no two resources share a place.",
  ],
  "resources.add.only-files": ["5.6", "`add` accepts a file and nothing else."],
  "resources.add.returns": ["5.6", "`add` returns the file resource, which the session then has."],
  "resources.add.null-path": ["5.6", "A null mount_path is as none."],
  "resources.retrieve": ["5.6", "A resource is retrieved by its id as it is listed."],
  "resources.list": ["5.6", "The list holds what the session shows, in pages."],
  "resources.delete": [
    "5.6",
    "Deleting answers {id, type: session_resource_deleted}, and the resource is gone.",
  ],
  "resources.delete.json": ["20.29", "Deleting a resource answers its tombstone as JSON with 200."],
  "resources.update.token-required": [
    "5.6",
    "An update takes an authorization_token and nothing else.",
  ],
  "resources.update.only-repositories": ["5.6", "Only a github_repository takes a new token."],
  "resources.unknown": ["5.6", "A resource that the session does not have is not found."],
});
