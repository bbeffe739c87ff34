import type { Contract } from "./document.ts";
import type { FuzzRequest, Who } from "./requests.ts";
import type { FuzzAnswer } from "./send.ts";
import { problemIn } from "./validate.ts";

interface World {
  readonly contract: Contract;
  /** What an answer tells of the other workspace that the request did not; undefined if nothing. */
  readonly leakIn: (who: Who, sent: string, text: string) => string | undefined;
}

/** What is wrong with an answer; undefined if nothing is. */
export function problemOf(
  request: FuzzRequest,
  answer: FuzzAnswer,
  { contract, leakIn }: World,
): string | undefined {
  const { status, text, headers } = answer;
  const sent = [request.path, ...request.headers.flat(), Buffer.from(request.body ?? "")].join(
    "\n",
  );
  const leak = leakIn(request.who, sent, `${JSON.stringify(headers)}${text}`);
  if (leak !== undefined) return `tells ${request.who} of ${leak}`;
  if (status >= 200 && status < 300) return problemOfSuccess(request, answer, contract);
  return problemOfRefusal(request, answer);
}

function problemOfSuccess(
  { endpoint, method }: FuzzRequest,
  { text, headers }: FuzzAnswer,
  contract: Contract,
): string | undefined {
  const { answer } = endpoint;
  if (answer === undefined || method !== endpoint.method) return undefined;
  if (headers["content-type"] !== "application/json") return `no JSON: ${text.slice(0, 100)}`;
  return problemIn(contract, answer, JSON.parse(text));
}

function problemOfRefusal(
  { method, endpoint }: FuzzRequest,
  { status, text, headers }: FuzzAnswer,
): string | undefined {
  if (status < 400) return `status ${status}`;
  // Node itself answers what is no HTTP, before there is a request; and to HEAD there is no body.
  if (text === "" && (method === "HEAD" || [400, 417, 431].includes(status))) return undefined;
  const body = JSON.parse(text);
  const { type, message } = body.error ?? {};
  const isEnvelope = body.type === "error" && typeof type === "string";
  if (!isEnvelope || typeof message !== "string" || message.length < 5) return `says ${text}`;
  if (message.length > 2_001) return `says too much: ${message.length} characters`;
  if (headers["request-id"] !== body.request_id && body.request_id !== null)
    return "request ids differ";
  if (status < 500) return undefined;
  const isNamed = status === 501 && message.includes("not implemented");
  return isNamed && endpoint.id !== "" ? undefined : `${status}: ${message}`;
}
