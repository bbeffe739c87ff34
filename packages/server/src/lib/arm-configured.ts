import { armFailPoint, isFailPoint } from "./fail-point.ts";
import { OperatorError } from "./operator-error.ts";

/** Arms the fail point of the setting, `name:nth` or `name:nth:stop`; does nothing where it is not set. */
export function armConfigured(setting: string | undefined): void {
  if (setting === undefined) return;
  const [name = "", nth, stop] = setting.split(":");
  if (!isFailPoint(name)) throw new OperatorError(`There is no fail point ${name}.`);
  armFailPoint({ name, nth: Number(nth), stop: stop !== undefined });
}
