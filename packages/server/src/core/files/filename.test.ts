import { describe, expect, test } from "vitest";
import { storedFilename } from "./filename.ts";
import { storedMimeType } from "./mime-type.ts";

describe("a stored filename", () => {
  test.each<[string | undefined, string]>([
    ["data.csv", "data.csv"],
    ["/etc/passwd", "passwd"],
    ["..\\..\\boot.ini", "boot.ini"],
    ["a/b/", "unnamed.csv"],
    ["..", "unnamed.csv"],
    ["  ", "unnamed.csv"],
    [undefined, "unnamed.csv"],
    ["naïve – Übersicht.csv", "naïve – Übersicht.csv"],
    ["x".repeat(255), "x".repeat(255)],
  ])("of %j", (sent, stored) => {
    expect(storedFilename(sent, "text/csv")).toBe(stored);
  });

  test("has no extension for a type that is not known", () => {
    expect(storedFilename(undefined, "application/octet-stream")).toBe("unnamed");
  });

  test.each([["a\0b"], ["a\nb"], ["a\x7fb"], ["a\u2028b"], ["\ud83d"]])("is never %j", (sent) => {
    expect(() => storedFilename(sent, "text/csv")).toThrow("control characters");
  });

  test("is at most 255 bytes long", () => {
    expect(() => storedFilename("ü".repeat(128), "text/csv")).toThrow("longer than 255 bytes");
  });
});

describe("a stored type", () => {
  test.each<[string | undefined, string | undefined, string]>([
    ["text/plain; charset=utf-8", "a.csv", "text/plain"],
    ["Application/PDF", undefined, "application/pdf"],
    ["application/octet-stream", "a.CSV", "text/csv"],
    [undefined, "a.tar.gz", "application/gzip"],
    [undefined, "no-extension", "application/octet-stream"],
    [undefined, "a.constructor", "application/octet-stream"],
    ["text/html\r\nx-evil: 1", "a.png", "image/png"],
    ["", undefined, "application/octet-stream"],
  ])("of %j and %j", (sent, filename, stored) => {
    expect(storedMimeType(sent, filename)).toBe(stored);
  });
});
