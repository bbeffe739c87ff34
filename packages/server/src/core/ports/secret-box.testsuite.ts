import { describe, expect, test } from "vitest";
import { Secret } from "../../lib/secret.ts";
import type { RotatingSecretBox } from "./secret-box.ts";

/** Opens a box, and gives it a new current key that keeps the ones before; see `testSecretBox`. */
export interface TestSecretBox extends AsyncDisposable {
  readonly box: RotatingSecretBox;
  rotate(): Promise<void>;
}

const PLACE = "wrkspc_1/vcrd_1/token";
const CANARY = "canary-7f3a9c";

/** The contract of `SecretBox` and `RotatingSecretBox`, run by the test of every implementation. */
export function testSecretBox(open: () => Promise<TestSecretBox>): void {
  describe("SecretBox", () => {
    test("opens what it sealed, whatever the text", async () => {
      await using world = await open();
      for (const text of ["", "x", CANARY, "grüße \u{1F511}", "y".repeat(100_000), "a\nb\0c"]) {
        const sealed = world.box.seal(new Secret(text), PLACE);
        expect(world.box.open(sealed, PLACE).reveal()).toBe(text);
      }
    });

    test("shows nothing of the secret, and never the same text twice", async () => {
      await using world = await open();
      const sealed = [1, 2, 3].map(() => world.box.seal(new Secret(CANARY), PLACE));
      expect(new Set(sealed).size).toBe(3);
      for (const text of sealed) {
        expect(text).toMatch(/^v1\.[\w.-]+$/);
        for (const part of text.split(".")) {
          expect(Buffer.from(part, "base64url").toString("latin1")).not.toContain(CANARY);
        }
      }
    });

    test("does not open in another place", async () => {
      await using world = await open();
      const sealed = world.box.seal(new Secret(CANARY), PLACE);
      for (const place of ["", "wrkspc_2/vcrd_1/token", "wrkspc_1/vcrd_2/token", `${PLACE}s`]) {
        expect(() => world.box.open(sealed, place)).toThrow("does not open");
      }
    });

    test("does not open when any character was changed, and says nothing of it", async () => {
      await using world = await open();
      const sealed = world.box.seal(new Secret(CANARY), PLACE);
      for (let at = 0; at < sealed.length; at += 1) {
        const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`;
        const error = thrownBy(() => world.box.open(changed, PLACE));
        expect(error.message).not.toContain(CANARY);
        expect(error.message).not.toContain(changed.slice(30, 60));
      }
      for (const text of ["", "v1", "v1...", `${sealed}.x`, sealed.slice(0, -4), CANARY]) {
        expect(() => world.box.open(text, PLACE)).toThrow("does not open");
      }
    });

    test("does not open with the envelope of another secret", async () => {
      await using world = await open();
      const [first, second] = ["one", "two"].map((text) => world.box.seal(new Secret(text), PLACE));
      const mixed = [...(first ?? "").split(".").slice(0, 3), (second ?? "").split(".")[3]];
      expect(() => world.box.open(mixed.join("."), PLACE)).toThrow("does not open");
    });

    test("opens under an earlier key, and seals under the current one", async () => {
      await using world = await open();
      const before = world.box.currentKeyId();
      const sealed = world.box.seal(new Secret(CANARY), PLACE);
      await world.rotate();
      expect(world.box.currentKeyId()).not.toBe(before);
      expect(world.box.keyIds()).toEqual([world.box.currentKeyId(), before]);
      expect(world.box.open(sealed, PLACE).reveal()).toBe(CANARY);
      const anew = world.box.seal(new Secret(CANARY), PLACE);
      expect(anew).toContain(world.box.currentKeyId());
      expect(anew).not.toContain(before);
    });

    test("renews the envelope alone", async () => {
      await using world = await open();
      const sealed = world.box.seal(new Secret(CANARY), PLACE);
      expect(world.box.renew(sealed)).toBe(sealed);
      await world.rotate();
      const renewed = world.box.renew(sealed);
      expect(renewed).toContain(world.box.currentKeyId());
      expect(renewed.split(".")[3]).toBe(sealed.split(".")[3]);
      expect(world.box.renew(renewed)).toBe(renewed);
      expect(world.box.open(renewed, PLACE).reveal()).toBe(CANARY);
      expect(() => world.box.open(renewed, "elsewhere")).toThrow("does not open");
      expect(() => world.box.renew("v1.none.none.none")).toThrow("does not open");
    });
  });
}

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}
