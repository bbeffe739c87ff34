/**
 * The places where the fault campaign may kill or stop a process, in the order in which a call passes them.
 * They are listed here so that a campaign can visit each and cannot miss a new one: `failPoint` takes
 * only these names.
 */
export const FAIL_POINTS = [
  "hands.start.before_lock",
  "hands.start.after_lock",
  "hands.start.after_reap",
  "hands.start.after_listen",
  "hands.start.after_publish",
  "hands.call.before_admit",
  "hands.call.after_admit",
  "hands.call.before_provision",
  "hands.files.after_discard",
  "hands.files.after_note",
  "hands.provision.after_disk",
  "packages.before_install",
  "packages.after_install",
  "packages.before_publish",
  "packages.after_publish",
  "hands.provision.after_folder",
  "hands.skill.before_file",
  "hands.skill.after_extract",
  "hands.skill.after_publish",
  "hands.provision.after_group",
  "hands.provision.after_launch",
  "hands.provision.after_record",
  "hands.restore.while_unpacking",
  "hands.restore.before_note",
  "hands.warm.after_make",
  "hands.warm.after_record",
  "hands.warm.after_entry",
  "hands.warm.after_move",
  "hands.warm.after_adopt",
  "hands.warm.after_end",
  "hands.call.after_provision",
  "hands.memory.before_refresh",
  "hands.memory.after_refresh",
  "hands.call.before_exec",
  "hands.call.after_exec",
  "hands.memory.before_report",
  "hands.memory.after_report",
  "hands.call.after_outputs",
  "hands.call.after_result_stored",
  "hands.reply.before",
  "hands.reply.after",
  "hands.output.before_upload",
  "hands.output.after_upload",
  "hands.cancel.before",
  "hands.cancel.after",
  "hands.settle.before",
  "hands.settle.after",
  "hands.keep.before",
  "hands.keep.after_blob",
  "hands.keep.after_report",
  "hands.keep.after_note",
  "hands.acknowledge.before",
  "hands.acknowledge.after",
  "hands.evict.after_discard",
  "hands.exchange.before",
  "hands.exchange.after",
  "hands.dispose.before_close",
  "hands.dispose.after_close",
  "serve.start.after_lock",
  "serve.start.after_prepare",
  "serve.start.after_listen",
  "serve.accept.before",
  "serve.accept.after",
  "serve.claim.before",
  "serve.claim.after",
  "serve.load.after",
  "serve.append.before",
  "serve.append.after",
  "serve.list.before",
  "serve.list.after",
  "serve.model.before",
  "serve.model.after",
  "serve.judge.before",
  "serve.judge.after",
  "serve.locate.before",
  "serve.locate.after",
  "serve.spawn.after_launch",
  "serve.execute.before",
  "serve.execute.after",
  "serve.cancel.before",
  "serve.cancel.after",
  "serve.settle.before",
  "serve.settle.after",
  "serve.release.before",
  "serve.release.after",
  "serve.question.before",
  "serve.question.after",
  "serve.report.before",
  "serve.report.after",
  "serve.dispose.before",
  "serve.dispose.after",
  "client.call.before_send",
  "client.call.after_send",
  "client.call.after_result",
  "client.dispose.before",
  "client.dispose.after",
  "base.make.before_publish",
  "base.make.after_publish",
] as const;

export type FailPoint = (typeof FAIL_POINTS)[number];

/** Which hit of which point ends the process. `nth` counts from 1. */
export interface FailPointPlan {
  readonly name: FailPoint;
  readonly nth: number;
  /** Only stops it, so that it can go on when another has taken its place. */
  readonly stop?: boolean;
}

let plan: FailPointPlan | undefined;
let hits = 0;

/** Does nothing, unless a composition root armed this very point. */
export function failPoint(name: FailPoint): void {
  if (plan?.name !== name) return;
  hits += 1;
  // SIGKILL, because what is to be tested is a death that runs no clean-up.
  if (hits === plan.nth) process.kill(process.pid, plan.stop === true ? "SIGSTOP" : "SIGKILL");
}

/** Makes the n-th hit of one point the process's last, or the one it stops at; undefined disarms. */
export function armFailPoint(armed: FailPointPlan | undefined): void {
  plan = armed;
  hits = 0;
}

export function isFailPoint(name: string): name is FailPoint {
  return FAIL_POINTS.some((point) => point === name);
}
