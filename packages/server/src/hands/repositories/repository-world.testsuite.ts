import { existsSync } from "node:fs";
import { join } from "node:path";
import { CERTIFICATE, GitHost } from "@drover/testing";
import { expect } from "vitest";
import type { HandCall, RepositoryProblem, RepositorySource } from "../../core/ports/hands.ts";
import type { Sandbox } from "../../core/ports/sandbox.ts";
import { PolicyGuard } from "../../egress/destination-guard.ts";
import { EgressPolicy } from "../../egress/egress-policy.ts";
import { Secret } from "../../lib/secret.ts";
import { makeCall } from "../fake/make-call.ts";
import { ManualClock } from "../fake/manual-clock.ts";
import { type BubblewrapWorld, openBubblewrapWorld } from "../sandbox/bubblewrap/test-world.ts";
import { CLONE_LIMITS, type CloneLimits } from "./clone-repository.ts";
import { RepositoryKeeper } from "./repository-keeper.ts";

let hands = 0;

/** A session's sandbox, a git host, and the keeper between them. */
export class RepositoryWorld implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly reports: string[] = [];
  readonly server: GitHost;
  readonly sandboxes: BubblewrapWorld;
  readonly keeper: RepositoryKeeper;

  private constructor(server: GitHost, sandboxes: BubblewrapWorld, limits: CloneLimits) {
    this.server = server;
    this.sandboxes = sandboxes;
    const policy = new EgressPolicy({ allow: ["127.0.0.1"], ownAddresses: () => [] });
    this.keeper = new RepositoryKeeper({
      provider: sandboxes.provider,
      upstream: {
        guard: new PolicyGuard({ policy, resolve: async () => [] }),
        certificates: CERTIFICATE,
      },
      limits,
      // What is sealed is its binding and the token.
      secretBox: {
        open(sealed, binding) {
          const [place, token = ""] = sealed.split(" ");
          if (place !== binding) throw new Error("sealed for another place");
          return new Secret(token);
        },
      },
      clock: this.clock,
      report: (event, fields) => this.reports.push(`${event} ${String(fields["error"] ?? "")}`),
    });
  }

  static async open(limits: Partial<CloneLimits> = {}): Promise<RepositoryWorld> {
    const [server, sandboxes] = await Promise.all([GitHost.start(), openBubblewrapWorld()]);
    return new RepositoryWorld(server, sandboxes, { ...CLONE_LIMITS, ...limits });
  }

  /** A hand of its own with a sandbox, and a call that wants these repositories in it. */
  async session(...wanted: readonly WantedRepository[]): Promise<RepositorySession> {
    hands += 1;
    const handId = `hand_${hands}`;
    const call = makeCall({ handId, repositories: wanted.map((one) => this.#source(one)) });
    const { workspaceId, recipe } = call;
    const request = { workspaceId, handId, recipe };
    const sandbox = await this.sandboxes.provider.provision(request, new AbortController().signal);
    return new RepositorySession(this, sandbox, call);
  }

  /** Whether anything is left of a hand's provisioning sandbox. */
  isCloning(handId: string): boolean {
    return existsSync(join(this.sandboxes.folder, "hands", `${handId}-clone`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandboxes[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }

  #source({ name, token, url = this.server.url(name), ...rest }: WantedRepository) {
    const resource_id = `sesrsc_${name.replace(/\W/g, "_")}`;
    const source: RepositorySource = {
      resource_id,
      url,
      mount_path: rest.mount_path ?? `/workspace/${name.split("/")[1]}`,
      checkout: rest.checkout ?? null,
      ...(token !== undefined && { sealed_token: sealed(resource_id, token) }),
    };
    return source;
  }
}

export interface WantedRepository
  extends Partial<Pick<RepositorySource, "mount_path" | "checkout">> {
  /** `owner/name`. */
  readonly name: string;
  readonly token?: string;
  readonly url?: string;
}

export class RepositorySession {
  readonly sandbox: Sandbox;
  readonly #world: RepositoryWorld;
  #call: HandCall;

  constructor(world: RepositoryWorld, sandbox: Sandbox, call: HandCall) {
    this.#world = world;
    this.sandbox = sandbox;
    this.#call = call;
  }

  get handId(): string {
    return this.#call.handId;
  }

  /** What the keeper tells of the problems that it had. */
  async prepare(
    signal: AbortSignal = new AbortController().signal,
  ): Promise<readonly RepositoryProblem[]> {
    return await this.#world.keeper.prepare(this.sandbox, this.#call, signal);
  }

  /** Gives the one repository another token. */
  rotate(token: string): void {
    const repositories = (this.#call.repositories ?? []).map((source) => ({
      ...source,
      sealed_token: sealed(source.resource_id, token),
    }));
    this.#call = { ...this.#call, repositories };
  }

  /** The output of a command that is to succeed. */
  async bash(command: string): Promise<string> {
    const chunks: Uint8Array[] = [];
    const { exitCode } = await this.sandbox.exec(
      { command, timeoutMs: 20_000 },
      (chunk) => chunks.push(Uint8Array.from(chunk)),
      new AbortController().signal,
    );
    const output = Buffer.concat(chunks).toString().trim();
    expect([exitCode, output]).toEqual([0, output]);
    return output;
  }
}

function sealed(resourceId: string, token: string): string {
  return `wrkspc_1/sesn_1/${resourceId}/authorization_token ${token}`;
}
