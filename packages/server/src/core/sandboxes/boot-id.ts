/**
 * The id of one life of an installation's hands: it names the installation, so that whoever finds it in a log can
 * tell a boot that is over, because a later one of the same hands lives, from one of another machine.
 */
export function bootId(id: string, installationId: string): string {
  return `${id}@${installationId}`;
}

/** Undefined for the id of a boot from before they named it. */
export function installationOf(boot: string): string | undefined {
  const at = boot.lastIndexOf("@");
  return at === -1 ? undefined : boot.slice(at + 1);
}
