import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const EVERYTHING = "*";

/** Which layer may import which. A layer may always import itself; the last ones compose the others. */
const LAYERS: Record<string, readonly string[]> = {
  lib: [],
  config: ["core", "lib"],
  core: ["lib"],
  app: ["core", "lib"],
  run: ["app", "core", "lib"],
  http: ["app", "core", "lib"],
  store: ["core", "lib"],
  hands: ["core", "lib"],
  model: ["core", "lib"],
  egress: ["core", "lib"],
  vault: ["core", "lib"],
  // What tests of several layers build their worlds from; nothing that ships imports it.
  testing: [EVERYTHING],
  serve: [EVERYTHING],
  cli: [EVERYTHING],
};

/** Files that belong to a composition, though their folder is an adapter. */
const COMPOSITIONS = [
  "hands/main.ts",
  "hands/compose.ts",
  "hands/sandbox/open-provider.ts",
  "hands/sandbox/open-launchers.ts",
];

/** Where a package may be imported: a layer, a folder of one, or one file. Others are free. */
const PACKAGES: Record<string, readonly string[]> = {
  hono: ["http"],
  "@hono/node-server": ["http", "serve"],
  "@fastify/busboy": ["http"],
  pg: ["store/postgres"],
  "better-sqlite3": ["store", "lib/file-lock.ts"],
  "@anthropic-ai/sdk": ["model", "cli"],
  openai: ["model/chat-completions"],
  commander: ["cli"],
  yaml: ["config", "model", "app/skill-frontmatter.ts", "cli/apply"],
  yauzl: ["lib/archive"],
  yazl: ["lib/archive"],
  "modern-tar": ["lib/archive"],
  "html-to-text": ["hands/web"],
  "@modelcontextprotocol/sdk": ["hands/mcp"],
  "node:child_process": [
    "hands/sandbox",
    "hands/base/build-base.ts",
    "hands/secrets/secret-command.ts",
    "serve/spawn-hands.ts",
    "cli",
  ],
};

/** `core` decides from data alone: no I/O, no clock, no framework. */
const CORE_PACKAGES = ["zod", "@drover/api"];

const SRC = import.meta.dirname;

interface Import {
  /** Path of the importing file, relative to the source folder, with `/`. */
  readonly file: string;
  readonly specifier: string;
}

test("there are files to check", () => {
  const layers = new Set(sourceFiles(SRC).map(layerOf));
  expect([...layers]).toEqual(expect.arrayContaining(["core", "hands", "lib", "config"]));
});

test("every folder is a layer of the table", () => {
  const unknown = sourceFiles(SRC).filter((file) => !(layerOf(file) in LAYERS));
  expect(unknown).toEqual([]);
});

test("every import follows the tables", () => {
  expect(offences(SRC)).toEqual([]);
});

test("a planted offence of each kind is found", () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-layers-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  plant(folder, "core/bad.ts", 'import { x } from "../http/app.ts";\nimport "node:fs";\n');
  plant(folder, "store/bad.ts", 'export { y } from "../hands/journal/call.ts";\n');
  plant(folder, "run/bad.ts", 'const m = await import("node:child_process");\n');
  plant(folder, "http/bad.ts", 'import Database from "better-sqlite3";\n');
  plant(folder, "store/good.ts", 'import { z } from "../core/z.ts";\nimport "better-sqlite3";\n');
  plant(folder, "hands/main.ts", 'import { s } from "../store/s.ts";\n');
  expect(offences(folder).sort()).toEqual([
    "core/bad.ts -> ../http/app.ts",
    "core/bad.ts -> node:fs",
    "http/bad.ts -> better-sqlite3",
    "run/bad.ts -> node:child_process",
    "store/bad.ts -> ../hands/journal/call.ts",
  ]);
});

function plant(folder: string, file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

function offences(src: string): string[] {
  return sourceFiles(src)
    .flatMap((file) => importsOf(src, file))
    .filter((found) =>
      found.specifier.startsWith(".") ? !layerAllows(found) : !packageAllows(found),
    )
    .map(({ file, specifier }) => `${file} -> ${specifier}`);
}

function layerAllows({ file, specifier }: Import): boolean {
  const from = layerOf(file);
  const to = layerOf(relative(SRC, resolve(SRC, dirname(file), specifier)));
  const allowed = COMPOSITIONS.includes(file) ? [EVERYTHING] : (LAYERS[from] ?? []);
  return from === to || allowed.includes(EVERYTHING) || allowed.includes(to);
}

function packageAllows({ file, specifier }: Import): boolean {
  const name = packageOf(specifier);
  if (layerOf(file) === "core") return CORE_PACKAGES.includes(name);
  const places = PACKAGES[name];
  if (places === undefined || COMPOSITIONS.includes(file)) return true;
  return places.some((place) => layerOf(file) === place || `${file}/`.startsWith(`${place}/`));
}

/** Test files and contract suites are outside the layers: they build whole worlds. */
function sourceFiles(src: string): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !/\.(test|testsuite)\.ts$/.test(path))
    .map((path) => path.split(sep).join("/"));
}

function importsOf(src: string, file: string): Import[] {
  const text = readFileSync(join(src, file), "utf8");
  const found = text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*"([^"\n]+)"/g);
  return [...found].map(([, specifier = ""]) => ({ file, specifier }));
}

function layerOf(file: string): string {
  const [layer = "", ...rest] = file.split("/");
  return rest.length === 0 ? layer.replace(/(-.*)?\.ts$/, "") : layer;
}

function packageOf(specifier: string): string {
  const [scope = "", name = ""] = specifier.split("/");
  return scope.startsWith("@") ? `${scope}/${name}` : scope;
}
