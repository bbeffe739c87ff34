import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CERTIFICATE, CERTIFICATE_KEY } from "./certificate.ts";

/** Nothing of whoever runs the tests. */
const ENVIRONMENT = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

const SMART = /^\/([\w.-]+\/[\w.-]+)\/(info\/refs|git-upload-pack|git-receive-pack)$/;

/** What a server says to a request in place of git, or undefined. */
type Interception = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * A git host on loopback: https with a certificate that tests know, real repositories served by git's own
 * `http-backend`, and tokens for those that are private.
 */
export class GitHost implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "drover-git-"));
  /** Method, path and query, and whether a credential came along, of each request. */
  readonly requests: { readonly line: string; readonly authorization: string | undefined }[] = [];
  /** Who may read a private repository, by its name. */
  readonly tokens = new Map<string, { readonly takes: string; readonly refuses?: number }>();
  /** Sees each request first. */
  intercept: Interception = () => false;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) =>
      this.#serve(request, response),
    );
  }

  static async start(): Promise<GitHost> {
    const server = new GitHost();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** As sessions name it: by its address, or by a name that a test resolves. */
  url(name: string, host = "127.0.0.1"): string {
    return `https://${host}:${this.port}/${name}`;
  }

  /** Makes a repository with one commit of these files, and gives the commit. */
  repository(name: string, files: Readonly<Record<string, string>>): string {
    mkdirSync(this.#path(name), { recursive: true });
    this.git(name, "init", "--quiet", "--initial-branch=main");
    this.git(name, "config", "user.name", "Someone");
    this.git(name, "config", "user.email", "someone@example.com");
    return this.commit(name, files);
  }

  /** Adds a commit to the branch that is checked out. */
  commit(name: string, files: Readonly<Record<string, string>>): string {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.#path(name), path)), { recursive: true });
      writeFileSync(join(this.#path(name), path), content);
    }
    this.git(name, "add", "--all");
    this.git(name, "commit", "--quiet", "--allow-empty", "--message", "A commit");
    return this.git(name, "rev-parse", "HEAD");
  }

  git(name: string, ...args: readonly string[]): string {
    const env = ENVIRONMENT;
    return execFileSync("git", ["-C", this.#path(name), ...args], { env, encoding: "utf8" }).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.folder, name);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { authorization } = request.headers;
    this.requests.push({ line: `${request.method} ${request.url}`, authorization });
    if (this.intercept(request, response)) return;
    const url = new URL(request.url ?? "/", "https://git.test");
    const [, name, service] = SMART.exec(url.pathname) ?? [];
    if (name === undefined || service === undefined) return void response.writeHead(404).end();
    const status = this.#refusal(name, authorization);
    if (status !== undefined) {
      const headers = status === 401 ? { "www-authenticate": 'Basic realm="git"' } : {};
      return void response.writeHead(status, headers).end("refused");
    }
    this.#backend(request, response, { name, service, query: url.search.slice(1) });
  }

  #refusal(name: string, authorization: string | undefined): number | undefined {
    const rule = this.tokens.get(name);
    if (rule === undefined) return undefined;
    const pair = Buffer.from((authorization ?? "").replace(/^Basic /, ""), "base64").toString();
    if (pair === `x-access-token:${rule.takes}`) return undefined;
    return authorization === undefined ? 401 : (rule.refuses ?? 401);
  }

  #backend(
    request: IncomingMessage,
    response: ServerResponse,
    { name, service, query }: { name: string; service: string; query: string },
  ): void {
    const { headers } = request;
    const child = spawn("git", ["http-backend"], {
      env: {
        ...ENVIRONMENT,
        GIT_PROJECT_ROOT: this.folder,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_COUNT: "2",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        GIT_CONFIG_KEY_1: "http.receivepack",
        GIT_CONFIG_VALUE_1: "true",
        PATH_INFO: `/${name}/.git/${service}`,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: headers["content-type"],
        HTTP_CONTENT_ENCODING: headers["content-encoding"],
        GIT_PROTOCOL: String(headers["git-protocol"] ?? ""),
        REMOTE_ADDR: "127.0.0.1",
      },
      stdio: ["pipe", "pipe", "ignore"],
    });
    request.pipe(child.stdin);
    child.stdin.on("error", () => undefined);
    response.on("close", () => child.kill());
    let head = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      child.stdout.off("data", onData);
      const lines = head.subarray(0, end).toString().split("\r\n");
      const pairs = lines.map((line) => line.split(/:\s*/, 2) as [string, string]);
      const { Status: status = "200", ...rest } = Object.fromEntries(pairs);
      response.writeHead(Number.parseInt(status, 10), rest);
      response.write(head.subarray(end + 4));
      child.stdout.pipe(response);
    };
    child.stdout.on("data", onData);
  }
}
