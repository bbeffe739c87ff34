import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import type { Need } from "./scenario.ts";

export interface TargetOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** A model that sessions may use; one that follows scripts, if `isScripted`. */
  readonly model: string;
  readonly isScripted: boolean;
  /** True if the server is on this machine and may connect to what scenarios open on it. */
  readonly canReachLoopback?: boolean;
  readonly readOnlyKey?: string | undefined;
  readonly otherWorkspaceKey?: string | undefined;
}

export interface WireRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, bytes and forms are sent as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Null: no key. Undefined: the usual one. */
  readonly key?: string | null;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed if it is JSON, else undefined. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers; scenarios assert its shape
  readonly body: any;
}

/** The server under test, as scenarios use it. */
export class Target {
  readonly options: TargetOptions;
  /** The official client with one attempt a call, so that a refusal is seen once. */
  readonly client: Anthropic;
  readonly #shared = new Map<string, Promise<unknown>>();
  readonly #streams = new Set<AbortController>();
  readonly #run = crypto.randomUUID().slice(0, 8);
  #count = 0;

  constructor(options: TargetOptions) {
    this.options = options;
    this.client = this.clientWith({});
  }

  /** For an agent's `model`. */
  get model(): string {
    return this.options.model;
  }

  has(need: Need): boolean {
    const { isScripted, canReachLoopback, readOnlyKey, otherWorkspaceKey } = this.options;
    if (need === "scripted-model") return isScripted;
    if (need === "loopback") return canReachLoopback === true;
    return (need === "read-only-key" ? readOnlyKey : otherWorkspaceKey) !== undefined;
  }

  /** The key of a `Need` that the scenario has declared. */
  key(need: "read-only-key" | "other-workspace"): string {
    const { readOnlyKey, otherWorkspaceKey } = this.options;
    const key = need === "read-only-key" ? readOnlyKey : otherWorkspaceKey;
    if (key === undefined) throw new Error(`the scenario does not say that it needs ${need}`);
    return key;
  }

  /** The official client with other options, such as retries or a `fetch` that counts. */
  clientWith(options: ClientOptions): Anthropic {
    const { baseUrl, apiKey } = this.options;
    return new Anthropic({ baseURL: baseUrl, apiKey, maxRetries: 0, ...options });
  }

  /** One request as it is, for what the official client would not send. */
  async request(method: string, path: string, wire: WireRequest = {}): Promise<WireAnswer> {
    const { apiKey, baseUrl } = this.options;
    const key = wire.key === undefined ? apiKey : wire.key;
    const headers = new Headers(key === null ? {} : { authorization: `Bearer ${key}` });
    const body = bodyOf(wire.body);
    if (body !== wire.body) headers.set("content-type", "application/json");
    for (const [name, value] of Object.entries(wire.headers ?? {})) headers.set(name, value);
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    const parsed: unknown = isJson && text !== "" ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, text, body: parsed };
  }

  /** Has the stream of this controller closed at the end of the run, if its scenario did not come to it. */
  closeAtEnd(stream: AbortController): void {
    this.#streams.add(stream);
  }

  /** Closes what failed scenarios have left open. */
  close(): void {
    for (const stream of this.#streams) stream.abort();
  }

  /** A name that nothing else on the server has. */
  unique(prefix: string): string {
    this.#count += 1;
    return `${prefix}-${this.#run}-${this.#count}`;
  }

  /** Makes something once for all scenarios of the run that only read it. */
  shared<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = this.#shared.get(name) ?? make();
    this.#shared.set(name, made);
    return made as Promise<T>;
  }
}

type RawBody = string | Uint8Array<ArrayBuffer> | FormData | undefined;

function bodyOf(body: unknown): RawBody {
  const isRaw =
    body === undefined ||
    typeof body === "string" ||
    body instanceof Uint8Array ||
    body instanceof FormData;
  return isRaw ? (body as RawBody) : JSON.stringify(body);
}
