import { spawn } from "node:child_process";
import type { ExternalSecret, ExternalSecrets } from "../../core/ports/external-secrets.ts";
import { isPlainPart, READ_MS, SECRET_BYTES_MAX, secretOf, unavailable } from "./secret-text.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Secrets that a program of the operator's prints: it is run without a shell as `<program> <workspace id> <name>`, and
 * asks whatever manager there is. What it says on stderr goes nowhere, since it may be the secret.
 */
export class SecretCommand implements ExternalSecrets {
  readonly #program: string;

  /** An absolute path. */
  constructor(program: string) {
    this.#program = program;
  }

  async read(workspaceId: string, name: string, signal: AbortSignal): Promise<ExternalSecret> {
    const parts = [workspaceId, ...name.split("/")];
    if (!parts.every(isPlainPart)) return unavailable("it has no name that the program may get");
    const stop = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
    if (stop.aborted) return unavailable("nobody waits for it any more");
    const outcome = Promise.withResolvers<ExternalSecret>();
    const child = spawn(this.#program, [workspaceId, name], {
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH },
      signal: stop,
      killSignal: "SIGKILL",
    });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size > SECRET_BYTES_MAX) child.kill("SIGKILL");
    });
    child.once("error", () => {
      const why = stop.aborted ? "did not answer in time" : "cannot be run";
      outcome.resolve(unavailable(`the program that reads it ${why}`));
    });
    child.once("close", (status) => {
      if (size > SECRET_BYTES_MAX) outcome.resolve(unavailable("it is too large for a secret"));
      else if (status === 0) outcome.resolve(secretOf(Buffer.concat(chunks)));
      else outcome.resolve(unavailable(`the program that reads it ended with ${status}`));
    });
    return await outcome.promise;
  }
}
