import type { Announcements } from "../core/ports/announcements.ts";
import type { Checkpoints } from "../core/ports/checkpoints.ts";
import type { Hands } from "../core/ports/hands.ts";
import type { McpServers } from "../core/ports/mcp-servers.ts";
import type { Model } from "../core/ports/model.ts";
import type { Store } from "../core/ports/store.ts";

/**
 * A process that dies at one of its steps. A step is a moment just before or just after it reaches
 * outside: an append, a claim, a model request, a call. Once dead, nothing that it calls happens and
 * nothing that it waits for comes, as for a process that was killed; unless it was only frozen, and
 * goes on where it was when it thaws.
 */
export class Mortal {
  readonly #killAt: number;
  #steps = 0;
  #isDead = false;
  readonly #died = Promise.withResolvers<void>();
  readonly #thawed = Promise.withResolvers<void>();
  readonly #onStep: (step: number) => void;
  /** The steps it took, by name, for the message of a failing test. */
  readonly trace: string[] = [];

  /** Dies at step `killAt`, counted from 1; 0 never. `onStep` is called at each step that it lives to see. */
  constructor(killAt: number, onStep: (step: number) => void = () => undefined) {
    this.#killAt = killAt;
    this.#onStep = onStep;
  }

  get died(): Promise<void> {
    return this.#died.promise;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** What was dead was frozen: it goes on with everything that it was doing. */
  thaw(): void {
    this.#isDead = false;
    this.#thawed.resolve();
  }

  async outside<T>(name: string, work: () => Promise<T>): Promise<T> {
    await this.#pass(`before ${name}`);
    const result = await work();
    await this.#pass(`after ${name}`);
    return result;
  }

  async #pass(name: string): Promise<void> {
    if (!this.#isDead) {
      this.#steps += 1;
      this.trace.push(name);
      this.#onStep(this.#steps);
      if (this.#steps !== this.#killAt) return;
      this.#isDead = true;
      this.#died.resolve();
    }
    await this.#thawed.promise;
  }
}

export function mortalStore(store: Store, mortal: Mortal): Store {
  return {
    events: store.events,
    sessions: store.sessions,
    agents: store.agents,
    environments: store.environments,
    files: store.files,
    memoryStores: store.memoryStores,
    vaults: store.vaults,
    credentials: store.credentials,
    credentialUses: store.credentialUses,
    encryptionKeys: store.encryptionKeys,
    skills: store.skills,
    apiKeys: store.apiKeys,
    hands: store.hands,
    workspaces: store.workspaces,
    write: (work) => mortal.outside("write", () => store.write(work)),
    writeUnsynced: (work) => mortal.outside("write", () => store.writeUnsynced(work)),
    failure: () => store.failure(),
    close: () => store.close(),
  };
}

export function mortalHands(hands: Hands, mortal: Mortal): Hands {
  return {
    locate: (id, signal) => mortal.outside("locate", () => hands.locate(id, signal)),
    execute: (call, signal, takeOutputs) =>
      mortal.outside("execute", () => hands.execute(call, signal, takeOutputs)),
    recover: (hand, signal) => mortal.outside("collect", () => hands.recover(hand, signal)),
    settleOutputs: (handId, outputs) =>
      mortal.outside("settle outputs", () => hands.settleOutputs(handId, outputs)),
    cancel: (call) => mortal.outside("cancel", () => hands.cancel(call)),
    settle: (call) => mortal.outside("settle", () => hands.settle(call)),
    dispose: (handId) => mortal.outside("dispose", () => hands.dispose(handId)),
  };
}

export function mortalMcpServers(servers: McpServers, mortal: Mortal): McpServers {
  return {
    listTools: (request, signal) =>
      mortal.outside("list tools", () => servers.listTools(request, signal)),
  };
}

export function mortalCheckpoints(checkpoints: Checkpoints, mortal: Mortal): Checkpoints {
  return {
    take: (hand, signal) => mortal.outside("checkpoint", () => checkpoints.take(hand, signal)),
  };
}

export function mortalModel(model: Model, mortal: Mortal): Model {
  const { count } = model;
  return {
    ...(count !== undefined && {
      count: (request, signal) => mortal.outside("count", () => count.call(model, request, signal)),
    }),
    respond: (request, observer, signal) =>
      mortal.outside("model", () => model.respond(request, observer, signal)),
  };
}

export function mortalAnnouncements(announcements: Announcements, mortal: Mortal): Announcements {
  return {
    publish: (announcement) => {
      if (!mortal.isDead) announcements.publish(announcement);
    },
    subscribe: (sessionId, listener) => announcements.subscribe(sessionId, listener),
    subscribeDue: (listener) => announcements.subscribeDue(listener),
  };
}
