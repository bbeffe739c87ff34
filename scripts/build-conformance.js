// Bundles packages/conformance into packages/conformance/dist, which is what its npm package holds.
import { cpSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { CONFORMANCE, ROOT } from "./lib/paths.js";
import { say } from "./lib/say.js";

const DIST = join(CONFORMANCE, "dist");

// Loaded late, so that the sentence comes first where packages are missing.
const { build } = await import("esbuild").catch(() => {
  throw new Error("The packages are not installed; run `npm ci` first.");
});

rmSync(DIST, { recursive: true, force: true });
await build({
  entryPoints: [join(CONFORMANCE, "src", "main.ts")],
  outdir: DIST,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22.12",
  conditions: ["drover-source"],
  absWorkingDir: ROOT,
  legalComments: "none",
  logLevel: "warning",
});
cpSync(join(ROOT, "LICENSE"), join(CONFORMANCE, "LICENSE"));
say(`Built ${relative(ROOT, DIST)}.`);
