import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ZipFile } from "yazl";

/** What every registry has: one package of this name and version, whose program says `SAID`. */
export const PACKAGE = "drover-hello";
export const VERSION = "1.0.0";
export const MODULE = "hello.test/drover-hello";
export const SAID = "hello from a registry of the test";

/**
 * Registries for pip, gem, go and cargo at one base URL, each with one package that was made here: small
 * servers of files, as the managers' own protocols have them, and git's own server for cargo's index.
 */
export class Registries implements Disposable {
  readonly server: Server;
  /** Of every request, the path. */
  readonly asked: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "drover-registries-"));
  readonly #files = new Map<string, Uint8Array>();

  /** `origin` is what the managers will know it by, without a final `/`. */
  static async open(origin: string): Promise<Registries> {
    const registries = await Registries.openPip();
    await registries.#addModule();
    registries.#addGem();
    registries.#addCrate(origin);
    return registries;
  }

  /** That of pip alone, which needs none of the others' programs. */
  static async openPip(): Promise<Registries> {
    const registries = new Registries();
    await registries.#addWheel();
    return registries;
  }

  private constructor() {
    this.server = createServer((request, response) => this.#answer(request, response));
  }

  [Symbol.dispose](): void {
    this.server.closeAllConnections();
    this.server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    this.asked.push(path);
    if (path.startsWith("/crates.git/")) {
      serveGit(this.#folder, { path, query }, request, response);
      return;
    }
    const file = this.#files.get(path);
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": path.endsWith("/") ? "text/html" : "application/octet-stream",
      "content-length": file?.byteLength ?? 0,
    });
    response.end(file);
  }

  #put(path: string, content: string | Uint8Array): void {
    this.#files.set(path, typeof content === "string" ? Buffer.from(content) : content);
  }

  async #addWheel(): Promise<void> {
    const [info, file] = ["drover_hello-1.0.0.dist-info", "drover_hello-1.0.0-py3-none-any.whl"];
    const wheel = await zip({
      "drover_hello.py": `def main():\n    print(${JSON.stringify(SAID)})\n`,
      [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${PACKAGE}\nVersion: ${VERSION}\n`,
      [`${info}/WHEEL`]:
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
      [`${info}/entry_points.txt`]: "[console_scripts]\nhello-pip = drover_hello:main\n",
      [`${info}/RECORD`]: "",
    });
    this.#put(`/simple/${PACKAGE}/`, `<a href="/wheels/${file}">${file}</a>`);
    this.#put(`/wheels/${file}`, wheel);
  }

  async #addModule(): Promise<void> {
    const at = `/go/${MODULE}/@v`;
    const mod = `module ${MODULE}\n\ngo 1.18\n`;
    const main = `package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(${JSON.stringify(SAID)}) }\n`;
    this.#put(`${at}/list`, `v${VERSION}\n`);
    this.#put(`${at}/v${VERSION}.info`, JSON.stringify({ Version: `v${VERSION}` }));
    this.#put(`${at}/v${VERSION}.mod`, mod);
    const prefix = `${MODULE}@v${VERSION}`;
    this.#put(
      `${at}/v${VERSION}.zip`,
      await zip({ [`${prefix}/go.mod`]: mod, [`${prefix}/main.go`]: main }),
    );
  }

  /** By ruby itself, whose own notation the index of gems is in. */
  #addGem(): void {
    const folder = join(this.#folder, "gem");
    write(join(folder, "bin/hello-gem"), `#!/usr/bin/ruby\nputs ${JSON.stringify(SAID)}\n`);
    const script = `
      Gem::Deprecate.skip = true
      spec = Gem::Specification.new do |s|
        s.name, s.version, s.summary, s.authors = "${PACKAGE}", "${VERSION}", "says hello", ["test"]
        s.files, s.executables, s.bindir = ["bin/hello-gem"], ["hello-gem"], "bin"
        s.licenses, s.homepage = ["Apache-2.0"], "https://hello.test"
      end
      require "rubygems/package"
      require "zlib"
      Gem::DefaultUserInteraction.ui = Gem::SilentUI.new
      Gem::Package.build(spec, true)
      index = [["${PACKAGE}", spec.version, "ruby"]]
      File.binwrite("specs.4.8.gz", Zlib.gzip(Marshal.dump(index)))
      File.binwrite("spec.rz", Zlib.deflate(Marshal.dump(spec)))`;
    execFileSync("ruby", ["-rrubygems", "-e", script], { cwd: folder, stdio: "pipe" });
    const read = (name: string) => readFileSync(join(folder, name));
    const gem = read(`${PACKAGE}-${VERSION}.gem`);
    const checksum = createHash("sha256").update(gem).digest("hex");
    this.#put(
      "/versions",
      `created_at: 2026-11-30T00:00:00Z\n---\n${PACKAGE} ${VERSION} ${checksum}\n`,
    );
    this.#put(`/info/${PACKAGE}`, `---\n${VERSION} |checksum:${checksum}\n`);
    for (const name of ["specs", "latest_specs", "prerelease_specs"]) {
      this.#put(`/${name}.4.8.gz`, read("specs.4.8.gz"));
    }
    this.#put(`/quick/Marshal.4.8/${PACKAGE}-${VERSION}.gemspec.rz`, read("spec.rz"));
    this.#put(`/gems/${PACKAGE}-${VERSION}.gem`, gem);
  }

  #addCrate(origin: string): void {
    const name = `${PACKAGE}-${VERSION}`;
    const source = join(this.#folder, name);
    const manifest = `[package]\nname = "${PACKAGE}"\nversion = "${VERSION}"\nedition = "2018"\n`;
    write(join(source, "Cargo.toml"), manifest);
    write(join(source, "src/main.rs"), `fn main() { println!(${JSON.stringify(SAID)}); }\n`);
    const crate = execFileSync("tar", ["-C", this.#folder, "-cz", name]);
    this.#put(`/crates/${name}.crate`, crate);
    const line = {
      name: PACKAGE,
      vers: VERSION,
      deps: [],
      cksum: createHash("sha256").update(crate).digest("hex"),
      features: {},
      yanked: false,
    };
    const index = join(this.#folder, "index");
    const dl = `${origin}/crates/{crate}-{version}.crate`;
    write(join(index, "config.json"), JSON.stringify({ dl }));
    write(join(index, "dr/ov", PACKAGE), `${JSON.stringify(line)}\n`);
    const git = (...args: string[]) => execFileSync("git", args, { cwd: index, stdio: "pipe" });
    git("init", "-q", "-b", "master");
    git("add", ".");
    const author = ["-c", "user.name=test", "-c", "user.email=test@hello.test"];
    git(...author, "commit", "-q", "-m", "index");
    git("clone", "-q", "--bare", ".", join(this.#folder, "crates.git"));
  }
}

/** As a web server runs it: the request in its environment, headers and body in its output. */
function serveGit(
  folder: string,
  { path, query }: { path: string; query: string },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const git = spawn("git", ["http-backend"], {
    env: {
      PATH: "/usr/bin:/bin",
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(git.stdin);
  const chunks: Buffer[] = [];
  git.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  git.on("close", () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf("\r\n\r\n");
    const headers = output.subarray(0, end).toString("latin1").split("\r\n");
    let status = 200;
    for (const header of headers) {
      const [name = "", value = ""] = header.split(": ");
      if (name === "Status") status = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.writeHead(status).end(output.subarray(end + 4));
  });
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

async function zip(files: Readonly<Record<string, string>>): Promise<Uint8Array> {
  const archive = new ZipFile();
  for (const [name, content] of Object.entries(files)) {
    archive.addBuffer(Buffer.from(content), name);
  }
  archive.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive.outputStream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
