/**
 * The double as a process of its own, for benchmarks and fault tests:
 * `node --conditions=drover-source main.ts '{"port":0,"contextTokens":200000}'`.
 * Prints one line of JSON, `{"url":…,"apiKey":…}`, and runs until SIGTERM, SIGINT, or, with
 * `"untilStdinEnds":true`, until its parent is gone. Messages carry their own `#script`.
 */
import { type MessagesApiOptions, startMessagesApi } from "./server.ts";

interface Config {
  readonly port?: number;
  readonly apiKey?: string;
  readonly contextTokens?: number;
  readonly secret?: string;
  readonly keep?: number;
  readonly untilStdinEnds?: boolean;
}

const config: Config = JSON.parse(process.argv[2] ?? "{}");
const options: MessagesApiOptions = { keep: 0, ...config };
const api = await startMessagesApi(options);
process.stdout.write(`${JSON.stringify({ url: api.url, apiKey: api.apiKey })}\n`);

function end(): void {
  void api.close().finally(() => process.exit(0));
}

process.once("SIGTERM", end);
process.once("SIGINT", end);
if (config.untilStdinEnds === true) process.stdin.once("end", end).resume();
