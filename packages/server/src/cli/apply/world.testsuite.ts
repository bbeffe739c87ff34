import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { onTestFinished } from "vitest";
import { openWorld } from "../../http/world.testsuite.ts";
import { type ApplyOptions, apply } from "./apply.ts";

/** A server in this process, files on disk, and `apply` between them. */
export async function openApplyWorld() {
  const server = await openWorld();
  const client = new Anthropic({
    apiKey: server.key,
    baseURL: "http://drover.test",
    maxRetries: 0,
    fetch: async (url, init) => await server.app.request(String(url), init as RequestInit),
  });
  const folder = mkdtempSync(join(tmpdir(), "drover-apply-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const run = async (
    options: Partial<ApplyOptions> = {},
    confirm?: () => Promise<boolean>,
  ): Promise<{ code: number; text: string }> => {
    const said: string[] = [];
    const code = await apply(
      client,
      { paths: [folder], yes: true, dryRun: false, ...options },
      { say: (text) => said.push(text), paint: (_, text) => text, confirm },
    );
    return { code, text: said.join("\n") };
  };
  return { server, client, beta: client.beta, folder, write, run };
}
