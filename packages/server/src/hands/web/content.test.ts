import { expect, test } from "vitest";
import { decodedText } from "./charset.ts";
import { kindOf } from "./content-kind.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);
const latin = (text: string) => Buffer.from(text, "latin1");
const PNG = latin("\x89PNG\r\n\x1a\n....");

test.each([
  ["text/html; charset=utf-8", latin("<p>x"), "html"],
  ["application/xhtml+xml", latin("<p>x"), "html"],
  ["", latin("  <!DOCTYPE html><p>"), "html"],
  ["text/markdown", latin("# x"), "text"],
  ["application/json", latin("{}"), "text"],
  ["application/atom+xml", latin("<feed/>"), "text"],
  ["image/svg+xml", latin("<svg/>"), "text"],
  ["", latin("plain words"), "text"],
  ["text/plain; charset=utf-16", latin("\xff\xfea\0"), "text"],
  ["image/png", PNG, "image"],
  ["image/jpeg", PNG, "image"],
  ["", PNG, "image"],
  ["application/pdf", latin("%PDF-1.7"), "pdf"],
  ["application/octet-stream", latin("%PDF-1.7"), "pdf"],
  ["application/pdf", latin("no such thing"), "unsupported"],
  ["image/png", latin("<html>"), "unsupported"],
  ["text/plain", latin("a\0b"), "unsupported"],
  ["", latin("a\x01b"), "unsupported"],
  ["application/zip", latin("PK.."), "unsupported"],
  ["video/mp4", latin("...."), "unsupported"],
])("%s with %s is %s", (contentType, body, kind) => {
  expect(kindOf(contentType, body).type).toBe(kind);
});

test.each([
  ["text/plain", Buffer.from("für"), "für"],
  ["text/plain; charset=iso-8859-1", bytes(0x66, 0xfc, 0x72), "für"],
  ['text/html; charset="windows-1251"', bytes(0xe4, 0xe0), "да"],
  ["text/html; charset=shift_jis", bytes(0x93, 0xfa), "日"],
  ["text/html; charset=of-tomorrow", Buffer.from("für"), "für"],
  ["text/html; charset=latin1", bytes(0xef, 0xbb, 0xbf, 0xc3, 0xbc), "ü"],
  ["", bytes(0xff, 0xfe, 0x66, 0x00), "f"],
  ["", bytes(0xfe, 0xff, 0x00, 0x66), "f"],
  ["text/html", latin('<meta charset="iso-8859-15">\xa4'), '<meta charset="iso-8859-15">€'],
  ["text/plain", bytes(0x66, 0xff, 0x72), "f\uFFFDr"],
])("%s: %s is read as %s", (contentType, body, text) => {
  expect(decodedText(contentType, body)).toBe(text);
});
