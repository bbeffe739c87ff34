// Bundles packages/server into packages/server/dist, which is what the npm package holds.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { ROOT, SERVER } from "./lib/paths.js";
import { say } from "./lib/say.js";
import { thirdPartyNotices } from "./lib/third-party.js";

const SRC = join(SERVER, "src");
const DIST = join(SERVER, "dist");

/** Files that the program reads beside its own code; they keep their place below `src`. */
const ASSETS = /^(hands\/agent\/[^/]+\.pl|store\/migrations\/[^/]+\.sql)$/;

/** Programs of their own: the command line, and whatever runs in a worker thread. */
const ENTRIES = { drover: "cli/main.ts", ...workers() };

// Loaded late, so that the sentence comes first where packages are missing.
const { build } = await import("esbuild").catch(() => {
  throw new Error("The packages are not installed; run `npm ci` first.");
});

rmSync(DIST, { recursive: true, force: true });
const result = await build({
  entryPoints: Object.entries(ENTRIES).map(([out, file]) => ({ in: join(SRC, file), out })),
  outdir: DIST,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22.12",
  conditions: ["drover-source"],
  external: ["better-sqlite3"],
  define: { DROVER_VERSION: JSON.stringify(version()) },
  absWorkingDir: ROOT,
  keepNames: true,
  legalComments: "none",
  chunkNames: "[name]-[hash]",
  // CommonJS packages in the bundle ask for built-in modules by `require`.
  banner: { js: banner() },
  plugins: [ownPlace()],
  metafile: true,
  logLevel: "warning",
});
copyAssets();
writeFileSync(
  join(DIST, "THIRD-PARTY-LICENSES.txt"),
  thirdPartyNotices(Object.keys(result.metafile.inputs)),
);
for (const name of ["LICENSE", "README.md"]) cpSync(join(ROOT, name), join(SERVER, name));
const bytes = Object.values(result.metafile.outputs).reduce((sum, out) => sum + out.bytes, 0);
say(`Built ${relative(ROOT, DIST)}: ${(bytes / 1e6).toFixed(1)} MB of JavaScript.`);

function banner() {
  return [
    'import { createRequire as droverCreateRequire } from "node:module";',
    "const require = droverCreateRequire(import.meta.url);",
  ].join("\n");
}

function version() {
  return JSON.parse(readFileSync(join(SERVER, "package.json"), "utf8")).version;
}

/**
 * A source file finds its assets from its own place. In the bundle every chunk lies at the top of
 * `dist`, which is laid out as `src` is, so that place is written in at build time.
 */
function ownPlace() {
  return {
    name: "own-place",
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(SRC, path).split(sep).join("/");
        if (file.startsWith("..")) return undefined;
        const url = `new URL(${JSON.stringify(`./${file}`)}, import.meta.url)`;
        const places = {
          url: `${url}.href`,
          filename: `droverPathOf(${url})`,
          dirname: `droverPathOf(new URL(".", ${url})).replace(/[/]$/, "")`,
        };
        const contents = readFileSync(path, "utf8").replace(
          /\bimport\.meta\.(url|filename|dirname)\b/g,
          (_, name) => places[name],
        );
        const helper = contents.includes("droverPathOf(")
          ? 'import { fileURLToPath as droverPathOf } from "node:url"; '
          : "";
        return { contents: helper + contents, loader: "ts" };
      });
    },
  };
}

/** `x.worker.ts` becomes `dist/<its folder>/x.worker.mjs`. */
function workers() {
  const files = sourceFiles().filter((file) => file.endsWith(".worker.ts"));
  return Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ""), file]));
}

function copyAssets() {
  for (const file of sourceFiles().filter((name) => ASSETS.test(name))) {
    mkdirSync(join(DIST, dirname(file)), { recursive: true });
    cpSync(join(SRC, file), join(DIST, file));
  }
}

function sourceFiles() {
  return readdirSync(SRC, { recursive: true }).map((file) => file.split(sep).join("/"));
}
