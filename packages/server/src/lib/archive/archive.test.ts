import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Archive, ArchiveError } from "./archive.ts";
import { type TarEntry, tarBytes, type ZipEntry, zipBytes } from "./archive-bytes.testsuite.ts";
import { archiveOfFolder } from "./file-archive.ts";
import { openArchive } from "./open-archive.ts";
import { zipOf } from "./zip-stream.ts";

const LIMITS = { membersMax: 20, bytesMax: 4 * 1024 * 1024 };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "drover-archive-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

async function opened(bytes: Uint8Array): Promise<Archive> {
  const path = join(folder(), "archive");
  writeFileSync(path, bytes);
  const archive = await openArchive(path, LIMITS);
  onTestFinished(() => archive[Symbol.asyncDispose]());
  return archive;
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function contentsOf(archive: Archive): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const { member, bytes } of archive.contents()) {
    contents[member.path] = await textOf(bytes);
  }
  return contents;
}

async function kindsOf(bytes: Uint8Array): Promise<Record<string, string>> {
  const { members } = await opened(bytes);
  return Object.fromEntries(members.map(({ path, kind }) => [path, kind]));
}

const FILES = { "a/SKILL.md": "# A", "a/b/empty": "", "a/ü.txt": "ü".repeat(100_000) };
const ENTRIES = [
  { name: "a/" },
  ...Object.entries(FILES).map(([name, content]) => ({ name, content })),
];
const ZIP = zipBytes(ENTRIES.map((entry) => ({ ...entry, mode: 0 })));
const TAR = tarBytes(
  ENTRIES.map((entry) => ({ ...entry, ...(entry.name === "a/" && { type: "5" }) })),
);

describe.each([
  ["zip", ZIP],
  [
    "zip without compression",
    zipBytes(ENTRIES.map((entry) => ({ ...entry, mode: 0, isStored: true }))),
  ],
  ["tar", TAR],
  ["tar.gz", gzipSync(TAR)],
])("a %s archive", (_kind, bytes) => {
  test("is listed and read, more than once", async () => {
    const archive = await opened(bytes);
    expect(archive.members.map(({ path, kind, size }) => [path, kind, size])).toEqual([
      ["a/", "folder", 0],
      ["a/SKILL.md", "file", 3],
      ["a/b/empty", "file", 0],
      ["a/ü.txt", "file", 200_000],
    ]);
    expect(await contentsOf(archive)).toEqual(FILES);
    expect(await contentsOf(archive)).toEqual(FILES);
  });

  test("may be left in the middle of a member, or with members unread", async () => {
    const archive = await opened(bytes);
    for await (const content of archive.contents()) {
      if (content.member.size < 10) continue;
      for await (const _chunk of content.bytes) break;
    }
    for await (const _content of archive.contents()) break;
    expect(await contentsOf(archive)).toEqual(FILES);
  });

  test("that is cut off anywhere is refused", async () => {
    for (const part of [0.01, 0.3, 0.6, 0.9, 1 - 1 / bytes.length]) {
      const length = Math.floor(bytes.length * part);
      const whole = opened(bytes.subarray(0, length)).then(contentsOf);
      await expect(whole, `at ${length} bytes`).rejects.toThrow(ArchiveError);
    }
  });
});

const SMALL = [
  { name: "a/SKILL.md", content: "# A" },
  { name: "a/b.txt", content: "b".repeat(700) },
];

test.each([
  ["zip", zipBytes(SMALL)],
  ["tar", tarBytes(SMALL)],
  ["tar.gz", gzipSync(tarBytes(SMALL))],
])(
  "a %s archive with any bytes changed is read or refused, no more",
  async (_kind, bytes) => {
    const path = join(folder(), "archive");
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
        const changed = Buffer.from(bytes);
        for (const [at, byte] of changes) changed[at] = byte;
        writeFileSync(path, changed);
        try {
          await using archive = await openArchive(path, LIMITS);
          await contentsOf(archive);
        } catch (error) {
          expect(error).toBeInstanceOf(ArchiveError);
        }
      }),
      { numRuns: 100 },
    );
  },
  30_000,
);

test("what is no archive is refused", async () => {
  for (const bytes of [
    "",
    "PK",
    "# A text",
    "7z\xbc\xaf\x27\x1c",
    "\x1f\x8bgarbage",
    "PK\x05\x06",
  ]) {
    const archive = opened(Buffer.from(bytes, "latin1"));
    await expect(archive, bytes).rejects.toThrow(ArchiveError);
  }
});

describe("members of a zip archive", () => {
  const kinds = (entries: readonly ZipEntry[]) => kindsOf(zipBytes(entries));

  test("are what their mode says, whatever system they are said to be from", async () => {
    const typed = await kinds([
      { name: "file", mode: 0o100755 },
      { name: "unsaid", mode: 0 },
      { name: "folder", mode: 0o040755 },
      { name: "link", mode: 0o120777 },
      { name: "device", mode: 0o060600 },
      { name: "tty", mode: 0o020600 },
      { name: "pipe", mode: 0o010600 },
      { name: "socket", mode: 0o140600 },
      { name: "link/", mode: 0o120777 },
    ]);
    expect(typed).toEqual({
      file: "file",
      unsaid: "file",
      folder: "folder",
      link: "other",
      device: "other",
      tty: "other",
      pipe: "other",
      socket: "other",
      "link/": "other",
    });
  });

  test("keep hostile names as they are, for the rules to see", async () => {
    const names = ["../a", "/etc/passwd", "C:\\a", "a\\b", "a\0b", "a//b"];
    expect(Object.keys(await kinds(names.map((name) => ({ name }))))).toEqual(names);
  });

  test("tell what is encrypted and what can be executed", async () => {
    const { members } = await opened(
      zipBytes([
        { name: "secret", flags: 0x801 },
        { name: "tool", mode: 0o100755 },
      ]),
    );
    const flags = members.map(({ isEncrypted, isExecutable }) => [isEncrypted, isExecutable]);
    expect(flags).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test("that macOS adds are left out", async () => {
    const found = await kinds([
      { name: "a/b" },
      { name: "__MACOSX/a/._b" },
      { name: "a/__MACOSX/b" },
    ]);
    expect(Object.keys(found)).toEqual(["a/b", "a/__MACOSX/b"]);
  });

  test.each<[string, readonly ZipEntry[]]>([
    ["larger than it says", [{ name: "a", content: "12345", size: 4 }]],
    ["smaller than it says", [{ name: "a", content: "12345", size: 6 }]],
    ["stored at another size", [{ name: "a", content: "12345", size: 6, isStored: true }]],
    ["of another checksum", [{ name: "a", content: "12345", crc: 1 }]],
    ["packed by an unknown method", [{ name: "a", content: "12345", method: 12 }]],
    ["where nothing is", [{ name: "a", content: "12345", offset: 5 }]],
    ["strongly encrypted", [{ name: "a", content: "12345", flags: 0x841 }]],
  ])("are refused if their content is %s", async (_what, entries) => {
    const good = { name: "b", content: "12345" };
    expect(await contentsOf(await opened(zipBytes([good])))).toEqual({ b: "12345" });
    await expect(opened(zipBytes([good, ...entries])).then(contentsOf)).rejects.toThrow(
      ArchiveError,
    );
  });

  test("are counted before they are many, also when they share their bytes", async () => {
    const content = "0".repeat(100_000);
    const one = { name: "0", content };
    const many = Array.from({ length: 20 }, (_, index) => ({
      ...one,
      name: `${index}`,
      offset: 0,
    }));
    const { members } = await opened(zipBytes([one, ...many.slice(1)]));
    expect(members.reduce((size, member) => size + member.size, 0)).toBe(2_000_000);
    await expect(opened(zipBytes([one, ...many]))).rejects.toThrow("more than 20 members");
  });
});

describe("members of a tar archive", () => {
  const kinds = (entries: readonly TarEntry[]) => kindsOf(tarBytes(entries));

  test("are what their type says", async () => {
    const types = { file: "0", old: "\0", hard: "1", soft: "2", tty: "3", disk: "4", pipe: "6" };
    const entries = Object.entries(types).map(([name, type]) => ({ name, type, link: "/etc" }));
    expect(await kinds([...entries, { name: "dir", type: "5" }])).toEqual({
      file: "file",
      old: "file",
      hard: "other",
      soft: "other",
      tty: "other",
      disk: "other",
      pipe: "other",
      dir: "folder",
    });
  });

  test("may begin with the folder that they were packed in", async () => {
    const found = await kinds([
      { name: "./", type: "5" },
      { name: "./a/", type: "5" },
      { name: "./a/b" },
      { name: "./../c" },
    ]);
    expect(found).toEqual({ "a/": "folder", "a/b": "file", "../c": "file" });
  });

  test("take long names from the headers before them", async () => {
    const long = `a/${"x".repeat(200)}/../b`;
    const size = `path=${long}\n`.length + 4;
    const found = await kinds([
      { name: "header", type: "x", content: `${size} path=${long}\n` },
      { name: "short" },
      { name: "././@LongLink", type: "L", content: `${long}2\0` },
      { name: "short" },
    ]);
    expect(found).toEqual({ [long]: "file", [`${long}2`]: "file" });
  });

  test("that are sparse are no files", async () => {
    const record = "22 GNU.sparse.major=1\n";
    const found = await kinds([{ name: "h", type: "x", content: record }, { name: "a" }]);
    expect(found).toEqual({ a: "other" });
  });

  test.each<[string, Buffer]>([
    ["a size beyond the end", tarBytes([{ name: "a", content: "12345", size: 5_000 }])],
    ["a size that is no number", tarBytes([{ name: "a", size: Number.NaN }])],
    ["no end", tarBytes([{ name: "a", content: "1" }], { isEnded: false })],
    ["a wrong checksum", Buffer.from(tarBytes([{ name: "a" }]).fill("b", 0, 1))],
    ["something behind its end", Buffer.concat([TAR, Buffer.from("more")])],
    ["too many members", tarBytes(Array.from({ length: 21 }, (_, at) => ({ name: `${at}` })))],
  ])("are refused with %s", async (_what, bytes) => {
    await expect(opened(bytes).then(contentsOf)).rejects.toThrow(ArchiveError);
  });

  test("are not inflated beyond the limits", async () => {
    const random = Buffer.from(Array.from({ length: 50_000 }, (_, at) => (at * 7919) % 251));
    const big = (size: number) => tarBytes([{ name: "a", content: Buffer.alloc(size, random) }]);
    expect((await opened(gzipSync(big(1_000_000)))).members).toHaveLength(1);
    await expect(opened(gzipSync(big(8_000_000), { level: 0 }))).rejects.toThrow("unpacks to more");
    await expect(opened(gzipSync(Buffer.alloc(3_000_000)))).rejects.toThrow("bomb");
  });
});

describe("a folder", () => {
  test("is read without following links", async () => {
    const root = folder();
    mkdirSync(join(root, "scripts"));
    writeFileSync(join(root, "SKILL.md"), "# A");
    writeFileSync(join(root, "scripts/run"), "#!/bin/sh");
    chmodSync(join(root, "scripts/run"), 0o755);
    symlinkSync("/etc/passwd", join(root, "link"));
    symlinkSync("/etc", join(root, "folder"));
    const archive = await archiveOfFolder(root, "xlsx", LIMITS);
    const found = archive.members.map(({ path, kind, isExecutable }) => [path, kind, isExecutable]);
    expect(found.sort()).toEqual([
      ["xlsx/SKILL.md", "file", false],
      ["xlsx/folder", "other", true],
      ["xlsx/link", "other", true],
      ["xlsx/scripts/run", "file", true],
    ]);
    expect(await contentsOf(archive)).toEqual({
      "xlsx/SKILL.md": "# A",
      "xlsx/scripts/run": "#!/bin/sh",
    });
    writeFileSync(join(root, "SKILL.md"), "# AB");
    await expect(contentsOf(archive)).rejects.toThrow("changed");
  });

  test("with too much in it is refused", async () => {
    const root = folder();
    for (let at = 0; at <= 20; at += 1) mkdirSync(join(root, `${at}`));
    await expect(archiveOfFolder(root, "a", LIMITS)).rejects.toThrow("more than 20");
  });
});

describe("zipOf", () => {
  const input = (path: string, text: string, isExecutable = false) => ({
    path,
    isExecutable,
    bytes: ReadableStream.from([Buffer.from(text)]) as AsyncIterable<Uint8Array>,
  });
  async function bytesOf(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  async function* inputs() {
    for (let at = 0; at < 15; at += 1)
      yield input(`s/${at}.md`, `${at}`.repeat(at * 1_000), at === 1);
  }

  test("packs what comes, the same each time, and what it packed can be read", async () => {
    const first = await bytesOf(zipOf(inputs()));
    expect(first).toEqual(await bytesOf(zipOf(inputs())));
    const archive = await opened(first);
    expect(archive.members.map(({ isExecutable }) => isExecutable).indexOf(true)).toBe(1);
    const contents = await contentsOf(archive);
    expect(Object.keys(contents)).toHaveLength(15);
    expect(contents["s/12.md"]).toBe("12".repeat(12_000));
  });

  test("fails with what a content fails with", async () => {
    const failure = new Error("cut off");
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("half");
      throw failure;
    }
    async function* files() {
      yield input("a", "a");
      yield { path: "b", isExecutable: false, bytes: broken() };
    }
    await expect(bytesOf(zipOf(files()))).rejects.toBe(failure);
  });

  test("lets go of what it reads when nobody reads it any more", async () => {
    const left = Promise.withResolvers<void>();
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (let at = 0; ; at += 1) yield Buffer.from(`${at * 7919}`);
      } finally {
        left.resolve();
      }
    }
    async function* files() {
      yield { path: "a", isExecutable: false, bytes: endless() };
    }
    for await (const _chunk of zipOf(files())) break;
    await left.promise;
  });
});
