import { SandboxUnavailableError } from "../../../core/ports/sandbox.ts";
import { EngineRefusalError, EngineUnreachableError } from "./engine-client.ts";

interface Explanation {
  readonly pattern: RegExp;
  readonly message: string;
}

const EXPLANATIONS: readonly Explanation[] = [
  {
    pattern: /ENOENT|ECONNREFUSED/,
    message:
      "the Docker Engine does not run at this socket: start it, or set DROVER_DOCKER_SOCKET to where it is",
  },
  {
    pattern: /EACCES|permission denied while trying/,
    message:
      "this user may not speak to the Docker Engine: run the server as root, or as a member of the group `docker`, which is as much as root",
  },
  {
    pattern: /No such image|no such image/,
    message:
      "the image of the sandboxes (DROVER_DOCKER_IMAGE) is not there: `docker pull` or `docker load` it, the server never fetches one",
  },
  {
    pattern: /bind source path does not exist|[Mm]ounts denied|not shared from the host/,
    message:
      "the Docker Engine does not see the server's data folder: put it where the engine's machine has it too (with Docker Desktop: in a shared folder)",
  },
  {
    pattern: /exec: "\/usr\/bin\/perl"/,
    message: "the image of the sandboxes has no /usr/bin/perl, which the agent inside needs",
  },
];

/** The error for a sandbox that an engine did not make, with what helps where that is known. */
export function explainRefusal(error: unknown): unknown {
  const isEngines = error instanceof EngineRefusalError || error instanceof EngineUnreachableError;
  if (!isEngines) return error;
  const known = EXPLANATIONS.find(({ pattern }) => pattern.test(error.message));
  const message = known?.message ?? `the Docker Engine made no sandbox: ${error.message}`;
  return new SandboxUnavailableError(message, { cause: error });
}
