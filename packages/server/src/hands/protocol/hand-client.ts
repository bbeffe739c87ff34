import type { CheckpointOutcome } from "../../core/ports/checkpoints.ts";
import type { HandReport } from "../../core/ports/hand-records.ts";
import type { HandOfSession, OutputFile, Recovered } from "../../core/ports/hands.ts";
import type { McpListing, McpListRequest } from "../../core/ports/mcp-servers.ts";
import type { MemoryOffer, MemoryOfferOutcome } from "../../core/ports/memory-copies.ts";
import type { ProvisionRequest } from "../../core/ports/sandbox.ts";
import { failPoint } from "../../lib/fail-point.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { LOST_MESSAGE, outputsPath } from "./call-answer.ts";
import { tellOn } from "./call-client.ts";
import type { HandsAnswer, HandsConnection } from "./hands-connection.ts";
import type { HandsFinder } from "./hands-finder.ts";
import {
  CheckpointAnswer,
  MemoryAnswer,
  OutputsAnswer,
  Refusal,
  ReportsAnswer,
  ToolsAnswer,
} from "./messages.ts";
import { givenUp, isUnreachable, messageOf } from "./unreachable.ts";

const DISPOSE_MS = 60_000;
const COLLECT_MS = 2 * 60_000;
/** A call's files may have to be looked through first. */
const OFFER_MS = 2 * 60_000;
/** A little more than the hands take for it. */
const CHECKPOINT_MS = 5 * 60_000;
/** A little more than the hands take for it. */
const LIST_MS = 60_000;
const NOTHING: Recovered = { outputs: [] };

/** Asks the hands for what belongs to a hand and not to one of its calls. See the ports that `LocalHands` implements. */
export class HandClient {
  readonly #finder: HandsFinder;
  readonly #closed: AbortSignal;

  /** `closed` is aborted when nothing is to be waited for any more. */
  constructor({ finder, closed }: { finder: HandsFinder; closed: AbortSignal }) {
    this.#finder = finder;
    this.#closed = closed;
  }

  async recover(hand: HandOfSession, signal: AbortSignal): Promise<Recovered> {
    return await this.#leftOf(hand, this.#finder.find(), { signal, query: "" });
  }

  async lookAtOutputs(hand: HandOfSession, signal: AbortSignal): Promise<readonly OutputFile[]> {
    const found = this.#finder.findRunning();
    return (await this.#leftOf(hand, found, { signal, query: "?live=1" })).outputs;
  }

  async #leftOf(
    { handId, workspaceId, recipe, line }: HandOfSession,
    found: Promise<HandsConnection | undefined>,
    { signal, query }: { signal: AbortSignal; query: string },
  ): Promise<Recovered> {
    try {
      const stop = this.#stop(signal);
      const connection = await unlessAborted(found, stop, givenUp);
      if (connection === undefined) return NOTHING;
      const path = `${outputsPath(handId)}${query}`;
      const body = { workspaceId, recipe, ...(line !== undefined && { line }) };
      const { status, body: given } = await connection.send(
        { method: "POST", path, body, silenceMs: COLLECT_MS },
        stop,
      );
      return status === 200 ? OutputsAnswer.parse(given) : NOTHING;
    } catch (error) {
      if (isUnreachable(error)) return NOTHING;
      throw error;
    }
  }

  async settleOutputs(handId: string, outputs: readonly OutputFile[]): Promise<void> {
    const to = Math.max(...outputs.map(({ found }) => found));
    const { last } = this.#finder;
    // Not tried again: what these hands do not hear of they give once more, which changes nothing.
    if (outputs.length === 0 || last === undefined) return;
    const path = `${outputsPath(handId)}?to=${to}`;
    await tellOn(last, (connection) => connection.send({ method: "DELETE", path }, this.#closed));
  }

  async dispose(handId: string): Promise<boolean> {
    try {
      failPoint("client.dispose.before");
      const signal = this.#closed;
      const connection = await unlessAborted(this.#finder.find(), signal, givenUp);
      const { status } = await connection.send(
        {
          method: "DELETE",
          path: `/v1/hands/${encodeURIComponent(handId)}`,
          silenceMs: DISPOSE_MS,
        },
        signal,
      );
      failPoint("client.dispose.after");
      return status === 204;
    } catch (error) {
      if (isUnreachable(error)) return false;
      throw error;
    }
  }

  async take(
    { handId, workspaceId, recipe }: ProvisionRequest,
    signal: AbortSignal,
  ): Promise<CheckpointOutcome> {
    try {
      const stop = this.#stop(signal);
      const connection = await unlessAborted(this.#finder.find(), stop, givenUp);
      const { status, body } = await connection.send(
        {
          method: "POST",
          path: `/v1/hands/${encodeURIComponent(handId)}/checkpoint`,
          body: { workspaceId, recipe },
          silenceMs: CHECKPOINT_MS,
        },
        stop,
      );
      if (status === 200) return { type: "taken", checkpoint: CheckpointAnswer.parse(body) };
      const message = Refusal.safeParse(body).data?.message ?? `status ${status} of the hands`;
      return { type: status === 409 ? "refused" : "unavailable", message };
    } catch (error) {
      if (isUnreachable(error)) return { type: "unavailable", message: messageOf(error) };
      throw error;
    }
  }

  async offer(
    { handId, handsBoot, ...offer }: MemoryOffer,
    signal: AbortSignal,
  ): Promise<MemoryOfferOutcome> {
    try {
      const stop = this.#stop(signal);
      const connection = await unlessAborted(this.#finder.find(), stop, givenUp);
      if (connection.boot !== handsBoot) return { type: "unavailable", message: LOST_MESSAGE };
      const path = `/v1/hands/${encodeURIComponent(handId)}/memory`;
      const { status, body } = await connection.send(
        { method: "PUT", path, body: offer, silenceMs: OFFER_MS },
        stop,
      );
      if (status === 200) return { type: "taken", missing: MemoryAnswer.parse(body).missing };
      const message = Refusal.safeParse(body).data?.message ?? `status ${status} of the hands`;
      return { type: "unavailable", message };
    } catch (error) {
      if (isUnreachable(error)) return { type: "unavailable", message: messageOf(error) };
      throw error;
    }
  }

  async listTools(request: McpListRequest, signal: AbortSignal): Promise<McpListing> {
    try {
      const { status, body } = await this.#askForTools(request, this.#stop(signal));
      if (status === 200) return ToolsAnswer.parse(body);
      const message = Refusal.safeParse(body).data?.message ?? `status ${status} of the hands`;
      return unlisted(request, message);
    } catch (error) {
      if (isUnreachable(error)) return unlisted(request, messageOf(error));
      throw error;
    }
  }

  /** Once more where the hands died over it: nothing is done by asking. */
  async #askForTools(body: McpListRequest, stop: AbortSignal): Promise<HandsAnswer> {
    const message = { method: "POST", path: "/v1/mcp/tools", body, silenceMs: LIST_MS } as const;
    const found = () => unlessAborted(this.#finder.find(), stop, givenUp);
    const connection = await found();
    return await connection.send(message, stop).catch(async (error: unknown) => {
      if (stop.aborted || !isUnreachable(error)) throw error;
      return await (await found()).send(message, stop);
    });
  }

  async reports(): Promise<readonly HandReport[]> {
    try {
      const connection = await this.#finder.findRunning();
      if (connection === undefined) return [];
      const request = { method: "GET", path: "/v1/reports" } as const;
      const { status, body } = await connection.send(request, this.#closed);
      return status === 200 ? ReportsAnswer.parse(body).reports : [];
    } catch (error) {
      if (isUnreachable(error)) return [];
      throw error;
    }
  }

  async acknowledge({ hand_id, taken_at }: HandReport): Promise<void> {
    try {
      const connection = await this.#finder.findRunning();
      const path = `/v1/reports/${encodeURIComponent(hand_id)}/acknowledge`;
      const request = { method: "POST", path, body: { taken_at } } as const;
      await connection?.send(request, this.#closed);
    } catch (error) {
      if (!isUnreachable(error)) throw error;
    }
  }

  #stop(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closed]);
  }
}

function unlisted({ servers }: McpListRequest, message: string): McpListing {
  const error = {
    type: "connection",
    message: `It could not be asked: ${message.replace(/\.$/, "")}.`,
  } as const;
  return { servers: servers.map(({ name }) => ({ name, tools: [], error })) };
}
