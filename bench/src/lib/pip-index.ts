import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type ZipInput, zipOf } from "../../../packages/server/src/lib/archive/zip-stream.ts";
import { Random } from "../../../packages/testing/src/index.ts";

const VERSION = "1.0.0";
const PAGE = /^\/simple\/([a-z0-9-]+)\/$/;
const WHEEL = /^\/wheels\/([a-z0-9_]+)-1\.0\.0-py3-none-any\.whl$/;
/** Bytes that a small package brings along. */
const PAYLOAD_BYTES = 256 * 1024;
/** Files of a big one and bytes of each: as much as numpy or pandas has. */
const BIG = { files: 1_000, bytes: 30_000 };

/** Names of packages that are big. */
export const BIG_PACKAGES: readonly string[] = ["drover-big-one", "drover-big-other"];

/** An index for pip on loopback that has a package of any name. */
export interface PipIndex extends AsyncDisposable {
  /** As `DROVER_PACKAGES_PIP` takes it. */
  readonly url: string;
}

export async function startPipIndex(): Promise<PipIndex> {
  const server = createServer((request, response) => {
    answer(request.url ?? "/").then(
      (found) => {
        response.writeHead(
          found === undefined ? 404 : 200,
          found && { "content-type": found.type },
        );
        response.end(found?.body);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    // Loopback is another inside a sandbox, where this name is looked up outside.
    url: `http://index.localhost:${port}/simple`,
    [Symbol.asyncDispose]: () => closed(server),
  };
}

/** What environments pin. */
export function pinOf(name: string): string {
  return `${name}==${VERSION}`;
}

async function answer(path: string): Promise<{ type: string; body: string | Buffer } | undefined> {
  const [, page] = PAGE.exec(path) ?? [];
  if (page !== undefined) {
    const file = `${page.replaceAll("-", "_")}-${VERSION}-py3-none-any.whl`;
    return { type: "text/html", body: `<a href="/wheels/${file}">${file}</a>` };
  }
  const [, wheel] = WHEEL.exec(path) ?? [];
  if (wheel === undefined) return undefined;
  const made = wheels.get(wheel) ?? wheelOf(wheel);
  wheels.set(wheel, made);
  return { type: "application/octet-stream", body: await made };
}

/** Made once: the making of a big one takes the processors from what is measured. */
const wheels = new Map<string, Promise<Buffer>>();

async function wheelOf(name: string): Promise<Buffer> {
  const info = `${name}-${VERSION}.dist-info`;
  const files: Readonly<Record<string, string>> = {
    [`${name}/__init__.py`]: `DATA = "${"x".repeat(PAYLOAD_BYTES)}"\n`,
    ...(BIG_PACKAGES.includes(name.replaceAll("_", "-")) && bigModules(name)),
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name.replaceAll("_", "-")}\nVersion: ${VERSION}\n`,
    [`${info}/WHEEL`]:
      "Wheel-Version: 1.0\nGenerator: benchmark\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: "",
  };
  const chunks: Uint8Array[] = [];
  for await (const chunk of zipOf(inputsOf(files))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Of words in no order, so that they are as hard to compress as programs are. */
function bigModules(name: string): Readonly<Record<string, string>> {
  const random = new Random(1);
  const lines = Array.from({ length: BIG.bytes / 50 }, (_, line) => {
    const number = random.int(0, 1e9).toString(36);
    return `VALUE_${line}_${number} = "${number}${random.int(0, 1e9).toString(36)}"`;
  });
  const text = lines.join("\n");
  return Object.fromEntries(
    Array.from({ length: BIG.files }, (_, file) => [
      `${name}/part${file % 40}/module${file}.py`,
      `FILE = ${file}\n${text}`,
    ]),
  );
}

async function* inputsOf(files: Readonly<Record<string, string>>): AsyncGenerator<ZipInput> {
  for (const [path, text] of Object.entries(files)) {
    yield { path, isExecutable: false, bytes: oneChunk(text) };
  }
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
