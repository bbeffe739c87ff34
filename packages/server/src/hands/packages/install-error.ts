import type { PackageManager } from "@drover/api";
import { SandboxUnavailableError } from "../../core/ports/sandbox.ts";

/** A package of an environment could not be installed. The message names it and says what its manager said. */
export class PackageError extends SandboxUnavailableError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "PackageError";
  }
}

const TAIL_LINES = 12;
const TAIL_CHARACTERS = 1_500;

/** `names` are those of one command, of which the output may say which it was. */
export function installFailure(
  manager: PackageManager,
  names: readonly string[],
  { why, output }: { why: string; output: string },
): PackageError {
  const tail = lastLines(output);
  const named = names.filter((name) => mentions(tail, bare(name)));
  const culprits = named.length === 0 ? names : named;
  const said = tail === "" ? "" : `, which said:\n${tail}\n`;
  return new PackageError(
    `the packages of the environment could not be installed: ${manager} could not install ${culprits.join(", ")} (${why})${said}`,
  );
}

function lastLines(output: string): string {
  const lines = output
    // Colours and other orders to a terminal; what a package says is not to be obeyed by one.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
    .replace(/\u001b\[[0-9;?]*[A-Za-z]|[\u0000-\u0008\u000b-\u001f\u007f]/g, "")
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line !== "");
  return lines.slice(-TAIL_LINES).join("\n").slice(-TAIL_CHARACTERS);
}

/** The name without version, extras and architecture. */
function bare(name: string): string {
  return name.replace(/(?<=.)[@=:<>~![;].*$/, "");
}

function mentions(text: string, name: string): boolean {
  return name !== "" && text.toLowerCase().includes(name.toLowerCase());
}
