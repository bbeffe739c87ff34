import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { OperatorError } from "../lib/operator-error.ts";
import { failureSentence, failureStack } from "./failure.ts";

test("what the operator can mend is shown as it is, however deep it lies", () => {
  const cause = new OperatorError("Another server has the folder; stop it.");
  expect(failureSentence(new Error("opening failed", { cause }))).toBe(cause.message);
});

test("a taken port is named with what to do", async () => {
  const first = createServer();
  onTestFinished(() => {
    first.close();
  });
  const port = await new Promise<number>((resolve) => {
    first.listen(0, "127.0.0.1", () => {
      const address = first.address();
      resolve(typeof address === "object" ? (address?.port ?? 0) : 0);
    });
  });
  const taken = await new Promise((resolve) => {
    createServer().once("error", resolve).listen(port, "127.0.0.1");
  });
  expect(failureSentence(new Error("cannot listen", { cause: taken }))).toBe(
    `The address 127.0.0.1:${port} is taken by another program; stop it, or set DROVER_PORT to another port (0 for any free one).`,
  );
});

test.each([
  ["ENOSPC", "The disk is full (/data)"],
  ["EACCES", "Permission is missing for /data"],
  ["SQLITE_FULL", "The disk is full"],
  ["SQLITE_CANTOPEN", "Permission is missing for"],
  ["ENOTDIR", "/data is in the way"],
])("%s is said in a sentence", (code, sentence) => {
  const error = Object.assign(new Error(`${code}: nothing a person understands`), {
    code,
    path: "/data",
  });
  expect(failureSentence(error)).toContain(sentence);
});

test("a message that is a sentence already is shown alone", () => {
  const cause = new Error("The database is of a newer Drover: start that one.");
  expect(failureSentence(new Error("cannot open", { cause }))).toBe(cause.message);
});

test("any other failure is one line with its causes, and the stacks are apart", () => {
  const error = new Error("the log cannot be read", { cause: new Error("row 7 is not JSON") });
  expect(failureSentence(error)).toBe("Drover stopped: the log cannot be read: row 7 is not JSON.");
  expect(failureStack(error)).toContain("caused by Error: row 7 is not JSON");
});

test("an error that is its own cause is said, and ends", () => {
  const error = new Error("round");
  error.cause = error;
  expect(failureSentence(error)).toMatch(/^Drover stopped: round/);
});

test("a real system error of the file system has its path", () => {
  let caught: unknown;
  try {
    readdirSync("/proc/self/status");
  } catch (error) {
    caught = error;
  }
  expect(failureSentence(caught)).toContain("/proc/self/status is in the way");
});
