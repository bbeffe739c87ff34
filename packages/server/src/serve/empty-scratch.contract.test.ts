import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { emptyScratch } from "./empty-scratch.ts";

test("uploads of a server that lives beside are left alone, and old ones are not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-scratch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [living, dead] = [join(folder, "living"), join(folder, "dead")];
  for (const upload of [living, dead]) mkdirSync(join(upload, "parts"), { recursive: true });
  utimesSync(dead, 0, 0);
  await emptyScratch(folder, true);
  expect([existsSync(living), existsSync(dead)]).toEqual([true, false]);
  await emptyScratch(folder, false);
  expect(existsSync(living)).toBe(false);
  await emptyScratch(join(folder, "nowhere"), true);
});
