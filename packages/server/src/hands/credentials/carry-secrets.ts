import type { SecretBox } from "../../core/ports/secret-box.ts";
import type { SealedMove } from "../../core/ports/secret-carrier.ts";

/** Each as it is sealed for its new place. Throws for one that does not open. */
export function carrySecrets(
  secretBox: Pick<SecretBox, "open" | "seal">,
  moves: readonly SealedMove[],
): readonly string[] {
  return moves.map(({ sealed, from, to }) => secretBox.seal(secretBox.open(sealed, from), to));
}
