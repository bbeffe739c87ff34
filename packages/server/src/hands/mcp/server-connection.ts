import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { readHost } from "../../core/egress/host.ts";
import { judgeMcpHost } from "../../core/egress/policy.ts";
import type { DestinationGuard } from "../../core/ports/egress.ts";
import type { SandboxNetwork } from "../../core/ports/hands.ts";
import { type Connect, dial } from "../egress/dial.ts";
import type { EgressLedger } from "../egress/egress-ledger.ts";
import { securedUpstream } from "../egress/secured-upstream.ts";
import { notSent } from "./mcp-failure.ts";

export interface WayOptions {
  readonly guard: DestinationGuard;
  readonly connect: Connect;
  /** True of a host that may be spoken to without TLS at this address. */
  readonly isPlainAllowed: (host: string, address: string) => boolean;
  /** The certificates to trust instead of those that the system does, as PEM. */
  readonly certificates?: string | undefined;
}

const CONNECT_MS = 10_000;

/**
 * Connects to a server as the session's sandbox may: by the session's own network, and only to addresses that may be
 * dialled. What was decided is counted in the ledger. Rejects with `McpFailure`.
 */
export async function connectToServer(
  url: URL,
  { guard, connect, isPlainAllowed, certificates }: WayOptions,
  { network, ledger }: { network: SandboxNetwork; ledger: EgressLedger },
): Promise<Socket> {
  const host = readHost(url.hostname);
  const isSecure = url.protocol === "https:";
  if (host === undefined || !(isSecure || url.protocol === "http:")) {
    throw notSent(`${url.origin} is no address of a server`);
  }
  const port = Number(url.port) || (isSecure ? 443 : 80);
  const refuse = (verdict: "refused" | "failed", reason: string) => {
    ledger.count({ host: host.text, port, verdict, reason });
    return notSent(`${host.text} cannot be reached: ${reason}`);
  };
  const judged = judgeMcpHost(network, host);
  if (judged.type === "refused") throw refuse("refused", judged.reason);
  const dialled = await dial(host.text, port, { guard, connect, connectMs: CONNECT_MS });
  if (dialled.type !== "connected") throw refuse(dialled.type, dialled.reason);
  const { socket } = dialled;
  if (!isSecure && !isPlainAllowed(host.text, socket.remoteAddress ?? "")) {
    socket.destroy();
    throw refuse("refused", "without TLS only servers that the operator named are spoken to");
  }
  const ended = ledger.connected(host.text, port, () => ({
    up: socket.bytesWritten,
    down: socket.bytesRead,
  }));
  socket.once("close", ended);
  if (!isSecure) return socket;
  try {
    return await securedUpstream(socket, {
      ...{ host: host.text, protocols: ["http/1.1"], timeoutMs: CONNECT_MS },
      context: certificates === undefined ? undefined : createSecureContext({ ca: certificates }),
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw notSent(`there is no safe connection to ${host.text}: ${why}`);
  }
}
