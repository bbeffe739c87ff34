/**
 * The ways out of two sandboxes without the sandboxes: one whose session has a credential for the host, so that what
 * goes over it is read, and one whose session has none, so that everything goes through untouched.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { PUBLIC } from "../../packages/server/src/hands/egress/outside.testsuite.ts";
import {
  InterceptedWorld,
  KEY,
} from "../../packages/server/src/hands/egress/secrets/intercepted-world.testsuite.ts";
import type { DownloadReady } from "./download-process.ts";

export interface InterceptingReady {
  readonly read: Way;
  readonly untouched: Way;
  /** Of which the server gets the secret. */
  readonly placeholder: string;
}

export interface Way {
  readonly port: number;
  /** PEM: whom a client of it trusts. */
  readonly authority: string;
}

const read = await InterceptedWorld.open();
const untouched = await InterceptedWorld.open();
untouched.credentials.remove("vcred_1");

const server = fork(fileURLToPath(new URL("download-process.ts", import.meta.url)));
server.send(read.outer.identityOf("api.test"));
const [{ port }] = (await once(server, "message")) as [DownloadReady];
for (const world of [read, untouched]) world.outside.lead(PUBLIC, 443, port);

process.send?.({
  read: { port: read.port, authority: read.inner.pem },
  untouched: { port: untouched.port, authority: read.outer.pem },
  placeholder: KEY,
} satisfies InterceptingReady);
process.once("disconnect", () => {
  server.kill("SIGKILL");
  process.exit(0);
});
