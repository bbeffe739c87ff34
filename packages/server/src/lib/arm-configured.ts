import { armFailPoint, isFailPoint } from "./fail-point.ts";
import { OperatorError } from "./operator-error.ts";

/** Arms the fail point of the setting, `name:nth`; does nothing where it is not set. */
export function armConfigured(setting: string | undefined): void {
  if (setting === undefined) return;
  const [name = "", nth] = setting.split(":");
  if (!isFailPoint(name)) throw new OperatorError(`There is no fail point ${name}.`);
  armFailPoint({ name, nth: Number(nth) });
}
