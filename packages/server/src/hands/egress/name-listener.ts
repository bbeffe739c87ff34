import type { Socket } from "node:dgram";
import { dnsResponse, readQuestion, TYPE_A } from "./dns-message.ts";
import type { StandInAddresses } from "./stand-in-addresses.ts";
import type { WayOut } from "./way-out.ts";

/**
 * Answers a sandbox's questions for names, without asking anybody: a permitted name has a stand-in address,
 * and what it stands for is looked up when it is dialled. Nothing leaves by way of questions.
 */
export function serveNames(socket: Socket, wayOut: WayOut, standIns: StandInAddresses): void {
  const allowance = new Allowance(wayOut.limits.namesPerSecond);
  // An answer that cannot be sent is asked for again.
  socket.on("error", () => undefined);
  socket.on("message", (packet, { port, address }) => {
    const question = allowance.take() ? readQuestion(packet) : undefined;
    if (question === undefined) return;
    const name = wayOut.permittedName(question.name);
    const response =
      name === undefined
        ? dnsResponse(question, { type: "refused" })
        : dnsResponse(
            question,
            question.type === TYPE_A
              ? { type: "address", address: standIns.addressOf(name) }
              : { type: "nothing" },
          );
    socket.send(response, port, address, () => undefined);
  });
}

/** So many a second. */
class Allowance {
  readonly #perSecond: number;
  #left: number;
  #since = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
  }

  take(): boolean {
    const now = performance.now();
    if (now - this.#since >= 1_000) {
      this.#since = now;
      this.#left = this.#perSecond;
    }
    this.#left -= 1;
    return this.#left >= 0;
  }
}
