import { OperatorError } from "../lib/operator-error.ts";

/** What a command could not do, in a sentence for the person who ran it. */
export function failureSentence(error: unknown): string {
  const chain = causes(error);
  const known = chain.find((cause) => cause instanceof OperatorError);
  if (known !== undefined) return known.message;
  for (const cause of chain) {
    const sentence = systemSentence(cause);
    if (sentence !== undefined) return sentence;
  }
  const whole = chain.find(({ message }) => isSentence(message));
  return whole?.message ?? `Drover stopped: ${chain.map(({ message }) => message).join(": ")}.`;
}

function isSentence(message: string): boolean {
  return /^[A-Z].*\.$/s.test(message);
}

/** The stacks of an error and its causes, for a person who looks for the reason in the program. */
export function failureStack(error: unknown): string {
  return causes(error)
    .map((cause) => cause.stack ?? cause.message)
    .join("\ncaused by ");
}

const CAUSES_MAX = 8;

function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  let next = error;
  while (next !== undefined && next !== null && chain.length < CAUSES_MAX) {
    const cause = next instanceof Error ? next : new Error(String(next));
    chain.push(cause);
    next = cause.cause;
  }
  return chain;
}

function systemSentence(error: Error): string | undefined {
  const code = "code" in error ? String(error.code) : "";
  const where = placeOf(error);
  switch (code) {
    case "EADDRINUSE":
      return `The address ${where} is taken by another program; stop it, or set DROVER_PORT to another port (0 for any free one).`;
    case "EADDRNOTAVAIL":
      return `The address ${where} is not one of this machine; set DROVER_HOST to one that is.`;
    case "ENOSPC":
    case "EDQUOT":
    case "SQLITE_FULL":
      return `The disk is full${where === "" ? "" : ` (${where})`}; free some space and start again.`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "SQLITE_READONLY":
    case "SQLITE_CANTOPEN":
    case "SQLITE_PERM":
      return `Permission is missing for ${where || "the data folder"}; mend it, or set DROVER_DATA to a folder this user may write.`;
    case "ENOTDIR":
    case "EEXIST":
      return `${where || "The data folder"} is in the way: it is not a folder; set DROVER_DATA to one.`;
    default:
      return undefined;
  }
}

function placeOf(error: Error): string {
  if ("path" in error && typeof error.path === "string") return error.path;
  if ("address" in error && "port" in error) return `${error.address}:${error.port}`;
  return "";
}
