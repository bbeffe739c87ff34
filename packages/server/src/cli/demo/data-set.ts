import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OperatorError } from "../../lib/operator-error.ts";

export const DATA_SET_NAME = "weather.csv";

const PATH = join(import.meta.dirname, "../../../demo/data", DATA_SET_NAME);

export interface DataSet {
  readonly name: string;
  readonly text: string;
  /** Without the heading. */
  readonly rows: number;
}

/** The data set that is shipped, without its last `dropRows` rows. */
export function readDataSet(dropRows: number): DataSet {
  const [heading = "", ...rows] = readFileSync(PATH, "utf8").trimEnd().split("\n");
  if (!Number.isInteger(dropRows) || dropRows < 0 || dropRows >= rows.length) {
    throw new OperatorError(`--drop-rows must be a whole number from 0 to ${rows.length - 1}.`);
  }
  const kept = rows.slice(0, rows.length - dropRows);
  return { name: DATA_SET_NAME, text: `${[heading, ...kept].join("\n")}\n`, rows: kept.length };
}
