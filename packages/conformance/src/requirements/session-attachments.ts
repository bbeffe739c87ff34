import { type Requirement, requirements } from "../requirement.ts";

/** Repositories, memory stores and vaults of sessions (§5.1, §5.2, §5.6). */
export const sessionAttachments: readonly Requirement[] = requirements({
  "resources.repository.shape": [
    "5.1",
    "A repository has id, url, mount_path, checkout and times.",
  ],
  "resources.repository.default-path": [
    "5.2",
    "A repository is mounted at /workspace/<repo> by default.",
  ],
  "resources.repository.token-secret": ["5.1", "A repository's token is never returned."],
  "resources.repository.token-optional": ["5.2", "A repository needs no token."],
  "resources.repository.checkout": [
    "5.1",
    "A checkout names a branch or a commit, and may be null.",
  ],
  "resources.repository.url": ["5.2", "A repository's URL is checked."],
  "resources.repository.rotate": [
    "5.6",
    "`update` gives a repository a new token and answers the resource.",
  ],
  "resources.repository.error": [
    "6.5",
    "A repository that cannot be had is told by a session.error that is retrying and names its URL; the session goes on.",
  ],
  "resources.memory.shape": [
    "5.1",
    "A memory store has its store's id, access, instructions, name, description and mount_path, and neither id nor times.",
  ],
  "resources.memory.mount-path": [
    "5.1",
    "A memory store is mounted at /mnt/memory/<slug of its name>.",
  ],
  "resources.memory.snapshot": [
    "5.1",
    "Name and description are those of the time when it was attached.",
  ],
  "resources.life.snapshot": [
    "16",
    "A session's snapshot of a memory store's name is unaffected by later edits.",
  ],
  "resources.memory.access": ["5.2", "Access is read_write unless read_only is asked for."],
  "resources.memory.instructions": ["5.2", "Instructions have at most 4096 characters."],
  "resources.quota.instructions": ["16", "Instructions for a memory store have 4096 characters."],
  "resources.memory.archived": ["5.2", "An archived memory store cannot be used for new sessions."],
  "resources.memory.unknown": ["5.2", "A memory store that is not there is refused."],
  "resources.memory.max": ["5.2", "A session has at most 8 memory stores."],
  "resources.memory.address": ["20.32", "A memory store is addressed by its store's id."],
  "resources.memory.kept": ["5.6", "A memory store takes no token."],
  "sessions.list.memory-store": [
    "5.4",
    "memory_store_id matches the sessions that it is attached to.",
  ],
  "sessions.create.vaults": ["5.2", "vault_ids are kept in their order and shown."],
  "sessions.create.vault-unknown": ["5.2", "A vault that is not there is refused."],
});
