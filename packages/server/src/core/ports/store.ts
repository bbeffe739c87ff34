import type { CredentialUses, CredentialUseWriter } from "./credential-uses.ts";
import type { EncryptionKeys, EncryptionKeyWriter, SealedTexts } from "./encryption.ts";
import type { EventReader, EventWriter } from "./event-log.ts";
import type { HandRecords, HandRecordWriter } from "./hand-records.ts";
import type { MemoryStores, MemoryStoreWriter } from "./memory-stores.ts";
import type {
  Agents,
  AgentWriter,
  AnsweredRequests,
  ApiKeys,
  ApiKeyWriter,
  Environments,
  EnvironmentWriter,
  Files,
  FileWriter,
  LooseBlobs,
} from "./records.ts";
import type { ServerKeys } from "./server-keys.ts";
import type { SessionCopies } from "./session-copies.ts";
import type { SessionQueue, SessionReader, SessionWriter } from "./sessions.ts";
import type { Skills, SkillWriter } from "./skills.ts";
import type { Credentials, CredentialWriter, Vaults, VaultWriter } from "./vaults.ts";
import type { Workspaces, WorkspaceWriter } from "./workspaces.ts";

/**
 * Everything durable but the blobs: the log, the records, the queue.
 *
 * What every implementation promises (proved by the `*.testsuite.ts` beside the ports):
 * - `write` makes all effects of its work durable together, or none if the work rejects; it resolves
 *   after the commit is on disk. Concurrent writes behave as if one ran after the other, those of one
 *   process in the order in which they were asked for, those of other processes in between.
 * - A work changes nothing but through its transaction: it may be run and yet not take effect.
 * - A failing write never fails another one that was grouped into the same commit.
 * - Reads see every write that has resolved.
 * - When the disk is full or the database cannot be written, `write` rejects with
 *   `StoreUnavailableError`, nothing is stored, and a later write works again once there is room.
 * - Sessions touched by a write are announced after its commit, in `seq` order.
 */
export interface Store {
  readonly events: EventReader;
  readonly sessions: SessionReader;
  readonly agents: Agents;
  readonly environments: Environments;
  readonly files: Files;
  readonly memoryStores: MemoryStores;
  readonly vaults: Vaults;
  readonly credentials: Credentials;
  readonly credentialUses: CredentialUses;
  readonly encryptionKeys: EncryptionKeys;
  readonly skills: Skills;
  readonly apiKeys: ApiKeys;
  readonly hands: HandRecords;
  readonly workspaces: Workspaces;
  /**
   * The work must await nothing but the transaction: others wait for it. It is failed if it does. What
   * a statement rejects with ends it: on PostgreSQL nothing more can be done in the work.
   */
  write<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
  /**
   * As `write`, but may resolve before the commit is on disk. It survives the death of the process; a
   * loss of power may take it, yet never without everything that was written after it. For what would
   * only be done again.
   */
  writeUnsynced<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;
  /**
   * Undefined while writes work; otherwise a sentence that says why they do not. Any `write`, even of
   * a work that does nothing, finds out whether they work again.
   */
  failure(): string | undefined;
  close(): Promise<void>;
}

/** Reads in it see its own writes. */
export interface StoreTransaction {
  readonly events: EventWriter & EventReader;
  readonly sessions: SessionWriter & SessionReader;
  readonly queue: SessionQueue;
  readonly copies: SessionCopies;
  readonly agents: AgentWriter;
  readonly environments: EnvironmentWriter;
  readonly files: FileWriter;
  readonly memoryStores: MemoryStoreWriter;
  readonly skills: SkillWriter;
  readonly looseBlobs: LooseBlobs;
  readonly vaults: VaultWriter;
  readonly credentials: CredentialWriter;
  readonly credentialUses: CredentialUseWriter;
  readonly encryptionKeys: EncryptionKeyWriter;
  readonly sealedTexts: SealedTexts;
  readonly apiKeys: ApiKeyWriter;
  readonly hands: HandRecordWriter;
  readonly workspaces: WorkspaceWriter;
  readonly answeredRequests: AnsweredRequests;
  readonly serverKeys: ServerKeys;
  /** RFC 3339 with milliseconds; the same throughout the transaction. */
  readonly now: string;
}
