import { DOCS, type Rule } from "./rule.ts";
import { isObject } from "./shape.ts";

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const VERSIONS = ["2023-01-01", "2023-06-01", "2026-10-21"];

/** What is refused before the body is looked at as a request. */
export const HTTP_RULES: readonly Rule[] = [
  {
    id: "auth-missing",
    source: `${DOCS}/api/overview#authentication`,
    description: "A request names its credential in x-api-key or Authorization.",
    status: 401,
    check: ({ headers }) =>
      headers["x-api-key"] === undefined && headers.authorization === undefined
        ? "x-api-key header is required"
        : undefined,
  },
  {
    id: "auth-invalid",
    source: `${DOCS}/api/errors#http-errors`,
    description: "The credential is one the server knows.",
    status: 401,
    check: ({ headers, apiKey }) => {
      const bearer = headers.authorization?.replace(/^Bearer /, "");
      const given = headers["x-api-key"] ?? bearer;
      return given === apiKey ? undefined : "invalid x-api-key";
    },
  },
  {
    id: "version-missing",
    source: `${DOCS}/api/versioning`,
    description: "Every request has an anthropic-version header.",
    check: ({ headers }) =>
      headers["anthropic-version"] === undefined
        ? "anthropic-version: header is required"
        : undefined,
  },
  {
    id: "version-unknown",
    source: `${DOCS}/api/versioning`,
    description: "The version is one that was released.",
    check: ({ headers }) => {
      const version = String(headers["anthropic-version"]);
      return VERSIONS.includes(version)
        ? undefined
        : `anthropic-version: "${version}" is not a valid version`;
    },
  },
  {
    id: "body-too-large",
    source: `${DOCS}/api/errors#request-size-limits`,
    description: "A request is at most 32 MB.",
    status: 413,
    check: ({ rawBytes }) =>
      rawBytes > MAX_BODY_BYTES ? "Request exceeds the maximum size" : undefined,
  },
  {
    id: "body-json",
    source: "https://github.com/anthropics/claude-code/issues/8272",
    description: "The body is JSON.",
    check: ({ parseError }) =>
      parseError === undefined ? undefined : `The request body is not valid JSON: ${parseError}`,
  },
  {
    id: "body-surrogate",
    source: "https://github.com/anthropics/claude-code/issues/2108",
    description: "No string in the body has half of a surrogate pair, escaped or not.",
    check: ({ body }) =>
      body !== undefined && hasString(body, (value) => !value.isWellFormed())
        ? "The request body is not valid JSON: no low surrogate in string: line 1 column 1 (char 0)"
        : undefined,
  },
  {
    id: "body-nul",
    source: "RFC 8259 section 7 for raw NUL; stricter than documented for the escape",
    description: "No string in the body has a NUL character: no harness has a reason to send one.",
    check: ({ body }) =>
      body !== undefined && hasString(body, (value) => value.includes("\0"))
        ? "The request body contains a NUL character"
        : undefined,
  },
  {
    id: "body-object",
    source: `${DOCS}/api/messages/create`,
    description: "The body is an object.",
    check: ({ body }) => (isObject(body) ? undefined : "Input should be a valid dictionary"),
  },
];

function hasString(value: unknown, test: (text: string) => boolean): boolean {
  if (typeof value === "string") return test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => test(key) || hasString(item, test));
}
