import { heading, say } from "./say.js";

/**
 * @typedef {{ passed: number, failed: number, skipped?: number, failures?: string[] }} Count
 * @typedef {{ name: string, minutes: number, count: Count, notRun?: string }} Stage
 */

/** Runs stages one after another and keeps what each came to. A stage that throws has failed once. */
export class Stages {
  /** @type {Stage[]} */
  #done = [];

  /**
   * @param {string} name
   * @param {() => Promise<Count>} work
   */
  async run(name, work) {
    heading(name);
    const start = Date.now();
    /** @type {Count} */
    let count;
    try {
      count = await work();
    } catch (error) {
      const failure = `The stage broke: ${error instanceof Error ? error.stack : error}`;
      count = { passed: 0, failed: 1, failures: [failure] };
    }
    this.#done.push({ name, minutes: (Date.now() - start) / 60_000, count });
    return count;
  }

  /**
   * A stage that this machine cannot run. Where everything is to be proved it counts as a failure.
   *
   * @param {string} name
   * @param {string} reason what is missing and how to mend it
   * @param {boolean} isFailure
   */
  skip(name, reason, isFailure) {
    const count = { passed: 0, failed: isFailure ? 1 : 0 };
    this.#done.push({ name, minutes: 0, count, notRun: reason });
  }

  /** Prints what failed, minutes per stage, what was not run, and the last line. Gives the exit code. */
  report() {
    for (const { name, count } of this.#done) {
      for (const failure of count.failures ?? []) {
        heading(`failed in ${name}`);
        say(failure);
      }
    }
    heading("minutes per stage");
    for (const { name, minutes, count, notRun } of this.#done) {
      const skipped = count.skipped ? `, ${count.skipped} skipped` : "";
      const result = notRun
        ? "not run"
        : `${count.passed} passed, ${count.failed} failed${skipped}`;
      say(`${name.padEnd(24)} ${minutes.toFixed(1).padStart(5)}   ${result}`);
    }
    const total = this.#done.reduce((sum, stage) => sum + stage.minutes, 0);
    say(`${"all".padEnd(24)} ${total.toFixed(1).padStart(5)}`);
    for (const { name, notRun } of this.#done) {
      if (notRun) say(`\nNot run: ${name}. ${notRun}`);
    }
    const passed = this.#sum("passed");
    const failed = this.#sum("failed");
    say(`\n${passed} passed, ${failed} failed`);
    return failed > 0 || passed === 0 ? 1 : 0;
  }

  #sum(key) {
    return this.#done.reduce((sum, stage) => sum + stage.count[key], 0);
  }
}
