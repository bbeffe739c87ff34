import { type FileStat, SandboxGoneError } from "../../core/ports/sandbox.ts";
import type { AgentConnection } from "./agent-connection.ts";

/** Reads an answer field by field. An answer that is not what the agent sends ends the connection. */
export class AgentFields {
  readonly #fields: readonly Buffer[];
  readonly #connection: AgentConnection;
  #at = 0;

  constructor(fields: readonly Buffer[], connection: AgentConnection) {
    this.#fields = fields;
    this.#connection = connection;
  }

  get remaining(): number {
    return this.#fields.length - this.#at;
  }

  bytes(): Buffer {
    const field = this.#fields[this.#at];
    if (!field) return this.#fail();
    this.#at += 1;
    return field;
  }

  text(): string {
    return this.bytes().toString("utf8");
  }

  integer(): number {
    const value = this.text();
    const number = Number(value);
    return /^\d+$/.test(value) && Number.isSafeInteger(number) ? number : this.#fail();
  }

  /** The fields of a file's description. */
  stat(path: string): FileStat {
    const type = this.text();
    if (type !== "file" && type !== "directory" && type !== "symlink" && type !== "other") {
      return this.#fail();
    }
    const size_bytes = this.integer();
    const mtime_ms = this.#signedInteger();
    return { path, type, size_bytes, mtime_ms, version: this.text() };
  }

  /** Times before 1970 are possible. */
  #signedInteger(): number {
    const value = this.text();
    return /^-?\d{1,15}$/.test(value) ? Number(value) : 0;
  }

  #fail(): never {
    const why = "its agent sent an answer that makes no sense";
    this.#connection.fail(why);
    throw new SandboxGoneError(`the sandbox is gone: ${why}`);
  }
}

export function fieldsOf(fields: readonly Buffer[], connection: AgentConnection): AgentFields {
  return new AgentFields(fields, connection);
}
