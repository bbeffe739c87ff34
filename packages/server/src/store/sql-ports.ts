import type { Store, StoreTransaction } from "../core/ports/store.ts";
import {
  archiveAgent,
  findAgent,
  listAgents,
  listAgentVersions,
  putAgent,
} from "./queries/agents.ts";
import {
  findAnsweredRequest,
  pruneAnsweredRequests,
  putAnsweredRequest,
} from "./queries/answered-requests.ts";
import {
  findApiKey,
  insertApiKey,
  listApiKeys,
  listApiKeysPage,
  revokeApiKey,
} from "./queries/api-keys.ts";
import { appendEvents, appendReceipts } from "./queries/append-events.ts";
import { findCheckpoint } from "./queries/checkpoints.ts";
import { credentialUseReader, credentialUseWriter } from "./queries/credential-uses.ts";
import { credentialReader, credentialWriter } from "./queries/credentials.ts";
import { encryptionKeyReader, encryptionKeyWriter } from "./queries/encryption-keys.ts";
import {
  deleteEnvironment,
  findEnvironment,
  insertEnvironment,
  isEnvironmentUsed,
  listEnvironments,
  updateEnvironment,
} from "./queries/environments.ts";
import {
  countContentBytes,
  deleteFile,
  deleteFilesOfSession,
  findFile,
  findFiles,
  insertFile,
  isContentReferenced,
  listFiles,
  purgeExpiredFiles,
  putOutputFile,
} from "./queries/files.ts";
import { handReader, handWriter } from "./queries/hands.ts";
import { acceptInput, readInbox } from "./queries/inbox.ts";
import { listSessions } from "./queries/list-sessions.ts";
import { addLooseBlob, listLooseBlobs, removeLooseBlob } from "./queries/loose-blobs.ts";
import { memoryStoreReader, memoryStoreWriter } from "./queries/memory-stores.ts";
import { findEventSeq, readEvents } from "./queries/read-events.ts";
import { sealedTexts } from "./queries/sealed-texts.ts";
import { serverKeys } from "./queries/server-keys.ts";
import { sessionCopies } from "./queries/session-copies.ts";
import {
  claimSessions,
  nextDue,
  releaseSession,
  renewLeases,
  takeOverLeases,
  takeOverLostLeases,
  wakeSession,
} from "./queries/session-queue.ts";
import {
  attachStream,
  attendInput,
  deleteSession,
  findRepositoryToken,
  findSession,
  insertSession,
  putRepositoryToken,
  swapHands,
  updateSession,
} from "./queries/sessions.ts";
import { skillReader, skillWriter } from "./queries/skills.ts";
import { listUndisposed, setDisposed } from "./queries/undisposed-hands.ts";
import { vaultReader, vaultWriter } from "./queries/vaults.ts";
import { workspaceReader, workspaceWriter } from "./queries/workspaces.ts";
import type { SqlRunner, SqlTransaction } from "./sql.ts";

type Readers = Omit<Store, "write" | "writeUnsynced" | "failure" | "close">;

/** The reading half of the ports, as statements on one connection. */
export function readersOf(db: SqlRunner): Readers {
  return {
    events: eventReader(db),
    sessions: sessionReader(db),
    agents: agentReader(db),
    environments: environmentReader(db),
    files: fileReader(db),
    memoryStores: memoryStoreReader(db),
    vaults: vaultReader(db),
    credentials: credentialReader(db),
    credentialUses: credentialUseReader(db),
    encryptionKeys: encryptionKeyReader(db),
    skills: skillReader(db),
    apiKeys: apiKeyReader(db),
    hands: handReader(db),
    workspaces: workspaceReader(db),
  };
}

function eventReader(db: SqlRunner): Readers["events"] {
  return {
    getEvents: (key, range) => readEvents(db, key, range),
    findSeq: (key, eventId) => findEventSeq(db, key, eventId),
    getInbox: (key) => readInbox(db, key),
  };
}

function sessionReader(db: SqlRunner): Readers["sessions"] {
  return {
    find: (key) => findSession(db, key),
    list: (workspaceId, filter, page) => listSessions(db, workspaceId, filter, page),
    findCheckpoint: (key) => findCheckpoint(db, key),
    findRepositoryToken: (key, resourceId) => findRepositoryToken(db, key, resourceId),
  };
}

function agentReader(db: SqlRunner): Readers["agents"] {
  return {
    find: (workspaceId, id, version) => findAgent(db, workspaceId, id, version),
    list: (workspaceId, filter, page) => listAgents(db, workspaceId, filter, page),
    listVersions: (workspaceId, id, page) => listAgentVersions(db, workspaceId, id, page),
  };
}

function environmentReader(db: SqlRunner): Readers["environments"] {
  return {
    find: (workspaceId, id) => findEnvironment(db, workspaceId, id),
    list: (workspaceId, filter, page) => listEnvironments(db, workspaceId, filter, page),
  };
}

function fileReader(db: SqlRunner): Readers["files"] {
  return {
    find: (workspaceId, id) => findFile(db, workspaceId, id),
    findMany: (workspaceId, ids) => findFiles(db, workspaceId, ids),
    list: (workspaceId, filter, page) => listFiles(db, workspaceId, filter, page),
  };
}

function apiKeyReader(db: SqlRunner): Readers["apiKeys"] {
  return {
    findBySha256: (keySha256) => findApiKey(db, keySha256),
    list: (workspaceId) => listApiKeys(db, workspaceId),
    listPage: (workspaceId, page) => listApiKeysPage(db, workspaceId, page),
  };
}

/**
 * The ports of one transaction, each made when it is asked for: a work uses one or two of them, and
 * making all took as long as the rest of an append in JavaScript.
 */
export class SqlStoreTransaction implements StoreTransaction {
  readonly #tx: SqlTransaction;

  constructor(tx: SqlTransaction) {
    this.#tx = tx;
  }

  get now(): string {
    return this.#tx.now;
  }

  get events(): StoreTransaction["events"] {
    const tx = this.#tx;
    return {
      ...eventReader(tx.db),
      append: (request) => appendEvents(tx, request),
      appendReceipts: (key, drafts) => appendReceipts(tx, key, drafts),
      accept: (key, drafts) => acceptInput(tx, key, drafts),
    };
  }

  get sessions(): StoreTransaction["sessions"] {
    const tx = this.#tx;
    return {
      ...sessionReader(tx.db),
      insert: (session) => insertSession(tx, session),
      // A transaction of SQLite has the whole database; PostgreSQL's will say `for update`.
      lock: (key) => findSession(tx.db, key),
      update: (key, patch) => updateSession(tx, key, patch),
      putRepositoryToken: (key, resourceId, sealed) =>
        putRepositoryToken(tx, key, { resourceId, sealed }),
      delete: (key) => deleteSession(tx, key),
      swapHands: (workspaceId, ids) => swapHands(tx, workspaceId, ids),
      listUndisposed: (page) => listUndisposed(tx, page),
      setDisposed: (key) => setDisposed(tx, key),
      attachStream: (key, withinMs) => attachStream(tx, key, withinMs),
      attendInput: (key, until) => attendInput(tx, key, until),
    };
  }

  get queue(): StoreTransaction["queue"] {
    const tx = this.#tx;
    return {
      claim: (request) => claimSessions(tx, request),
      renew: (request) => renewLeases(tx, request),
      release: (request) => releaseSession(tx, request),
      wake: (key) => wakeSession(tx, key),
      takeOver: (holder) => takeOverLeases(tx, holder),
      takeOverLost: (holder) => takeOverLostLeases(tx, holder),
      nextDue: () => nextDue(tx),
    };
  }

  get copies(): StoreTransaction["copies"] {
    return sessionCopies(this.#tx);
  }

  get agents(): StoreTransaction["agents"] {
    const tx = this.#tx;
    return {
      ...agentReader(tx.db),
      put: (agent) => putAgent(tx, agent),
      archive: (workspaceId, id, archivedAt) => archiveAgent(tx, workspaceId, id, archivedAt),
    };
  }

  get environments(): StoreTransaction["environments"] {
    const tx = this.#tx;
    return {
      ...environmentReader(tx.db),
      insert: (environment) => insertEnvironment(tx, environment),
      update: (environment) => updateEnvironment(tx, environment),
      delete: (workspaceId, id) => deleteEnvironment(tx, workspaceId, id),
      isUsed: (workspaceId, id) => isEnvironmentUsed(tx, workspaceId, id),
    };
  }

  get files(): StoreTransaction["files"] {
    const tx = this.#tx;
    return {
      ...fileReader(tx.db),
      insert: (file) => insertFile(tx, file),
      putOutput: (file) => putOutputFile(tx, file),
      delete: (workspaceId, id) => deleteFile(tx, workspaceId, id),
      deleteOfSession: (workspaceId, sessionId) => deleteFilesOfSession(tx, workspaceId, sessionId),
      purgeExpired: (before, limit) => purgeExpiredFiles(tx, before, limit),
      contentBytes: (workspaceId) => countContentBytes(tx, workspaceId),
      isReferenced: (workspaceId, sha256) => isContentReferenced(tx, workspaceId, sha256),
    };
  }

  get memoryStores(): StoreTransaction["memoryStores"] {
    return memoryStoreWriter(this.#tx);
  }

  get skills(): StoreTransaction["skills"] {
    return skillWriter(this.#tx);
  }

  get looseBlobs(): StoreTransaction["looseBlobs"] {
    const tx = this.#tx;
    return {
      add: (workspaceId, sha256) => addLooseBlob(tx, workspaceId, sha256),
      list: (before, limit) => listLooseBlobs(tx, before, limit),
      remove: (blob) => removeLooseBlob(tx, blob),
    };
  }

  get vaults(): StoreTransaction["vaults"] {
    return vaultWriter(this.#tx);
  }

  get credentials(): StoreTransaction["credentials"] {
    return credentialWriter(this.#tx);
  }

  get credentialUses(): StoreTransaction["credentialUses"] {
    return credentialUseWriter(this.#tx);
  }

  get encryptionKeys(): StoreTransaction["encryptionKeys"] {
    return encryptionKeyWriter(this.#tx);
  }

  get sealedTexts(): StoreTransaction["sealedTexts"] {
    return sealedTexts(this.#tx);
  }

  get apiKeys(): StoreTransaction["apiKeys"] {
    const tx = this.#tx;
    return {
      ...apiKeyReader(tx.db),
      insert: (key) => insertApiKey(tx, key),
      revoke: (workspaceId, id, revokedAt) => revokeApiKey(tx, workspaceId, id, revokedAt),
    };
  }

  get hands(): StoreTransaction["hands"] {
    return handWriter(this.#tx);
  }

  get workspaces(): StoreTransaction["workspaces"] {
    return workspaceWriter(this.#tx);
  }

  get answeredRequests(): StoreTransaction["answeredRequests"] {
    const tx = this.#tx;
    return {
      find: (workspaceId, requestKey, since) =>
        findAnsweredRequest(tx, workspaceId, requestKey, since),
      put: (request) => putAnsweredRequest(tx, request),
      prune: (before, limit) => pruneAnsweredRequests(tx, before, limit),
    };
  }

  get serverKeys(): StoreTransaction["serverKeys"] {
    return serverKeys(this.#tx);
  }
}
