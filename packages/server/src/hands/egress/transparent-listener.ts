import { createServer, type Server, type Socket } from "node:net";
import type { Pass } from "./pass.ts";
import { isStandIn, type StandInAddresses } from "./stand-in-addresses.ts";
import type { WayOut } from "./way-out.ts";

const LOOPBACK = /^127\.|^::1$/;

/**
 * Serves connections of programs that know of no proxy: their own address here is the one that they meant
 * to reach. What is not permitted is reset.
 */
export function transparentListener(
  wayOut: WayOut,
  standIns: StandInAddresses,
  pass: Pass,
): Server {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
  wayOut.watch(server);
  server.on("connection", (client) => {
    wayOut.serve(client, () => serve(client, { wayOut, standIns, pass }));
  });
  return server;
}

interface Serving {
  readonly wayOut: WayOut;
  readonly standIns: StandInAddresses;
  readonly pass: Pass;
}

async function serve(client: Socket, { wayOut, standIns, pass }: Serving): Promise<void> {
  wayOut.entered(client);
  const { localAddress, localPort } = client;
  // It is gone already.
  if (localAddress === undefined || localPort === undefined) return void client.destroy();
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/, "");
  const host = isStandIn(address) ? standIns.nameOf(address) : address;
  if (host === undefined || LOOPBACK.test(address)) {
    wayOut.refused(address, localPort, "an address of the sandbox itself");
    return void client.resetAndDestroy();
  }
  const opened = await wayOut.open(host, localPort);
  if (opened.type !== "connected") return void client.resetAndDestroy();
  if (client.destroyed) return void opened.socket.destroy();
  await pass(client, { host, port: localPort, socket: opened.socket });
}
