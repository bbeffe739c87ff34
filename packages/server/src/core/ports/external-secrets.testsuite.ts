import { describe, expect, test } from "vitest";
import type { ExternalSecret, ExternalSecrets } from "./external-secrets.ts";

export interface ExternalSecretsWorld extends AsyncDisposable {
  readonly secrets: ExternalSecrets;
  put(workspaceId: string, name: string, text: string): Promise<void>;
  remove(workspaceId: string, name: string): Promise<void>;
}

/** The contract of `ExternalSecrets`, run by the test of every adapter. */
export function testExternalSecrets(name: string, open: () => Promise<ExternalSecretsWorld>): void {
  describe(`ExternalSecrets: ${name}`, () => {
    test("gives a workspace its own, as it is now", async () => {
      await using world = await open();
      await world.put("wrkspc_1", "team/key", "canary-one\n");
      await world.put("wrkspc_2", "team/key", "canary-two");
      const read = async (workspaceId: string) =>
        textOf(await world.secrets.read(workspaceId, "team/key", never()));
      expect(await read("wrkspc_1")).toBe("canary-one");
      expect(await read("wrkspc_2")).toBe("canary-two");
      expect(await read("wrkspc_3")).toMatch(/^unavailable: /);
      await world.put("wrkspc_1", "team/key", "canary-three");
      expect(await read("wrkspc_1")).toBe("canary-three");
      await world.remove("wrkspc_1", "team/key");
      expect(await read("wrkspc_1")).toMatch(/^unavailable: /);
    });

    test("keeps lines, letters of any kind, and takes one line's end away", async () => {
      await using world = await open();
      const text = "-----BEGIN-----\nüñ\u{1F511}\n\n";
      await world.put("wrkspc_1", "pem", text);
      const answer = await world.secrets.read("wrkspc_1", "pem", never());
      expect(textOf(answer)).toBe(text.slice(0, -1));
    });

    test.each(["", "x".repeat(70_000), "a\0b"])(
      "what is no secret is not given (%#)",
      async (text) => {
        await using world = await open();
        await world.put("wrkspc_1", "odd", text);
        const answer = textOf(await world.secrets.read("wrkspc_1", "odd", never()));
        expect(answer).toMatch(/^unavailable: /);
        expect(answer.length).toBeLessThan(500);
      },
    );

    test("leaves its folder by no name and no workspace", async () => {
      await using world = await open();
      await world.put("wrkspc_1", "key", "canary");
      for (const [workspace, secret] of [
        ["wrkspc_1", "../wrkspc_1/key"],
        ["wrkspc_2", "../wrkspc_1/key"],
        ["..", "key"],
        [".", "wrkspc_1/key"],
        ["wrkspc_2/../wrkspc_1", "key"],
      ] as const) {
        const answer = textOf(await world.secrets.read(workspace, secret, never()));
        expect(answer).toMatch(/^unavailable: /);
      }
    });

    test("an aborted signal ends it", async () => {
      await using world = await open();
      await world.put("wrkspc_1", "key", "canary");
      const answer = textOf(await world.secrets.read("wrkspc_1", "key", AbortSignal.abort()));
      expect(answer).toMatch(/^unavailable: /);
    });
  });
}

function textOf(answer: ExternalSecret): string {
  return answer.type === "secret" ? answer.secret.reveal() : `unavailable: ${answer.message}`;
}

function never(): AbortSignal {
  return new AbortController().signal;
}
