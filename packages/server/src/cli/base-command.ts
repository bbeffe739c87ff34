import { resolve } from "node:path";
import { Command } from "commander";
import type { Config } from "../config.ts";

interface BuildFlags {
  readonly include?: string;
  readonly suite?: string;
}

const MB = 1024 * 1024;

/** `drover base …`: the root file systems of sandboxes. */
export function baseCommand(config: () => Config, say: (text: string) => void): Command {
  const base = new Command("base").description("root file systems of sandboxes");
  const startedMs = performance.now();
  const onProgress = (line: string) => {
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    process.stderr.write(`${String(seconds).padStart(4)} s  ${line}\n`);
  };
  base
    .command("build")
    .description("build one from Debian packages; without a name, the full one")
    .argument("[name]", "full, small, or another with --include", "full")
    .option("--include <packages>", "further Debian packages, with commas between")
    .option("--suite <name>", "the release of Debian")
    .action(async (name: string, flags: BuildFlags) => {
      const { buildNamed } = await import("./base.ts");
      const { size_bytes, id } = await buildNamed(config(), { name, ...flags, onProgress });
      say(`Built ${name}: ${Math.ceil(size_bytes / MB)} MB, ${id.slice(0, 12)}.`);
      say(`New sessions have it with DROVER_SANDBOX_BASE=${name}.`);
    });
  base
    .command("import")
    .description("take a copy of a folder or a tar archive")
    .argument("<name>")
    .argument("<path>")
    .action(async (name: string, path: string) => {
      const { importNamed } = await import("./base.ts");
      const made = await importNamed(config(), { name, path: resolve(path), onProgress });
      say(`Imported ${name}: ${Math.ceil(made.size_bytes / MB)} MB, ${made.id.slice(0, 12)}.`);
      say(`New sessions have it with DROVER_SANDBOX_BASE=${name}.`);
    });
  base
    .command("list")
    .description("the ones that there are")
    .action(async () => {
      const { listBases } = await import("./base.ts");
      const all = listBases(config());
      for (const { name, id, made_at, size_bytes } of all) {
        say(`${name}  ${id.slice(0, 12)}  ${Math.ceil(size_bytes / MB)} MB  ${made_at}`);
      }
      if (all.length === 0) say("There is none; `drover base build` makes one.");
    });
  return base;
}
