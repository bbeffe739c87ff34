import { expect, test } from "vitest";
import { installFailure } from "./install-error.ts";

const why = "exit status 1";

test("of several packages those are named that the manager's last lines speak of", () => {
  const output = "Collecting good\nERROR: No matching distribution found for Bad_One==9\n";
  const { message } = installFailure("pip", ["good==1", "bad_one[x]==9"], { why, output });
  expect(message).toContain("pip could not install good==1, bad_one[x]==9 (exit status 1)");
  const alone = installFailure("pip", ["fine", "bad_one==9"], { why, output });
  expect(alone.message).toMatch(
    /pip could not install bad_one==9 \(exit status 1\), which said:\n/,
  );
});

test("where nothing is said of any, all are named", () => {
  const { message } = installFailure("npm", ["a-b", "@c/d@1"], { why, output: "out of disk" });
  expect(message).toContain("npm could not install a-b, @c/d@1 (exit status 1)");
});

test("what is passed on is short, and no order to a terminal", () => {
  const output = `${"line\n".repeat(10_000)}\u001b[31mred\u001b[0m\u0007\r\n`;
  const { message } = installFailure("go", ["x@v1"], { why, output });
  expect(message.length).toBeLessThan(2_000);
  expect(message).toMatch(/line\nred\n$/);
  expect(installFailure("go", ["x@v1"], { why, output: "" }).message).toMatch(/\(exit status 1\)$/);
});
