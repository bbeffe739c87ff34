import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { drover, startServer, temporaryFolder } from "../support/drover.ts";

const PAGE = join(import.meta.dirname, "../../docs/apply.md");

/** Writes the page's examples that have a path after their language. */
function writeExamples(folder: string): void {
  const page = readFileSync(PAGE, "utf8");
  for (const [, path = "", text = ""] of page.matchAll(/^```\w+ (\S+)\n(.*?)^```$/gms)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

test("the examples of the documentation are applied as it says, once", async () => {
  const server = await startServer();
  const folder = temporaryFolder();
  writeExamples(folder);
  const env = { DROVER_DATA: server.data, DROVER_API_KEY: server.apiKey };
  const apply = (...args: string[]) =>
    drover(["apply", "definitions/", ...args], { env, cwd: folder });

  const dry = apply("--dry-run");
  expect(dry).toMatchObject({ status: 2, stderr: "" });
  expect(dry.stdout).toContain("5 to create, 0 to change, 0 unchanged.");
  expect(dry.stdout).not.toContain("\u001b");
  expect(apply()).toMatchObject({ status: 2, stdout: expect.stringContaining("Give --yes") });

  expect(apply("--yes", "--url", server.url)).toMatchObject({ status: 0, stderr: "" });
  const { beta } = new Anthropic({ baseURL: server.url, apiKey: server.apiKey });
  const agents = (await beta.agents.list()).data;
  expect(agents.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual([
    "analyst 1",
    "lead 1",
    "reviewer 1",
  ]);
  const analyst = agents.find(({ name }) => name === "analyst");
  expect(analyst?.system).toMatch(/^You analyse data\..*not sure of\.$/);
  expect(analyst?.skills).toMatchObject([{ type: "custom", version: expect.any(String) }]);

  const again = apply("--yes");
  expect(again).toMatchObject({ status: 0, stderr: "" });
  expect(again.stdout).toContain("0 to create, 0 to change, 5 unchanged.");

  const data = join(folder, "definitions/data.yaml");
  writeFileSync(data, readFileSync(data, "utf8").replace("description:", "descripton:"));
  const mistake = /^definitions\/\S+: descripton: unknown field$/m;
  const shown = readFileSync(PAGE, "utf8").match(mistake)?.[0];
  expect(apply("--yes")).toMatchObject({ status: 1, stdout: "", stderr: `${shown}\n` });
});

test("a server that is not there, and a key that is not to be sent away, are said in a sentence", () => {
  const folder = temporaryFolder();
  writeExamples(folder);
  const apply = (url: string) =>
    drover(["apply", "definitions/", "--yes", "--url", url], {
      env: { DROVER_DATA: join(folder, "data") },
      cwd: folder,
    });
  expect(apply("http://127.0.0.1:9")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /^The server http:\/\/127\.0\.0\.1:9 cannot be reached; start it/,
    ),
  });
  expect(apply("https://drover.example.com")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /^Set DROVER_API_KEY to a key of https:\/\/drover\.example\.com;/,
    ),
  });
});
