import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Blobs } from "../../core/ports/blobs.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import { writeFileAtomically } from "../../lib/write-file-atomically.ts";
import { ReportMessage } from "../protocol/messages.ts";
import type { Report } from "../runtime/report.ts";

interface OutboxOptions {
  readonly folder: string;
  readonly report: Report;
}

/**
 * What is to be told of hands' files until a server has committed it, on disk: one report a hand at most. It
 * outlives the hand's folder.
 */
export class CheckpointOutbox {
  readonly #folder: string;
  readonly #reports = new Map<string, HandReport>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads what an earlier process left, without what names content that was taken for nobody's since. */
  static async open(
    { folder, report }: OutboxOptions,
    blobs: Pick<Blobs, "get">,
  ): Promise<CheckpointOutbox> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const outbox = new CheckpointOutbox(folder);
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      try {
        // What was being written when the process died says nothing yet.
        if (!name.endsWith(".json")) await rm(path, { force: true });
        else await outbox.#read(path, blobs);
      } catch (error) {
        report("hand_report_unreadable", { name, error });
      }
    }
    return outbox;
  }

  all(): readonly HandReport[] {
    return [...this.#reports.values()];
  }

  find(handId: string): HandReport | undefined {
    return this.#reports.get(handId);
  }

  /** Durable when it resolves. */
  async put(report: HandReport): Promise<void> {
    const { hand_id: handId } = report;
    await writeFileAtomically(this.#path(handId), JSON.stringify(report), { mode: 0o600 });
    this.#reports.set(handId, report);
  }

  async remove({ hand_id: handId }: HandReport): Promise<void> {
    await rm(this.#path(handId), { force: true });
    this.#reports.delete(handId);
  }

  async #read(path: string, blobs: Pick<Blobs, "get">): Promise<void> {
    const report: HandReport = ReportMessage.parse(JSON.parse(readFileSync(path, "utf8")));
    const { workspace_id: workspaceId, checkpoint, hand_id: handId } = report;
    const content = checkpoint && (await blobs.get(workspaceId, checkpoint.sha256));
    if (checkpoint === null || content !== undefined) this.#reports.set(handId, report);
    else await rm(path, { force: true });
  }

  #path(handId: string): string {
    return join(this.#folder, `${handId}.json`);
  }
}
