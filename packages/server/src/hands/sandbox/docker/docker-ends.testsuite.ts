import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startOn } from "../../../core/ports/sandbox.testsuite.ts";
import type { ProviderWorld } from "../local/installation-world.ts";
import { findRecord } from "../local/process-record.ts";
import { containerName, inspectContainer } from "./containers.ts";
import { EngineClient } from "./engine-client.ts";

interface Engine {
  readonly folder: string;
  readonly socketPath: string;
}

/** How containers end where the engine has got stuck with them. */
export function testContainerEnds(
  title: string,
  engine: Engine,
  open: (engine: Pick<Engine, "socketPath">) => Promise<ProviderWorld>,
): void {
  describe(`ends of containers (${title})`, () => {
    const client = new EngineClient(engine);
    let before: Before;
    let world: ProviderWorld;
    beforeAll(async () => {
      before = await Before.open(engine);
      world = await open(before);
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      before.close();
    });
    const containerOf = (hand: string): string => {
      const record = findRecord(join(world.folder, "hands", hand));
      if (record === undefined || !("launch_id" in record)) throw new Error(`${hand} has none`);
      return containerName(record.launch_id);
    };
    const removed = (container: string) =>
      expect.poll(() => inspectContainer(client, container)).toBe(undefined);

    test("one that was paused ends, and its hand has another", async () => {
      const hand = "hand_paused";
      await using box = await startOn(world.provider, { hand });
      const container = containerOf(hand);
      await client.ask({ method: "POST", path: `/containers/${container}/pause` });
      await box.sandbox.close();
      await removed(container);
      await using next = await startOn(world.provider, { hand });
      expect((await next.sh("echo alive")).output).toBe("alive\n");
    });

    test("nobody waits for one that the engine does not remove, and it is tried again", async () => {
      const hand = "hand_left";
      const box = await startOn(world.provider, { hand });
      const container = containerOf(hand);
      before.refuseRemovals();
      await box[Symbol.asyncDispose]();
      expect(await inspectContainer(client, container)).toBeDefined();
      before.holdRemovals();
      await using beside = await startOn(world.provider);
      expect((await beside.sh("echo alive")).output).toBe("alive\n");
      // Those of other containers, which were about to be removed, are held too.
      await expect.poll(() => before.held).toContain(container);
      before.passAll();
      await expect
        .poll(async () => {
          await using _next = await startOn(world.provider);
          return await inspectContainer(client, container);
        })
        .toBe(undefined);
    });
  });
}

const REMOVAL = /^DELETE \/containers\/([^?]+)/;

/** Stands before an engine, whose removals of containers it can hold up. */
class Before {
  readonly socketPath: string;
  #removals: "pass" | "refuse" | "hold" = "pass";
  readonly #held = new Map<Socket, string>();
  readonly #close: () => void;

  static async open(engine: Engine): Promise<Before> {
    const server = createServer({ allowHalfOpen: true });
    const before = new Before(engine, () => server.close());
    server.on("connection", (socket) => before.#take(socket, engine.socketPath));
    await new Promise<void>((resolve) => server.listen(before.socketPath, resolve));
    return before;
  }

  private constructor({ folder }: Engine, close: () => void) {
    this.socketPath = join(folder, "before.sock");
    this.#close = close;
  }

  /** The containers whose removals wait for an answer. */
  get held(): readonly string[] {
    return [...this.#held.values()];
  }

  refuseRemovals(): void {
    this.#removals = "refuse";
  }

  holdRemovals(): void {
    this.#removals = "hold";
  }

  /** From now on; what waits is told that there is no answer. */
  passAll(): void {
    this.#removals = "pass";
    for (const socket of this.#held.keys()) socket.destroy();
  }

  close(): void {
    this.passAll();
    this.#close();
  }

  /** Every request has a connection of its own, and its first line comes at once. */
  #take(socket: Socket, socketPath: string): void {
    socket.on("error", () => undefined);
    socket.once("data", (head: Buffer) => {
      const removed = REMOVAL.exec(head.toString("latin1"))?.[1];
      if (this.#removals !== "pass" && removed !== undefined) {
        if (this.#removals === "refuse") return void socket.destroy();
        this.#held.set(socket, removed);
        return void socket.once("close", () => this.#held.delete(socket));
      }
      const engine = connect({ path: socketPath, allowHalfOpen: true });
      engine.on("error", () => socket.destroy());
      socket.once("close", () => engine.destroy());
      engine.write(head);
      socket.pipe(engine).pipe(socket);
    });
  }
}
