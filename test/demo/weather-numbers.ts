/** What the report must say, computed apart from the agent: in another language, from the file itself. */
export interface WeatherNumbers {
  readonly days: number;
  readonly cities: Readonly<Record<string, CityNumbers>>;
  readonly shuffles: number;
  readonly asFarApart: number;
}

export interface CityNumbers {
  readonly days: number;
  readonly rainyDays: number;
  readonly totalMm: number;
  readonly mostMm: number;
}

const BATCHES = 20;
const SHUFFLES_A_BATCH = 500;
const SEED_STEP = 7919;

interface Row {
  readonly city: string;
  readonly rainMm: number;
}

/** @param csv the data set with its heading, as it was uploaded */
export function weatherNumbers(csv: string): WeatherNumbers {
  const rows = csv
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(","))
    .map(([city = "", , rain = ""]): Row => ({ city, rainMm: Number(rain) }));
  let asFarApart = 0;
  for (let batch = 1; batch <= BATCHES; batch += 1) {
    asFarApart += countFar(rows, batch * SEED_STEP);
  }
  return {
    days: rows.length,
    cities: { Seattle: cityNumbers(rows, "Seattle"), "New York": cityNumbers(rows, "New York") },
    shuffles: BATCHES * SHUFFLES_A_BATCH,
    asFarApart,
  };
}

function cityNumbers(rows: readonly Row[], city: string): CityNumbers {
  const rain = rows.filter((row) => row.city === city).map(({ rainMm }) => rainMm);
  return {
    days: rain.length,
    rainyDays: rain.filter((mm) => mm > 0).length,
    totalMm: sum(rain),
    mostMm: Math.max(...rain),
  };
}

/** How many of the shuffles of one batch put the cities' means at least as far apart as they are. */
function countFar(rows: readonly Row[], seed: number): number {
  const rain = rows.map(({ rainMm }) => rainMm);
  const first = rows.filter(({ city }) => city === "Seattle").length;
  const total = sum(rain);
  const apart = (part: number) => Math.abs(part / first - (total - part) / (rain.length - first));
  const observed = apart(sum(rows.map((row) => (row.city === "Seattle" ? row.rainMm : 0))));
  let random = seed;
  let far = 0;
  for (let shuffle = 0; shuffle < SHUFFLES_A_BATCH; shuffle += 1) {
    for (let at = 0; at < first; at += 1) {
      random = (random * 16_807) % 2_147_483_647;
      // The agent's arrays count from one, and so does the place it draws.
      const other = at + (random % (rain.length - at));
      const here = rain[at] ?? 0;
      rain[at] = rain[other] ?? 0;
      rain[other] = here;
    }
    if (apart(sum(rain.slice(0, first))) >= observed - 1e-9) far += 1;
  }
  return far;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
