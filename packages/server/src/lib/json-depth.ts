/** True if arrays and objects lie deeper in each other than `max`; never recurses itself. */
export function isDeeperThan(value: unknown, max: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const inside = level.filter((one) => typeof one === "object" && one !== null);
    if (depth >= max && inside.length > 0) return true;
    level = inside.flatMap((one) => Object.values(one as object));
  }
  return false;
}
