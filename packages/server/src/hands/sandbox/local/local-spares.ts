import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type ProvisionRequest,
  type Sandbox,
  SandboxUnavailableError,
} from "../../../core/ports/sandbox.ts";
import type { SpareRequest, SpareSandbox, Spares } from "../../../core/ports/spares.ts";
import type { ProviderName } from "../../../core/sandboxes/providers.ts";
import { failPoint } from "../../../lib/fail-point.ts";
import { notePath } from "../../checkpoints/hand-note.ts";
import type { SandboxExitOptions } from "../../egress/sandbox-exit.ts";
import { canBeFolder, HandFolder } from "./hand-folder.ts";
import type { HandTurns } from "./hand-turns.ts";
import type { MadeSandbox } from "./local-provider.ts";
import { moveHand } from "./move-hand.ts";
import type { SandboxLauncher } from "./sandbox-launcher.ts";
import { UploadTree } from "./upload-tree.ts";

type Exit = Omit<SandboxExitOptions, "listeners">;

/** How the provider whose spares they are does its work. */
export interface LocalSparesOptions {
  readonly handsFolder: string;
  readonly turns: HandTurns;
  readonly blobPath: (workspaceId: string, sha256: string) => string;
  /** Throws for one that makes none any more. */
  readonly launcherOf: (name: ProviderName) => SandboxLauncher;
  readonly exitOf: (request: ProvisionRequest) => Exit | undefined;
  readonly make: (request: ProvisionRequest, signal: AbortSignal) => Promise<MadeSandbox>;
  readonly become: (
    made: MadeSandbox,
    request: ProvisionRequest,
    exit: Exit | undefined,
  ) => Sandbox;
  /** Ends what its record names, and deletes its folder. */
  readonly remove: (spareId: string) => Promise<void>;
}

const SPARE_ID = /^spare-[0-9a-f]{16}$/;
/** What is noted of a hand's files before there are any. */
const NOTED: ReadonlySet<string> = new Set([basename(notePath("/"))]);

/** Whether the folder of that name is no hand's. */
export function isSpareId(name: string): boolean {
  return SPARE_ID.test(name);
}

/** Sandboxes in folders beside those of the hands, whose they can become. */
export class LocalSpares implements Spares {
  readonly #options: LocalSparesOptions;
  /** Of those that are this process's. */
  readonly #ids = new Set<string>();

  constructor(options: LocalSparesOptions) {
    this.#options = options;
  }

  has(spareId: string): boolean {
    return this.#ids.has(spareId);
  }

  refusal(provider: ProviderName): string | undefined {
    try {
      if (this.#options.launcherOf(provider).followsRenames) return undefined;
      return `what sandboxes of ${provider} are shown here is lost when its folder is renamed`;
    } catch (error) {
      if (error instanceof SandboxUnavailableError) return error.message;
      throw error;
    }
  }

  isNew(handId: string): boolean {
    if (!canBeFolder(handId)) return false;
    const { path } = new HandFolder(this.#options.handsFolder, handId);
    return !existsSync(path) || readdirSync(path).every((name) => NOTED.has(name));
  }

  async make({ recipe, outfit }: SpareRequest, signal: AbortSignal): Promise<SpareSandbox> {
    const { make, remove } = this.#options;
    const spareId = `spare-${randomBytes(8).toString("hex")}`;
    this.#ids.add(spareId);
    try {
      // Nothing is mounted, so that no workspace's blobs are looked at.
      const request = { workspaceId: spareId, handId: spareId, recipe };
      const made = await make({ ...request, ...(outfit !== undefined && { outfit }) }, signal);
      failPoint("hands.warm.after_make");
      return this.#spare(spareId, made, outfit);
    } catch (cause) {
      await remove(spareId).finally(() => this.#ids.delete(spareId));
      if (cause instanceof SandboxUnavailableError) throw cause;
      throw new SandboxUnavailableError("no sandbox could be made ahead", { cause });
    }
  }

  #spare(spareId: string, made: MadeSandbox, outfit: SpareRequest["outfit"]): SpareSandbox {
    const { agent } = made;
    let isAdopted = false;
    return {
      closed: agent.closed,
      adopt: async (request, signal) => {
        const isFit = () =>
          !agent.isEnding &&
          !signal.aborted &&
          request.gate === undefined &&
          request.secrets === undefined &&
          isDeepStrictEqual(request.outfit, outfit) &&
          this.isNew(request.handId);
        const sandbox = await this.#options.turns.take(request.handId, async () =>
          isFit() ? await this.#adopt(spareId, made, request) : undefined,
        );
        isAdopted = sandbox !== undefined;
        return sandbox;
      },
      close: async () => {
        if (isAdopted) return;
        await agent.end();
        failPoint("hands.warm.after_end");
        await this.#options.remove(spareId);
        this.#ids.delete(spareId);
      },
    };
  }

  /** In the hand's turn. */
  async #adopt(spareId: string, made: MadeSandbox, request: ProvisionRequest): Promise<Sandbox> {
    const { handsFolder, exitOf, become } = this.#options;
    const { handId, recipe } = request;
    const { agent } = made;
    const from = new HandFolder(handsFolder, spareId);
    const to = new HandFolder(handsFolder, handId);
    try {
      const exit = exitOf(request);
      agent.moved({ handId, handFolder: to.path });
      moveHand(from, to, agent.process.record);
      this.#ids.delete(spareId);
      failPoint("hands.warm.after_adopt");
      const uploads = await this.#uploads(to, made, request);
      const sandbox = become({ ...made, uploads }, request, exit);
      await sandbox.showFiles(recipe);
      return sandbox;
    } catch (cause) {
      await agent.end();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new SandboxUnavailableError(`a spare sandbox could not be used: ${reason}`, { cause });
    }
  }

  /** In its new place, for the blobs of the workspace that it is of now. */
  async #uploads(
    { path: handFolder }: HandFolder,
    { isForeign }: MadeSandbox,
    { workspaceId }: ProvisionRequest,
  ): Promise<UploadTree> {
    const blobPath = (sha256: string) => this.#options.blobPath(workspaceId, sha256);
    return await UploadTree.make({ handFolder, isForeign, blobPath }, []);
  }
}
