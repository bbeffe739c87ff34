import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { startServer } from "../support/drover.ts";
import { textsOf } from "../support/session-run.ts";
import { example } from "./example.ts";

const ROOT = join(import.meta.dirname, "../..");

test("the README's lines are those of the example that the next test runs", () => {
  const source = readFileSync(join(import.meta.dirname, "example.ts"), "utf8");
  const lines = /README: begin\n([\s\S]*?)\n *\/\/ README: end/.exec(source)?.[1] ?? "";
  const shown = lines.replace(/^ {2}/gm, "");
  expect(shown).not.toBe("");
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(`\`\`\`ts\n${shown}\n\`\`\``);
});

test("the README's lines make an agent answer", async () => {
  const server = await startServer();
  const sessionId = await example(server.url, server.apiKey, "Good morning.");
  const client = new Anthropic({ baseURL: server.url, apiKey: server.apiKey });
  for await (const event of await client.beta.sessions.events.stream(sessionId)) {
    if (event.type === "session.status_idle") break;
  }
  const { data } = await client.beta.sessions.events.list(sessionId);
  expect(textsOf(data, "agent.message")).toBe("Good morning.");
});

test("every page that a document points to is there", () => {
  const pages = ["README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"].concat(
    readdirSync(join(ROOT, "docs"))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  );
  const broken = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    return [...text.matchAll(/\]\(([^)#:]+)\)/g)]
      .map(([, target = ""]) => join(ROOT, page, "..", target))
      .filter((target) => !isThere(target))
      .map((target) => `${page}: ${target}`);
  });
  expect(broken).toEqual([]);
});

function isThere(path: string): boolean {
  try {
    readdirSync(path);
    return true;
  } catch (error) {
    // A file is no folder, but it is there.
    return error instanceof Error && "code" in error && error.code === "ENOTDIR";
  }
}
