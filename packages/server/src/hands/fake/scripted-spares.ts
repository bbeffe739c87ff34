import type { ProvisionRequest, Sandbox } from "../../core/ports/sandbox.ts";
import type { SpareRequest, SpareSandbox, Spares } from "../../core/ports/spares.ts";
import { ScriptedProvider, ScriptedSandbox } from "./scripted-provider.ts";

/** Spares without an inside, for tests of what has them. */
export class ScriptedSpares implements Spares {
  /** What each was made from, in order. */
  readonly made: SpareRequest[] = [];
  /** Of each that was made: the sandbox that it is or becomes. */
  readonly sandboxes: ScriptedSandbox[] = [];
  /** Hands that have files. */
  readonly used = new Set<string>();
  refused: string | undefined;
  /** Awaited by `make` before it makes one. */
  onMake: (signal: AbortSignal) => Promise<void> = async () => {};
  /** Awaited by `adopt`; where it answers false the spare is not to be had. */
  onAdopt: () => Promise<boolean> = async () => true;

  refusal(): string | undefined {
    return this.refused;
  }

  isNew(handId: string): boolean {
    return !this.used.has(handId);
  }

  async make(request: SpareRequest, signal: AbortSignal): Promise<SpareSandbox> {
    await this.onMake(signal);
    this.made.push(request);
    const sandbox = new ScriptedSandbox(`spare ${this.made.length}`);
    this.sandboxes.push(sandbox);
    let isAdopted = false;
    return {
      closed: sandbox.closed,
      adopt: async ({ handId }: ProvisionRequest): Promise<Sandbox | undefined> => {
        if (!(await this.onAdopt())) return undefined;
        isAdopted = true;
        this.used.add(handId);
        return sandbox;
      },
      close: async () => {
        if (!isAdopted) await sandbox.close();
      },
    };
  }
}

/** A provider that makes such. */
export class SparingProvider extends ScriptedProvider {
  readonly spares = new ScriptedSpares();
}
