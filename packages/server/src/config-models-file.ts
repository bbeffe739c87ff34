import { readFileSync } from "node:fs";
import { isMap, isNode, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { MODELS_MAX, ModelEntry, nameGivenTwice } from "./config-models.ts";
import { ProviderSettings } from "./config-providers.ts";
import { closestName } from "./lib/closest-name.ts";

const FILE_BYTES_MAX = 1024 * 1024;
const PROVIDERS_MAX = 32;

/** The file that `DROVER_MODELS_FILE` names: who runs models, and which. */
const ModelsFile = z
  .strictObject({
    providers: z.array(ProviderSettings).max(PROVIDERS_MAX).default([]),
    models: z.array(ModelEntry).max(MODELS_MAX).default([]),
  })
  .superRefine(({ providers, models }, context) => {
    const names = providers.map(({ name }) => name);
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue;
      const path = ["providers", index, "name"];
      context.addIssue({ code: "custom", path, message: `there are two providers ${name}` });
    }
    for (const [index, { provider }] of models.entries()) {
      const message = unknownProvider(provider, names);
      if (message === undefined) continue;
      context.addIssue({ code: "custom", path: ["models", index, "provider"], message });
    }
    const twice = nameGivenTwice(models);
    if (twice === undefined) return;
    const message = `the id or alias ${twice.name} is there twice`;
    context.addIssue({ code: "custom", path: ["models", twice.index], message });
  });

export type ModelsFile = z.output<typeof ModelsFile>;

/** A sentence, if a model names a provider that there is not. */
export function unknownProvider(
  provider: string | undefined,
  known: readonly string[],
): string | undefined {
  if (provider === undefined || known.includes(provider)) return undefined;
  const closest = closestName(provider, known);
  return `there is no provider ${provider}${closest === undefined ? "" : `; did you mean ${closest}?`}`;
}

/** Reads YAML or JSON. Throws an `Error` with a sentence that tells the line and the field. */
export function readModelsFile(path: string): ModelsFile {
  const bytes = readFileSync(path);
  if (bytes.byteLength > FILE_BYTES_MAX) throw new Error("it is larger than 1 MB");
  const lines = new LineCounter();
  const document = parseDocument(bytes.toString("utf8"), {
    lineCounter: lines,
    // Pretty ones quote the file.
    prettyErrors: false,
    logLevel: "error",
  });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line } = lines.linePos(broken.pos[0]);
    throw new Error(`line ${line}: ${broken.message}`, { cause: broken });
  }
  const parsed = ModelsFile.safeParse(document.toJS() ?? {});
  if (parsed.success) return parsed.data;
  const line = (place: readonly PropertyKey[]) => {
    const offset = offsetOf(document, place);
    return offset === undefined ? "" : `line ${lines.linePos(offset).line}: `;
  };
  throw new Error(
    parsed.error.issues
      .flatMap(problemsOf)
      .map(({ place, message }) => `${line(place)}${place.join(".") || "the file"}: ${message}`)
      .join("; "),
    { cause: parsed.error },
  );
}

interface Problem {
  readonly place: readonly PropertyKey[];
  readonly message: string;
}

function problemsOf(issue: z.core.$ZodIssue): readonly Problem[] {
  if (issue.code === "invalid_key") {
    return issue.issues.map(({ message }) => ({ place: issue.path, message }));
  }
  if (issue.code !== "unrecognized_keys") return [{ place: issue.path, message: issue.message }];
  return issue.keys.map((key) => ({ place: [...issue.path, key], message: "is not known here" }));
}

/** Of the node at a place, or of the nearest around it. */
function offsetOf(
  document: ReturnType<typeof parseDocument>,
  place: readonly PropertyKey[],
): number | undefined {
  for (let length = place.length; length > 0; length -= 1) {
    const around = document.getIn(place.slice(0, length - 1), true);
    const last = place[length - 1];
    const pair = isMap(around)
      ? around.items.find(({ key }) => String(isNode(key) ? key.toJSON() : key) === String(last))
      : undefined;
    const node = pair === undefined ? document.getIn(place.slice(0, length), true) : pair.key;
    if (isNode(node) && node.range) return node.range[0];
  }
  return undefined;
}
