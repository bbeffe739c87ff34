import { execFileSync } from "node:child_process";
import { answer, PrivateEngine, toolCall } from "@drover/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Conversation, resultsOf } from "./support/conversation.ts";
import { script } from "./support/last-words.ts";
import { until } from "./support/until.ts";
import { useWorld } from "./support/world.ts";

// An engine of one's own needs root.
describe.skipIf(process.getuid?.() !== 0)("sandboxes by provider", () => {
  const engine = new PrivateEngine();
  beforeAll(async () => engine.start());
  // Called in the opposite order: the server ends first.
  afterAll(async () => engine[Symbol.asyncDispose]());
  const world = useWorld({
    DROVER_SANDBOX_PROVIDER: "docker,bubblewrap,gvisor",
    DROVER_DOCKER_SOCKET: engine.socketPath,
  });

  const containers = () =>
    execFileSync("docker", ["-H", `unix://${engine.socketPath}`, "ps", "-aq"], {
      encoding: "utf8",
    })
      .split("\n")
      .filter((line) => line !== "");

  async function kernelSeen(provider: string | undefined): Promise<string> {
    const talk = await Conversation.open(world(), {
      ...(provider !== undefined && { environmentMetadata: { "drover.provider": provider } }),
    });
    const command = "cat /proc/1/comm; cat /proc/version; echo kept > /workspace/kept";
    await talk.say(script(answer(toolCall("bash", { command })), answer("done")));
    const [result] = resultsOf(await talk.afterTurns(1));
    await world().client.beta.sessions.delete(talk.id);
    return result?.text.trim() ?? "";
  }

  test("are made by the server's first provider, or the one that the environment names", async () => {
    const host = execFileSync("cat", ["/proc/version"], { encoding: "utf8" }).trim();
    expect(await kernelSeen(undefined)).toBe(`perl\n${host}`);
    expect(await kernelSeen("bubblewrap")).toBe(`bwrap\n${host}`);
    const emulated = await kernelSeen("gvisor");
    expect(emulated).toMatch(/^perl\nLinux version /);
    expect(emulated).not.toContain(host);
    await until("the end of all containers", () => containers().length === 0 || undefined);
  });

  test("are refused by the field's name where they cannot be had", async () => {
    const made = world().client.beta.environments.create({
      name: "unknown",
      metadata: { "drover.provider": "podman" },
    });
    await expect(made).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("metadata.drover.provider"),
    });
  });

  test("live on without the server, and a restart of the engine costs one call at most", async () => {
    const talk = await Conversation.open(world());
    const say = (command: string) =>
      talk.say(script(answer(toolCall("bash", { command })), answer("done")));
    await say("echo kept > /workspace/kept; X=here");
    await talk.afterTurns(1);
    await world().kill();
    await world().start();
    await say("echo $X");
    expect(
      resultsOf(await talk.afterTurns(2))
        .at(-1)
        ?.text.trim(),
    ).toBe("here");
    await engine.kill();
    await engine.start();
    await say("true");
    await talk.afterTurns(3);
    await say("cat /workspace/kept");
    expect(
      resultsOf(await talk.afterTurns(4))
        .at(-1)
        ?.text.trim(),
    ).toBe("kept");
    await world().client.beta.sessions.delete(talk.id);
    await until("the end of all containers", () => containers().length === 0 || undefined);
  });
});
