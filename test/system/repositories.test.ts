import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { answer, CERTIFICATE, GitHost, toolCall } from "@drover/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Conversation, isType, resultsOf } from "./support/conversation.ts";
import { handsPid } from "./support/host.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

const TOKEN = "canary-of-a-repository-token-that-nobody-sees";

const folder = mkdtempSync(join(tmpdir(), "drover-ca-"));
const certificates = join(folder, "ca.pem");
writeFileSync(certificates, CERTIFICATE);
afterAll(() => rmSync(folder, { recursive: true }));

/** The operator trusts the host's authority, as the host of a company's own needs it. */
const world = useWorld({ DROVER_EGRESS_ALLOW: "127.0.0.1", NODE_EXTRA_CA_CERTS: certificates });

let host: GitHost;
beforeAll(async () => {
  host = await GitHost.start();
  host.repository("acme/widgets", { "src/main.py": "print('widgets')\n" });
  host.tokens.set("acme/widgets", { takes: TOKEN });
});
afterAll(() => host[Symbol.asyncDispose]());

const repository = (fields: object = {}) => ({
  type: "github_repository" as const,
  url: host.url("acme/widgets"),
  ...fields,
});

const bash = (command: string) => script(answer(toolCall("bash", { command })), answer("done"));

test("a session's tools find its repository, and its token nowhere", async () => {
  const talk = await Conversation.open(world(), {
    resources: [repository({ authorization_token: TOKEN, mount_path: "/workspace/code" })],
  });
  await talk.say(
    bash("cat code/src/main.py; git -C code log --format=%s; env; cat code/.git/config"),
  );
  const history = await talk.afterTurns(1);
  const [result] = resultsOf(history);
  expect(result).toMatchObject({ isError: false });
  expect(result?.text).toMatch(/^print\('widgets'\)\nA commit\n/);
  expect(history.filter(isType("session.error"))).toEqual([]);
  const seen = [JSON.stringify(history), world().log, JSON.stringify(world().model.requests)];
  expect(seen.join("").includes(TOKEN)).toBe(false);
  // Of everything on disk: the database has it sealed, and nothing else has it.
  const found = execFileSync(
    "/bin/sh",
    ["-c", `grep -rl -e "$1" -e "$2" "$3" || true`, "sh", TOKEN, encoded(TOKEN), world().data],
    { encoding: "utf8" },
  );
  expect(found).toBe("");
});

test("a token that is not taken is an error of its own, and a new one brings the repository", async () => {
  const talk = await Conversation.open(world(), {
    resources: [repository({ authorization_token: "expired" })],
  });
  await talk.say(bash("ls -A"));
  const first = await talk.afterTurns(1);
  expect(first.filter(isType("session.error")).map(({ error }) => error)).toEqual([
    {
      type: "repository_authentication_error",
      message: `${host.url("acme/widgets")} could not be cloned to /workspace/widgets: its server does not take the token.`,
      repository_url: host.url("acme/widgets"),
      retry_status: { type: "retrying" },
    },
  ]);
  expect(first.at(-1)).toMatchObject({ stop_reason: { type: "end_turn" } });
  // The model hears of it with the result.
  expect(resultsOf(first)[0]?.text).toMatch(/\[https:.* does not take the token\.\]$/);
  const { resources } = world().client.beta.sessions;
  const [attached] = (await resources.list(talk.id)).data;
  if (attached?.type !== "github_repository") throw new Error("there is no repository");
  await resources.update(attached.id, { session_id: talk.id, authorization_token: TOKEN });
  await talk.say(bash("cat widgets/src/main.py"));
  const history = await talk.afterTurns(2);
  expect(resultsOf(history)[1]).toEqual({ text: "print('widgets')", isError: false });
  expect(history.filter(isType("session.error"))).toHaveLength(1);
});

test("hands that are killed while they clone leave nothing of it; the next call has the repository", async () => {
  const asked = Promise.withResolvers<void>();
  let isHeld = true;
  host.repository("acme/slow", { file: "slow\n" });
  host.intercept = ({ url }) => {
    if (!isHeld || url?.startsWith("/acme/slow/git-upload-pack") !== true) return false;
    asked.resolve();
    return true;
  };
  const talk = await Conversation.open(world(), {
    resources: [repository({ url: host.url("acme/slow") })],
  });
  const [one, two] = [toolCall("bash", { command: "cat slow/file" }), answer("done")];
  await talk.say(script(answer(one), answer(one), two));
  await asked.promise;
  expect(clones()).toHaveLength(1);
  isHeld = false;
  process.kill(handsPid(world()) ?? 0, "SIGKILL");
  const results = resultsOf(await talk.afterTurns(1));
  expect(results.map(({ isError }) => isError)).toEqual([true, false]);
  expect(results[1]?.text).toBe("slow");
  await until("no provisioning sandbox", async () => clones().length === 0 || undefined);
});

function clones(): string[] {
  return readdirSync(join(world().data, "hands")).filter((name) => name.endsWith("-clone"));
}

function encoded(token: string): string {
  return Buffer.from(`x-access-token:${token}`).toString("base64");
}
