import { HandsUnavailableError } from "../../core/ports/hands.ts";
import { HandsConnectionError } from "./hands-connection.ts";

/** True for what says that no hands can be spoken to now; all else is a bug. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof HandsConnectionError || error instanceof HandsUnavailableError;
}

/** Whoever waited has gone, or the client was closed. */
export function givenUp(): HandsUnavailableError {
  return new HandsUnavailableError("The wait for the hands was given up.");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
