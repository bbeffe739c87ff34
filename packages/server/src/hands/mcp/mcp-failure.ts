export type McpFailureKind =
  /** The server, or the way there. */
  | "connection"
  /** It was reached, and takes no or another token. */
  | "authentication"
  /** It answered, and would not. */
  | "refusal";

/** What an MCP server, or the way to it, did wrong. The message is a sentence and holds no secret. */
export class McpFailure extends Error {
  readonly kind: McpFailureKind;
  /** True if nobody knows whether the server did what it was asked for. */
  readonly isUnknown: boolean;

  constructor(kind: McpFailureKind, message: string, { isUnknown }: { isUnknown: boolean }) {
    super(message);
    this.name = "McpFailure";
    this.kind = kind;
    this.isUnknown = isUnknown;
  }
}

/** Of a request that did not even begin. */
export function notSent(message: string): McpFailure {
  return new McpFailure("connection", message, { isUnknown: false });
}

/** The session of the server is gone, and what was asked for was not done. */
export class McpSessionLostError extends Error {}
