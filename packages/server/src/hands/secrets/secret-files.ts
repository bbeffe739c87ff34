import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ExternalSecret, ExternalSecrets } from "../../core/ports/external-secrets.ts";
import { isPlainPart, READ_MS, SECRET_BYTES_MAX, secretOf, unavailable } from "./secret-text.ts";

/** Secrets as files of a folder, such as one that is mounted: `<folder>/<workspace id>/<name>`. */
export class SecretFiles implements ExternalSecrets {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(workspaceId: string, name: string, signal: AbortSignal): Promise<ExternalSecret> {
    const parts = [workspaceId, ...name.split("/")];
    if (!parts.every(isPlainPart)) return unavailable("it has no name that a file may have");
    const path = join(this.#folder, ...parts);
    try {
      const { size } = await stat(path);
      if (size > SECRET_BYTES_MAX) return unavailable("it is too large for a secret");
      const stop = AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]);
      return secretOf(await readFile(path, { signal: stop }));
    } catch (error) {
      return unavailable(`its file cannot be read (${codeOf(error)})`);
    }
  }
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : "no reason is known";
}
