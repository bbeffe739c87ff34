import { randomBytes } from "node:crypto";
import { Duplex } from "node:stream";
import { type ConnectionOptions, connect } from "node:tls";
import { expect, test } from "vitest";
import { serverNameOf } from "./client-hello.ts";

/** What Node's own client begins with. */
function helloOf(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        resolve(chunk);
        done();
      },
    });
    connect({ socket: wire, ...options }).on("error", () => undefined);
  });
}

test("is read from what a real client sends", async () => {
  expect(serverNameOf(await helloOf({ servername: "api.test" }))).toBe("api.test");
  const old = await helloOf({
    servername: "old.api.test",
    maxVersion: "TLSv1.2",
    ALPNProtocols: ["h2"],
  });
  expect(serverNameOf(old)).toBe("old.api.test");
  expect(serverNameOf(await helloOf({}))).toBeUndefined();
});

test("is nothing where anything is cut off or made up, and reading it ends", async () => {
  const hello = await helloOf({ servername: "api.test" });
  for (let length = 0; length < hello.length; length++) {
    const name = serverNameOf(hello.subarray(0, length));
    expect(name === undefined || "api.test".startsWith(name)).toBe(true);
  }
  for (let times = 0; times < 2_000; times++) {
    const changed = Buffer.from(hello);
    randomBytes(4).copy(changed, Math.floor(Math.random() * (changed.length - 4)));
    serverNameOf(changed);
  }
});
