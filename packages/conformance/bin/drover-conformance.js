#!/usr/bin/env node
import { existsSync } from "node:fs";

const program = new URL("../dist/main.mjs", import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write("drover-conformance is not built; run `npm run build` first.\n");
  process.exitCode = 1;
}
