import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { CheckpointOutcome } from "../../core/ports/checkpoints.ts";
import type { CredentialAnswer, SealedOAuth } from "../../core/ports/credential-broker.ts";
import type { TrialOutcome } from "../../core/ports/credential-trials.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import type { HandCall, HandOfSession, OutputFile, Recovered } from "../../core/ports/hands.ts";
import type { McpListing, McpListRequest } from "../../core/ports/mcp-servers.ts";
import type { MemoryOffer } from "../../core/ports/memory-copies.ts";
import type { ProvisionRequest } from "../../core/ports/sandbox.ts";
import type { CarryOutcome, SealedMove } from "../../core/ports/secret-carrier.ts";
import { failPoint } from "../../lib/fail-point.ts";
import type { WaitingQuestion } from "../credentials/question-box.ts";
import type { Admission } from "../journal/call-journal.ts";
import type { CallRecord } from "../journal/call-record.ts";
import { AnswerMessage, CarryMessage, OAuthMessage } from "./credential-messages.ts";
import {
  type Answer,
  decodeId,
  numberOf,
  ok,
  ProtocolError,
  readJson,
  refuse,
  send,
  unknownCall,
  whileThere,
} from "./exchange.ts";
import type { HandsAddress } from "./hands-file.ts";
import { PROTOCOL_VERSION } from "./hands-file.ts";
import {
  AcknowledgeMessage,
  CallMessage,
  CancelMessage,
  HandMessage,
  MemoryMessage,
  OUTPUT_BYTES_MAX,
  PROTOCOL_HEADER,
  REPORTS_MAX,
  ToolsMessage,
  WAIT_MS_MAX,
} from "./messages.ts";

/** What the socket's edge asks for; everything behind it is plain values. */
export interface HandsService {
  submit(call: HandCall): Admission;
  find(callId: string): CallRecord | undefined;
  /**
   * Resolves when the call has ended, after `waitMs`, when the signal is aborted, or, if that is given, when
   * its hand has outputs with a place after `outputsAfter`.
   */
  wait(
    record: CallRecord,
    until: { waitMs: number; outputsAfter: number | undefined },
    signal: AbortSignal,
  ): Promise<void>;
  /** What waits to be committed of the files that the call is for, of places after the given one. */
  outputsOf(call: HandCall, after?: number): readonly OutputFile[];
  settleOutputs(handId: string, to: number): Promise<void>;
  /** Undefined if no sandbox can be had to look for it. */
  recover(hand: HandOfSession): Promise<Recovered | undefined>;
  /** Looks for outputs in a sandbox that lives, if there is one, for some seconds. */
  lookAtOutputs(hand: HandOfSession): Promise<readonly OutputFile[]>;
  cancel(call: Pick<HandCall, "sessionId" | "callId" | "epoch">): void;
  settle(callId: string): void;
  dispose(handId: string): Promise<void>;
  checkpoint(hand: ProvisionRequest): Promise<CheckpointOutcome>;
  offerMemory(
    handId: string,
    offer: Omit<MemoryOffer, "handId" | "handsBoot">,
  ): Promise<readonly string[]>;
  /** Never rejects; ends soon when the signal is aborted. */
  listTools(request: McpListRequest, signal: AbortSignal): Promise<McpListing>;
  /** What was kept of idle hands and is not acknowledged yet. */
  reports(): readonly HandReport[];
  acknowledge(handId: string, takenAt: string): Promise<void>;
  /** What no server has taken of what is asked of them, as soon as there is something. */
  takeQuestions(waitMs: number, signal: AbortSignal): Promise<readonly WaitingQuestion[]>;
  answerQuestion(id: string, answer: CredentialAnswer): void;
  tryCredential(credential: SealedOAuth): Promise<TrialOutcome>;
  carrySecrets(moves: readonly SealedMove[]): CarryOutcome;
  requestStop(): void;
  /** A server spoke, with the right token. */
  heard(): void;
  /** Something threw that never should. */
  reportBug(error: unknown): void;
}

type Handler = (request: IncomingMessage, url: URL, id: string) => Answer | Promise<Answer>;

const CONNECTIONS_MAX = 4_096;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 60_000;

/** The protocol's HTTP edge: who may speak, what is well-formed, and which status says what. */
export class HandsServer {
  readonly #service: HandsService;
  readonly #tokenHash: Buffer;
  readonly #identity: { installation_id: string; boot: string };
  readonly #server: Server;
  readonly #routes: readonly (readonly [string, RegExp, Handler])[] = [
    ["GET", /^\/v1\/boot$/, () => ok(this.#identity)],
    ["PUT", /^\/v1\/calls\/([^/]+)$/, (request, _url, id) => this.#submit(request, id)],
    ["GET", /^\/v1\/calls\/([^/]+)$/, (request, url, id) => this.#wait(request, url, id)],
    ["GET", /^\/v1\/calls\/([^/]+)\/output$/, (_request, url, id) => this.#output(url, id)],
    ["POST", /^\/v1\/calls\/([^/]+)\/cancel$/, (request, _url, id) => this.#cancel(request, id)],
    ["DELETE", /^\/v1\/calls\/([^/]+)$/, (_request, _url, id) => this.#settle(id)],
    ["DELETE", /^\/v1\/hands\/([^/]+)$/, (_request, _url, id) => this.#dispose(id)],
    [
      "POST",
      /^\/v1\/hands\/([^/]+)\/checkpoint$/,
      (request, _url, id) => this.#checkpoint(request, id),
    ],
    [
      "POST",
      /^\/v1\/hands\/([^/]+)\/outputs$/,
      (request, url, id) => this.#lookForOutputs(request, url, id),
    ],
    [
      "DELETE",
      /^\/v1\/hands\/([^/]+)\/outputs$/,
      (_request, url, id) => this.#settleOutputs(url, id),
    ],
    ["PUT", /^\/v1\/hands\/([^/]+)\/memory$/, (request, _url, id) => this.#memory(request, id)],
    ["GET", /^\/v1\/reports$/, () => this.#reports()],
    [
      "POST",
      /^\/v1\/reports\/([^/]+)\/acknowledge$/,
      (request, _url, id) => this.#acknowledge(request, id),
    ],
    ["GET", /^\/v1\/questions$/, (request, url) => this.#questions(request, url)],
    ["POST", /^\/v1\/questions\/([^/]+)$/, (request, _url, id) => this.#hear(request, id)],
    ["POST", /^\/v1\/credentials\/try$/, (request) => this.#tryCredential(request)],
    ["POST", /^\/v1\/mcp\/tools$/, (request) => this.#listTools(request)],
    ["POST", /^\/v1\/secrets\/carry$/, (request) => this.#carrySecrets(request)],
    ["POST", /^\/v1\/stop$/, () => this.#stop()],
  ];

  constructor(options: {
    service: HandsService;
    token: string;
    installationId: string;
    boot: string;
  }) {
    this.#service = options.service;
    this.#tokenHash = sha256(options.token);
    this.#identity = { installation_id: options.installationId, boot: options.boot };
    this.#server = createServer(
      { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** Listens on the socket path, or on a free loopback port; resolves with where. */
  listen(path: string | undefined): Promise<HandsAddress> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.once("listening", () => {
        const address = this.#server.address();
        if (typeof address === "string") resolve({ type: "socket", path: address });
        else if (address) resolve({ type: "port", port: address.port });
        else reject(new Error("a listening server has no address"));
      });
      if (path === undefined) this.#server.listen(0, "127.0.0.1");
      else this.#server.listen(path);
    });
  }

  /** Cuts every connection; those who wait on one find out who answers next. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answer(request);
      failPoint("hands.reply.before");
      send(response, answer);
      failPoint("hands.reply.after");
    } catch (error) {
      const known = error instanceof ProtocolError;
      // A request that broke off is its sender's business.
      if (!known && !request.errored) this.#service.reportBug(error);
      send(response, known ? error.answer : refuse(500, "internal", "internal error"));
    }
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    if (!this.#isAuthorized(request)) return refuse(401, "token", "the token is not this boot's");
    this.#service.heard();
    if (request.headers[PROTOCOL_HEADER] !== String(PROTOCOL_VERSION)) {
      return refuse(400, "protocol", `these hands speak protocol ${PROTOCOL_VERSION} only`);
    }
    const url = new URL(request.url ?? "/", "http://hands");
    for (const [method, pattern, handler] of this.#routes) {
      const match = request.method === method ? pattern.exec(url.pathname) : null;
      if (match) return await handler(request, url, decodeId(match[1] ?? ""));
    }
    return refuse(404, "route", `there is no ${request.method} ${url.pathname}`);
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const [scheme, token] = (request.headers.authorization ?? "").split(" ");
    // Hashes, because the comparison in constant time wants equal lengths.
    return scheme === "Bearer" && timingSafeEqual(sha256(token ?? ""), this.#tokenHash);
  }

  async #submit(request: IncomingMessage, callId: string): Promise<Answer> {
    const call = CallMessage.safeParse(await readJson(request));
    if (!call.success) return refuse(400, "invalid", call.error.message);
    if (call.data.callId !== callId)
      return refuse(400, "invalid", "the call's id is not the path's");
    failPoint("hands.call.before_admit");
    const admission = this.#service.submit(call.data);
    failPoint("hands.call.after_admit");
    switch (admission.type) {
      case "new":
      case "known":
        return this.#describe(admission.record);
      case "refused":
        return refuse(409, admission.reason, admission.message);
      case "full":
        return refuse(503, "full", admission.message);
    }
  }

  async #wait(request: IncomingMessage, url: URL, callId: string): Promise<Answer> {
    const record = this.#service.find(callId);
    if (!record) return unknownCall(callId);
    const waitMs = Math.min(numberOf(url, "wait_ms"), WAIT_MS_MAX);
    const isTaker = url.searchParams.has("outputs_after");
    const outputsAfter = isTaker ? numberOf(url, "outputs_after") : undefined;
    await whileThere(request, (gone) => this.#service.wait(record, { waitMs, outputsAfter }, gone));
    return this.#describe(record, outputsAfter);
  }

  /** With the outcome go all outputs that are not committed, as they are now: newer than when it ended. */
  #describe({ call, outcome, state }: CallRecord, outputsAfter?: number): Answer {
    if (outcome?.type === "result") {
      const outputs = this.#service.outputsOf(call);
      return ok({ state: "done", outcome: { ...outcome, outputs } });
    }
    if (outcome) return ok({ state: "done", outcome });
    if (outputsAfter === undefined) return ok({ state });
    return ok({ state, outputs: this.#service.outputsOf(call, outputsAfter) });
  }

  #output(url: URL, callId: string): Answer {
    const record = this.#service.find(callId);
    if (!record) return unknownCall(callId);
    const { bytes, start, total } = record.output.read(numberOf(url, "from"), OUTPUT_BYTES_MAX);
    return ok({ data: Buffer.from(bytes).toString("base64"), start, total });
  }

  async #cancel(request: IncomingMessage, callId: string): Promise<Answer> {
    const message = CancelMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    failPoint("hands.cancel.before");
    this.#service.cancel({ ...message.data, callId });
    failPoint("hands.cancel.after");
    return { status: 202 };
  }

  #settle(callId: string): Answer {
    failPoint("hands.settle.before");
    this.#service.settle(callId);
    failPoint("hands.settle.after");
    return { status: 204 };
  }

  async #memory(request: IncomingMessage, handId: string): Promise<Answer> {
    const message = MemoryMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    return ok({ missing: await this.#service.offerMemory(handId, message.data) });
  }

  async #checkpoint(request: IncomingMessage, handId: string): Promise<Answer> {
    const message = HandMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    const outcome = await this.#service.checkpoint({ ...message.data, handId });
    if (outcome.type === "taken") return ok(outcome.checkpoint);
    return refuse(outcome.type === "refused" ? 409 : 503, outcome.type, outcome.message);
  }

  async #lookForOutputs(request: IncomingMessage, url: URL, handId: string): Promise<Answer> {
    const message = HandMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    const hand = { ...message.data, handId };
    if (url.searchParams.has("live")) {
      return ok({ outputs: await this.#service.lookAtOutputs(hand) });
    }
    const recovered = await this.#service.recover(hand);
    if (recovered !== undefined) return ok(recovered);
    return refuse(503, "unavailable", "no sandbox can be had to look for what was left");
  }

  async #settleOutputs(url: URL, handId: string): Promise<Answer> {
    await this.#service.settleOutputs(handId, numberOf(url, "to"));
    return { status: 204 };
  }

  async #listTools(request: IncomingMessage): Promise<Answer> {
    const message = ToolsMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    return ok(await whileThere(request, (signal) => this.#service.listTools(message.data, signal)));
  }

  #reports(): Answer {
    return ok({ reports: this.#service.reports().slice(0, REPORTS_MAX) });
  }

  async #acknowledge(request: IncomingMessage, handId: string): Promise<Answer> {
    const message = AcknowledgeMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    failPoint("hands.acknowledge.before");
    await this.#service.acknowledge(handId, message.data.taken_at);
    failPoint("hands.acknowledge.after");
    return { status: 204 };
  }

  async #dispose(handId: string): Promise<Answer> {
    await this.#service.dispose(handId);
    return { status: 204 };
  }

  async #questions(request: IncomingMessage, url: URL): Promise<Answer> {
    const waitMs = Math.min(numberOf(url, "wait_ms"), WAIT_MS_MAX);
    const questions = await whileThere(request, (gone) =>
      this.#service.takeQuestions(waitMs, gone),
    );
    return ok({ questions });
  }

  async #hear(request: IncomingMessage, id: string): Promise<Answer> {
    const message = AnswerMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    this.#service.answerQuestion(id, message.data);
    return { status: 204 };
  }

  async #tryCredential(request: IncomingMessage): Promise<Answer> {
    const message = OAuthMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    const outcome = await this.#service.tryCredential(message.data);
    if (outcome.type === "verdict") return ok(outcome);
    return refuse(503, "unavailable", outcome.message);
  }

  async #carrySecrets(request: IncomingMessage): Promise<Answer> {
    const message = CarryMessage.safeParse(await readJson(request));
    if (!message.success) return refuse(400, "invalid", message.error.message);
    const outcome = this.#service.carrySecrets(message.data.moves);
    if (outcome.type === "carried") return ok({ sealed: outcome.sealed });
    return refuse(503, "unavailable", outcome.message);
  }

  #stop(): Answer {
    this.#service.requestStop();
    return { status: 202 };
  }
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
