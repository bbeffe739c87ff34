import { StoreUnavailableError } from "../../core/errors.ts";

const UNREACHABLE = "The PostgreSQL server cannot be reached: start it, and writing goes on.";
const FULL = "The disk of the PostgreSQL server is full: make room, and writing goes on.";
const BUSY = "PostgreSQL takes no more connections: allow more or end some, and writing goes on.";
const READ_ONLY =
  "The database may only be read: make it writable, or name its primary server in DROVER_DATABASE.";
const LOCKED =
  "Another program keeps PostgreSQL's tables or Drover's lock on them: end it, and writing goes on.";
const REFUSED =
  "PostgreSQL refuses the connection: check the user, the password and the database in DROVER_DATABASE.";

/** By SQLSTATE, the longest that fits first. */
const SENTENCES: readonly (readonly [prefix: string, sentence: string])[] = [
  ["53300", BUSY],
  ["53200", "PostgreSQL has no memory left: give it some, and writing goes on."],
  ["53", FULL],
  ["58", "The disk of the PostgreSQL server fails: check it and the room on it."],
  ["08", UNREACHABLE],
  ["57P", UNREACHABLE],
  ["57014", "PostgreSQL did not answer in time: look at its load, and writing goes on."],
  ["25P03", "The server stood still in the middle of a write, which was given up: try again."],
  ["25006", READ_ONLY],
  ["55P03", LOCKED],
  ["28", REFUSED],
  ["3D000", REFUSED],
];

const NETWORK_CODES = [
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOENT",
  "EACCES",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
];

/** What `pg` itself says of a connection that is gone: these errors have no code. */
const NO_CONNECTION =
  /^(Connection terminated|Client |timeout expired|Query read timeout|timeout exceeded)/;

/** The error as callers get it, if it says that the database cannot be used at present. */
export function unavailable(error: unknown): StoreUnavailableError | undefined {
  if (error instanceof StoreUnavailableError) return error;
  const sentence = isConnectionLost(error) ? UNREACHABLE : sentenceOf(codeOf(error));
  return sentence === undefined ? undefined : new StoreUnavailableError(sentence, { cause: error });
}

/** True if the connection is gone, and with it whatever it was doing. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code === undefined) return NO_CONNECTION.test(error.message);
  return NETWORK_CODES.includes(code) || /^(08|57P|25P03)/.test(code);
}

function sentenceOf(code: string | undefined): string | undefined {
  return SENTENCES.find(([prefix]) => code?.startsWith(prefix))?.[1];
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
