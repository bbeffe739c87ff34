/** The managers of secrets that there can be beside a server. */
export const SECRET_MANAGERS = ["files", "command"] as const;
export type SecretManager = (typeof SECRET_MANAGERS)[number];

/** What is stored in place of a secret that is kept elsewhere. */
export interface ExternalReference {
  readonly manager: SecretManager;
  /** Parts of letters, digits, `_`, `-` and `.`, with `/` between; none begins with a dot. */
  readonly name: string;
}

const SCHEME = "drover-secrets://";
const NAME = /^(?!.{257})[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)*$/;

/**
 * Reads `drover-secrets://files/team/api-key`. Undefined for what is a secret itself; a sentence for what would be a
 * reference and is none.
 */
export function externalReference(text: string): ExternalReference | string | undefined {
  if (!text.startsWith(SCHEME)) return undefined;
  const [, given = "", name = ""] = /^([^/]*)\/?(.*)$/s.exec(text.slice(SCHEME.length)) ?? [];
  const manager = SECRET_MANAGERS.find((each) => each === given);
  if (manager === undefined) {
    return `names a manager of secrets, which must be ${SECRET_MANAGERS.join(" or ")}`;
  }
  if (!NAME.test(name)) {
    return "needs a name of letters, digits, _, - and ., with / between its parts, after the manager of secrets";
  }
  return { manager, name };
}
