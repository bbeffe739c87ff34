import type { PackageManager, ResultBlock } from "@drover/api";
import type { SandboxFacts } from "../sandboxes/facts.ts";
import type { ProviderName } from "../sandboxes/providers.ts";
import type { ToolSettings } from "../tools/tool-settings.ts";

/**
 * What a sandbox is made from, fixed when the session is created. Plain JSON and no secret: the same
 * recipe elsewhere makes the same sandbox.
 */
export interface Recipe {
  /** Who makes the sandbox. */
  readonly provider: ProviderName;
  readonly base: SandboxBase;
  /** What is installed before there is a sandbox; absent for nothing. */
  readonly packages?: PackageSet;
  readonly mounts: readonly Mount[];
  readonly network: SandboxNetwork;
  /** What the hand's own folders begin with; absent for nothing. */
  readonly checkpoint?: WorkspaceCheckpoint;
}

/** The root file system, shown read-only: whose programs a sandbox has. */
export type SandboxBase =
  /** The host's `/usr` and what of its `/etc` programs need. */
  | { readonly type: "host" }
  /** One that was built or taken in on the machine, by its name there. */
  | { readonly type: "built"; readonly name: string }
  /** A folder of the machine that its operator keeps. Absolute. */
  | { readonly type: "directory"; readonly path: string };

/** Names with their pins, as each manager writes them; in no order and without doubles. */
export type PackageSet = { readonly [M in PackageManager]?: readonly string[] };

/** An archive of a hand's folders, in the blob store of its workspace. */
export interface WorkspaceCheckpoint {
  /** Key in the blob store: lowercase hex SHA-256. */
  readonly sha256: string;
  readonly size_bytes: number;
}

/** Whom the programs of a sandbox may speak to. Whatever it says, no way leads to private addresses. */
export type SandboxNetwork =
  /** Only the sandbox's own loopback; also what recipes from before there was a network have. */
  | { readonly type: "none" }
  /** Every host of the public internet. */
  | { readonly type: "unrestricted" }
  /** Names and addresses in small letters; `*.example.com` is every name below `example.com`. */
  | {
      readonly type: "limited";
      readonly hosts: readonly string[];
      /** Set if the agent's MCP servers may be spoken to by their clients, also those that an update brings. */
      readonly mcp_servers?: true;
    };

export type Mount = FileMount | SkillMount | MemoryMount;

/** A stored blob shown read-only inside the sandbox. */
export interface FileMount {
  readonly type: "file";
  /** Absolute, normalised, under `/mnt/session/uploads/`. */
  readonly mount_path: string;
  /** Key in the blob store: lowercase hex SHA-256 of the content. */
  readonly sha256: string;
  readonly size_bytes: number;
  /** What its user calls it, for the model to be told; absent in recipes from before that. */
  readonly filename?: string;
}

/** The files of a skill's version, shown read-only inside the sandbox as the folder they are. */
export interface SkillMount {
  readonly type: "skill";
  /** `/mnt/skills/<name>`; the name is also that of the archive's one folder. */
  readonly mount_path: string;
  /** Key in the blob store of a zip archive: lowercase hex SHA-256. */
  readonly sha256: string;
  /** Of the archive. */
  readonly size_bytes: number;
  /** Among whose blobs it is: the session's workspace, or the skills that are there for all. */
  readonly source: "workspace" | "installed";
  /** What the model is told of it; no sandbox depends on it. At most 1,024 characters. */
  readonly description: string;
}

/**
 * A memory store shown inside the sandbox as a folder, whose files are its memories. They are no part of
 * the recipe: `MemoryCopies` brings them, and brings what others change.
 */
export interface MemoryMount {
  readonly type: "memory_store";
  /** `/mnt/memory/<slug>`. */
  readonly mount_path: string;
  readonly memory_store_id: string;
  /** What is written below a `read_write` one comes back with the results of calls. */
  readonly access: "read_write" | "read_only";
}

/** Where a call would run: which hand, and which life of the process that owns it. */
export interface HandsBoot {
  readonly hand_id: string;
  /**
   * Changes each time the owning process starts; what an earlier boot of the installation was doing is gone. It names
   * the installation, see `installationOf`.
   */
  readonly hands_boot: string;
  /** Of the data folder that the hand's files would be in. */
  readonly installation_id: string;
}

/** Which of the states that a hand's files were ever in a call is for. */
export interface HandFiles {
  /** Counts the times that they began anew: elsewhere, or from a checkpoint. From 1 on. */
  readonly line: number;
  /** True if calls have changed them since the checkpoint, so that they cannot begin anew unnoticed. */
  readonly is_ahead: boolean;
  /** What the line begins with if it has not begun here; absent for what the recipe says. */
  readonly checkpoint?: WorkspaceCheckpoint;
}

export interface HandCall {
  readonly workspaceId: string;
  readonly sessionId: string;
  /** The event id of the tool use; the same call is never run twice. */
  readonly callId: string;
  readonly handId: string;
  /** The boot recorded in the log when the call was journalled. */
  readonly handsBoot: string;
  /** The lease epoch of the caller; hands refuse one lower than they have seen for the session. */
  readonly epoch: number;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What the agent says of the tool, if it is one that has settings. */
  readonly settings?: ToolSettings;
  readonly recipe: Recipe;
  /** What is to lie below `/workspace` when the call runs; absent for nothing. */
  readonly repositories?: readonly RepositorySource[];
  /** Absent for a call that needs no sandbox, and for hands whose files are not kept account of. */
  readonly files?: HandFiles;
  /** By what the hands may ask for the session's credentials; absent for a session that has none. */
  readonly grant?: string;
}

/** A git repository of the session, as it is to be cloned now if it has not been. */
export interface RepositorySource {
  /** Of the session's resource. */
  readonly resource_id: string;
  /** `https://host/owner/name`, without credentials. */
  readonly url: string;
  /** Absolute, normalised, below `/workspace`. */
  readonly mount_path: string;
  /** Null for the default branch. */
  readonly checkout: RepositoryCheckout | null;
  /** Sealed for the resource's place; hands alone open it, when they use it. Absent without a token. */
  readonly sealed_token?: string;
}

export type RepositoryCheckout =
  | { readonly type: "branch"; readonly name: string }
  /** The full hash, in hexadecimal. */
  | { readonly type: "commit"; readonly sha: string };

/** Why a repository is not there; the call ran without it. */
export interface RepositoryProblem {
  readonly url: string;
  readonly type: RepositoryProblemType;
  /** A sentence for the session's user. */
  readonly message: string;
}

export const REPOSITORY_PROBLEMS = [
  /** No token, or one that was not taken. */
  "repository_authentication_error",
  /** The token's owner may not read it. */
  "repository_forbidden_error",
  "repository_not_found_error",
  /** It has no such branch or commit. */
  "repository_checkout_error",
  /** Everything else: its server, the way there, its size. */
  "repository_clone_error",
] as const;

export type RepositoryProblemType = (typeof REPOSITORY_PROBLEMS)[number];

/** What a hand's sandbox is made from. */
export interface HandOfSession extends Pick<HandCall, "workspaceId" | "handId" | "recipe"> {
  /** Which of the states of its files is meant, see `HandFiles`: of another nothing is given. Absent for any. */
  readonly line?: number;
}

/** A file found new or changed under `/mnt/session/outputs`, its content already in the blob store. */
export interface OutputFile {
  /** Relative to `/mnt/session/outputs`, with `/` between segments. */
  readonly path: string;
  readonly sha256: string;
  readonly size_bytes: number;
  /** Its place among what was found of the hand: newer is higher, also than anything of an earlier boot. */
  readonly found: number;
}

/** What a call has left that has no result of its own. */
export interface Recovered {
  /** All of the hand that are not committed. */
  readonly outputs: readonly OutputFile[];
  /** What differs in the hand's memory stores; absent for nothing. */
  readonly memory?: MemoryReport;
}

/**
 * Takes outputs that were found while a call runs. Resolves with whether they are committed: what is not
 * comes again. Never rejects.
 */
export type TakeOutputs = (outputs: readonly OutputFile[]) => Promise<boolean>;

/** What a sandbox's way out decided, for all connections of one kind since it was last told. */
export interface EgressRecord {
  /** A name, or an address where a program used one; `*` for those that were too many to be told apart. */
  readonly host: string;
  /** Null where a name was asked for and not given an address. */
  readonly port: number | null;
  /** `failed`: it was allowed, and there was no connection to be had. */
  readonly verdict: "allowed" | "refused" | "failed";
  /** In words; null for what was allowed. */
  readonly reason: string | null;
  /** Begun in this time; 0 where an earlier one goes on. */
  readonly connections: number;
  /** Sent by the sandbox. */
  readonly bytes_up: number;
  readonly bytes_down: number;
  /** Milliseconds that the ended connections were open, in sum. */
  readonly ms: number;
}

/**
 * What differs between a hand's copy of its memory stores and what was last known to be stored of it.
 * Each report has all that is not acknowledged yet, so that the newest makes the earlier ones needless.
 */
export interface MemoryReport {
  /** Of the copy: a hand that loses its folder begins another. */
  readonly copy_id: string;
  /** The place of the report among those of the copy: 1, 2, 3 … */
  readonly seq: number;
  readonly changes: readonly MemoryChange[];
  /** What is there and cannot become a memory as it is. */
  readonly unstored: readonly UnstoredFile[];
}

export interface MemoryChange {
  readonly memory_store_id: string;
  /** As a memory's: `/notes/a.md`. What a sandbox chose; to be checked. */
  readonly path: string;
  /**
   * SHA-256 of the contents that it was made from, lowercase hex, or null for none at all: what the
   * store has there now is replaced only if it is one of these.
   */
  readonly derived_from: readonly (string | null)[];
  /** Null if the file is gone. */
  readonly content: string | null;
}

export interface UnstoredFile {
  readonly memory_store_id: string;
  readonly path: string;
  readonly reason: UnstoredReason;
}

export const UNSTORED_REASONS = [
  "too_large",
  "not_text",
  "bad_path",
  "not_a_file",
  "unreadable",
  /** It was being written; the next call takes it. */
  "changing",
  /** There was more than fits into one result; the next call takes it. */
  "deferred",
  /** Files that were not even looked at; the path is the folder's. */
  "too_many",
  /** A memory that could not be written into the sandbox. */
  "not_shown",
] as const;
export type UnstoredReason = (typeof UNSTORED_REASONS)[number];

export type CallOutcome =
  | {
      readonly type: "result";
      readonly content: readonly ResultBlock[];
      readonly is_error: boolean;
      /** All of the hand that are not committed, also what earlier calls left. */
      readonly outputs: readonly OutputFile[];
      /** Of the hand's sandbox, since its last result: also what ran between two calls. */
      readonly egress?: readonly EgressRecord[];
      /** Of the call's sandbox; only with the first result from there. */
      readonly sandbox?: SandboxFacts;
      /** What was found changed in the hand's memory stores; absent for nothing. */
      readonly memory?: MemoryReport;
      /** Repositories that could not be had when this was tried for the call. */
      readonly repositories?: readonly RepositoryProblem[];
      /** Set if the call's MCP server said that it has other tools now. */
      readonly tools_changed?: true;
      /** True if the call was ended by `cancel`. */
      readonly cancelled: boolean;
    }
  /**
   * The boot that had the call is gone, and so is every process it had started. Whether and how far
   * the call ran cannot be known; nothing of it can still happen.
   */
  | { readonly type: "lost"; readonly message: string }
  /**
   * The boot that had the call was or is another installation's, and cannot be asked from here. Nothing is known of
   * the call, and it may still run there.
   */
  | { readonly type: "out_of_reach"; readonly message: string }
  /**
   * The call was not run: its hand's files are not here, and are more than the checkpoint of `HandCall.files`
   * has. With a higher `line` the next call begins with that.
   */
  | { readonly type: "files_gone" }
  /**
   * The call was not started by this attempt and never will be: the hands saw a higher epoch for the
   * session, the call was cancelled before it arrived, its result is settled already, or its hand
   * was disposed of.
   */
  | { readonly type: "refused"; readonly message: string }
  /**
   * No hands can be had, they have no room, or the wait was aborted. Nothing new is known about the
   * call: if it was sent before, it may have run. Executing it again under the same `handsBoot` is
   * safe and finds out.
   */
  | { readonly type: "unavailable"; readonly message: string };

/** The brain's view of everything that acts. What it promises is proved by `hands.testsuite.ts`. */
export interface Hands {
  /**
   * Finds or starts the process that owns `handId` and tells its boot, to be journalled before a call
   * is sent. Makes no sandbox. Rejects with `HandsUnavailableError` if none can be had in time.
   */
  locate(handId: string, signal: AbortSignal): Promise<HandsBoot>;
  /**
   * Sends the call, or re-attaches to it if these hands have it already, and waits for its end.
   * Never rejects. Aborting the signal stops the waiting, not the call. Outputs that are found while it
   * runs go to `takeOutputs`, one batch after another, each in time before the outcome.
   */
  execute(call: HandCall, signal: AbortSignal, takeOutputs?: TakeOutputs): Promise<CallOutcome>;
  /**
   * What a hand that lost its sandbox under a call has left, looked for anew. Starts hands and makes a sandbox if
   * there is none. Never rejects; empty if it cannot be had now.
   */
  recover(hand: HandOfSession, signal: AbortSignal): Promise<Recovered>;
  /**
   * Tells the hands that these outputs of the hand are committed: they are not given again. Never rejects;
   * where it is not heard they come once more.
   */
  settleOutputs(handId: string, outputs: readonly OutputFile[]): Promise<void>;
  /**
   * Ends the call and everything it started; its outcome comes out of `execute`, not from here. A
   * call that has not arrived yet is refused when it does. An epoch lower than the hands have seen is
   * ignored. Never rejects; a no-op for a boot that is gone and for a call that has ended.
   */
  cancel(call: Pick<HandCall, "sessionId" | "callId" | "handsBoot" | "epoch">): Promise<void>;
  /** Tells the hands that the call's result is committed to the log and may be forgotten. Never rejects. */
  settle(call: Pick<HandCall, "callId" | "handsBoot">): Promise<void>;
  /**
   * Ends the hand's calls and sandbox and deletes its workspace: its session was deleted. Later calls
   * to the hand are refused by this boot. Starts hands if none run, so only for a hand that had a
   * call. Never rejects; false if it could not be done now and is to be asked again.
   */
  dispose(handId: string): Promise<boolean>;
}

/** The outputs of hands that no call looks after. */
export interface LiveOutputs extends Pick<Hands, "settleOutputs"> {
  /**
   * The outputs of a hand that are not committed. Looked for anew if it has a sandbox that lives; makes none
   * and starts no hands. Gives what there is after some seconds. Never rejects.
   */
  lookAtOutputs(hand: HandOfSession, signal: AbortSignal): Promise<readonly OutputFile[]>;
}

/** No process that owns hands can be reached or started. The message says why and what to do. */
export class HandsUnavailableError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "HandsUnavailableError";
  }
}
