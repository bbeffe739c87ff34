import type { ChildProcess, SendHandle } from "node:child_process";
import { Socket as DatagramSocket } from "node:dgram";
import type { ExitListeners } from "../../egress/sandbox-exit.ts";

/** What of the launcher's handles this needs; that they exist is Node's own, and not among its types. */
interface Handle {
  close(): void;
}

/**
 * Takes what the launcher opened in the sandbox's network. The launcher goes on only once it was told that
 * each has arrived, so they are all there when bubblewrap has started.
 */
export class ReceivedListeners {
  readonly #received = new Map<string, unknown>();
  #isTaken = false;

  constructor(launcher: ChildProcess) {
    launcher.on("message", (name, handle) => this.#receive(name, handle));
  }

  /** Undefined unless all of them have come. From here on they are the caller's. */
  take(): ExitListeners | undefined {
    const transparent = this.#received.get("transparent");
    const proxy = this.#received.get("proxy");
    const names = this.#received.get("names");
    if (!isHandle(transparent) || !isHandle(proxy)) return undefined;
    if (!(names instanceof DatagramSocket)) return undefined;
    this.#isTaken = true;
    // Who serves them may come late: a fault of one that nobody serves is not one of this process.
    names.on("error", () => undefined);
    return { transparent, proxy, names };
  }

  /** Closes what was not taken. */
  close(): void {
    if (this.#isTaken) return;
    for (const handle of this.#received.values()) if (isHandle(handle)) handle.close();
    this.#received.clear();
  }

  #receive(name: unknown, handle: SendHandle | undefined): void {
    if (typeof name === "string") this.#received.set(name, handle);
  }
}

/** Of a sandbox whose way out was never served. */
export function closeListeners({ transparent, proxy, names }: ExitListeners): void {
  for (const handle of [transparent, proxy, names]) if (isHandle(handle)) handle.close();
}

function isHandle(value: unknown): value is Handle {
  return typeof value === "object" && value !== null && "close" in value;
}
