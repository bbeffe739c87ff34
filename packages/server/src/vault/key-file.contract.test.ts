import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testSecretBox } from "../core/ports/secret-box.testsuite.ts";
import { Secret } from "../lib/secret.ts";
import { createEnvelopeBox } from "./envelope-box.ts";
import { openKeyFile } from "./key-file.ts";

testSecretBox(async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-keys-"));
  const file = await openKeyFile(join(folder, "encryption-keys"));
  return {
    box: createEnvelopeBox(file),
    rotate: () => file.add(),
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
  };
});

test("the file is made once, for its owner alone, and nothing is left beside it", async () => {
  const path = temporaryPath();
  const files = await Promise.all(Array.from({ length: 8 }, () => openKeyFile(path)));
  const ids = new Set(files.flatMap((file) => file.keys().map(({ id }) => id)));
  expect(ids.size).toBe(1);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(path, ".."))).toEqual(["encryption-keys"]);
  const [again] = (await openKeyFile(path)).keys();
  expect([...ids]).toEqual([again.id]);
});

test("a key that another process added is met when it is needed", async () => {
  const path = temporaryPath();
  const [server, command] = [await openKeyFile(path), await openKeyFile(path)];
  const [before, after] = [createEnvelopeBox(server), createEnvelopeBox(command)];
  await command.add();
  const sealed = after.seal(new Secret("text"), "place");
  expect(before.open(sealed, "place").reveal()).toBe("text");
  expect(before.currentKeyId()).toBe(after.currentKeyId());
});

test("a key is found that came without the file seeming to have changed", async () => {
  const path = temporaryPath();
  const line = (fill: number) => `${Buffer.alloc(32, fill).toString("base64")}\n`;
  const put = (fill: number) => {
    writeFileSync(path, line(fill));
    utimesSync(path, 1_700_000_000, 1_700_000_000);
  };
  put(1);
  const box = createEnvelopeBox(await openKeyFile(path));
  const before = box.currentKeyId();
  put(2);
  const sealed = createEnvelopeBox(await openKeyFile(path)).seal(new Secret("text"), "place");
  expect(box.currentKeyId()).toBe(before);
  expect(box.open(sealed, "place").reveal()).toBe("text");
});

test("keys are removed by id, but never the one that seals", async () => {
  const file = await openKeyFile(temporaryPath());
  const [first] = file.keys();
  await file.add();
  await file.add();
  const [current, middle] = file.keys();
  await file.remove([current.id, first.id, "unknown"]);
  expect(file.keys().map(({ id }) => id)).toEqual([current.id, middle?.id]);
});

test("a file that holds no keys is refused by name, without what is in it", async () => {
  const path = temporaryPath();
  for (const content of ["", "# nothing\n", "canary\n", "canary".repeat(20_000)]) {
    writeFileSync(path, content);
    const opened = openKeyFile(path);
    await expect(opened).rejects.toThrow(path);
    await expect(opened).rejects.not.toThrow("canary");
    expect(readFileSync(path, "utf8")).toBe(content);
  }
});

function temporaryPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-keys-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "encryption-keys");
}
