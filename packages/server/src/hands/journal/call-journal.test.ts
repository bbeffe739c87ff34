import { expect, test } from "vitest";
import type { CallOutcome } from "../../core/ports/hands.ts";
import { makeCall } from "../fake/make-call.ts";
import { type Admission, CallJournal } from "./call-journal.ts";
import type { CallRecord } from "./call-record.ts";
import type { JournalLimits } from "./session-calls.ts";

const DONE: CallOutcome = {
  type: "result",
  content: [{ type: "text", text: "done" }],
  is_error: false,
  outputs: [],
  cancelled: false,
};

test("takes a call once and finds it after that", async () => {
  const journal = open();
  const record = accepted(journal.admit(makeCall()));
  expect(record.state).toBe("accepted");
  record.start();
  expect(record.state).toBe("running");
  expect(journal.admit(makeCall())).toEqual({ type: "known", record });
  journal.finish(record, DONE);
  expect([record.state, await record.ended]).toEqual(["done", DONE]);
  expect(journal.admit(makeCall())).toEqual({ type: "known", record });
});

test("keeps the first outcome", async () => {
  const journal = open();
  const record = accepted(journal.admit(makeCall()));
  journal.finish(record, DONE);
  journal.finish(record, { type: "lost", message: "late" });
  expect(record.outcome).toEqual(DONE);
  expect(journal.running).toBe(0);
});

test("refuses a call of an earlier boot without learning from it", () => {
  const journal = open();
  const sentTo = (handsBoot: string) => refusal(journal.admit(makeCall({ handsBoot, epoch: 9 })));
  expect(sentTo("boot_0@inst_1")).toBe("stale_boot");
  expect(sentTo("boot_0@inst_2")).toBe("foreign_boot");
  expect(sentTo("boot_0")).toBe("foreign_boot");
  expect(journal.admit(makeCall({ epoch: 1 })).type).toBe("new");
});

test("refuses an epoch below the highest seen, whether a call or a cancel showed it", () => {
  const journal = open();
  journal.admit(makeCall({ epoch: 5 }));
  expect(refusal(journal.admit(makeCall({ callId: "sevt_2", epoch: 4 })))).toBe("stale_epoch");
  journal.cancel({ sessionId: "sesn_1", callId: "sevt_3", epoch: 7 });
  expect(refusal(journal.admit(makeCall({ callId: "sevt_2", epoch: 6 })))).toBe("stale_epoch");
});

test("tells a call that is cancelled, and no other", () => {
  const journal = open();
  const [one, two] = [
    accepted(journal.admit(makeCall())),
    accepted(journal.admit(makeCall({ callId: "sevt_2" }))),
  ];
  journal.cancel({ sessionId: "sesn_1", callId: "sevt_1", epoch: 1 });
  expect([one.cancelSignal.aborted, two.cancelSignal.aborted]).toEqual([true, false]);
});

test("refuses a call that was cancelled before it came", () => {
  const journal = open();
  journal.cancel({ sessionId: "sesn_1", callId: "sevt_1", epoch: 1 });
  expect(refusal(journal.admit(makeCall()))).toBe("cancelled");
});

test("lets no session touch another's call", () => {
  const journal = open();
  const record = accepted(journal.admit(makeCall()));
  expect(refusal(journal.admit(makeCall({ sessionId: "sesn_2" })))).toBe("mismatch");
  journal.cancel({ sessionId: "sesn_2", callId: "sevt_1", epoch: 1 });
  expect(record.cancelSignal.aborted).toBe(false);
});

test("forgets the result of a settled call but not the call", () => {
  const journal = open();
  journal.finish(accepted(journal.admit(makeCall())), DONE);
  journal.settle("sevt_1");
  expect(journal.find("sevt_1")).toBeUndefined();
  expect(refusal(journal.admit(makeCall()))).toBe("settled");
});

test("forgets the result of a call that was settled while it ran, when it ends", async () => {
  const journal = open();
  const record = accepted(journal.admit(makeCall()));
  journal.settle("sevt_1");
  expect(journal.find("sevt_1")).toBe(record);
  journal.finish(record, DONE);
  expect(await record.ended).toEqual(DONE);
  expect(journal.find("sevt_1")).toBeUndefined();
  expect(refusal(journal.admit(makeCall()))).toBe("settled");
});

test("forgets the oldest settled call of a session first", () => {
  const journal = open({ rememberedIdsPerSession: 2 });
  for (const callId of ["sevt_1", "sevt_2", "sevt_3"]) {
    journal.finish(accepted(journal.admit(makeCall({ callId }))), DONE);
    journal.settle(callId);
  }
  const answers = ["sevt_3", "sevt_2", "sevt_1"].map((callId) =>
    journal.admit(makeCall({ callId })),
  );
  expect(answers.map(({ type }) => type)).toEqual(["refused", "refused", "new"]);
});

test("takes no more calls than it has room for, and takes them when results are settled", () => {
  const journal = open({ openCallsPerSession: 1, openCalls: 2 });
  const first = accepted(journal.admit(makeCall()));
  const second = makeCall({ callId: "sevt_2" });
  expect(journal.admit(second).type).toBe("full");
  expect(journal.admit(makeCall({ callId: "sevt_3", sessionId: "sesn_2" })).type).toBe("new");
  expect(journal.admit(makeCall({ callId: "sevt_4", sessionId: "sesn_3" })).type).toBe("full");
  journal.finish(first, DONE);
  journal.settle("sevt_1");
  expect(journal.admit(second).type).toBe("new");
});

test("drops a result that is too large to keep", async () => {
  const journal = open({ resultBytes: 200 });
  const record = accepted(journal.admit(makeCall()));
  const outputs = [{ path: "a", sha256: "0".repeat(64), size_bytes: 1, found: 1 }];
  const content = [{ type: "text" as const, text: "x".repeat(300) }];
  journal.finish(record, { ...DONE, content, outputs });
  const text = expect.stringMatching(/^The call ended, but its result of \d+ bytes is larger/);
  expect(await record.ended).toEqual({
    ...DONE,
    content: [{ type: "text", text }],
    is_error: true,
    outputs,
  });
});

test("takes no call while it holds too many bytes of results", () => {
  const journal = open({ heldBytes: 10 });
  const record = accepted(journal.admit(makeCall()));
  journal.finish(record, DONE);
  const next = makeCall({ callId: "sevt_2", sessionId: "sesn_2" });
  expect(journal.admit(next).type).toBe("full");
  journal.settle("sevt_1");
  expect(journal.admit(next).type).toBe("new");
});

test("forgets the epoch of the session that was quiet longest, never of one with open calls", () => {
  const journal = open({ sessions: 2 });
  journal.admit(makeCall({ sessionId: "sesn_open", callId: "sevt_open", epoch: 5 }));
  for (const sessionId of ["sesn_1", "sesn_2", "sesn_3"]) {
    journal.cancel({ sessionId, callId: "sevt_x", epoch: 5 });
  }
  const epochSeen = (sessionId: string) =>
    journal.admit(makeCall({ sessionId, callId: `sevt_${sessionId}`, epoch: 1 })).type;
  expect(epochSeen("sesn_open")).toBe("refused");
  expect(epochSeen("sesn_1")).toBe("new");
});

test("refuses calls for a hand that was disposed of and names those that run", () => {
  const journal = open();
  const record = accepted(journal.admit(makeCall()));
  journal.admit(makeCall({ callId: "sevt_2", handId: "hand_2" }));
  expect(journal.disposeHand("hand_1")).toEqual([record]);
  expect(refusal(journal.admit(makeCall({ callId: "sevt_3" })))).toBe("disposed");
});

test("counts the calls that run", () => {
  const journal = open();
  const record = accepted(journal.admit(makeCall()));
  journal.admit(makeCall({ callId: "sevt_2" }));
  expect(journal.running).toBe(2);
  journal.finish(record, DONE);
  expect(journal.running).toBe(1);
});

test("runs a repeated call again when told to be unsafe", () => {
  const journal = new CallJournal({ boot: "boot_1@inst_1", unsafeForgetCalls: true });
  expect(journal.admit(makeCall()).type).toBe("new");
  expect(journal.admit(makeCall()).type).toBe("new");
});

function open(limits: Partial<JournalLimits> = {}): CallJournal {
  return new CallJournal({ boot: "boot_1@inst_1", limits });
}

function accepted(admission: Admission): CallRecord {
  if (admission.type !== "new") throw new Error(`the call was not new but ${admission.type}`);
  return admission.record;
}

function refusal(admission: Admission): string {
  return admission.type === "refused" ? admission.reason : admission.type;
}
