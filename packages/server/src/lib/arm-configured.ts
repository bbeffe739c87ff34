import { armFailPoint, isFailPoint } from "./fail-point.ts";
import { OperatorError } from "./operator-error.ts";

/** What begins the names of the points that each of the processes passes. */
const PASSED_BY = {
  serve: ["serve", "client"],
  hands: ["hands", "packages", "base"],
} as const;

/**
 * Arms the fail point of the setting, `name:nth` or `name:nth:stop`; does nothing where it is not set. One that the
 * process never passes is refused: who waits for that death would wait in vain.
 */
export function armConfigured(setting: string | undefined, process: keyof typeof PASSED_BY): void {
  if (setting === undefined) return;
  const [name = "", nth, stop] = setting.split(":");
  if (!isFailPoint(name)) throw new OperatorError(`There is no fail point ${name}.`);
  if (!PASSED_BY[process].some((part) => name.startsWith(`${part}.`))) {
    throw new OperatorError(`\`drover ${process}\` does not pass the fail point ${name}.`);
  }
  armFailPoint({ name, nth: Number(nth), stop: stop !== undefined });
}
