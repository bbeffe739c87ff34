import type { IdPage, ModelInfo, ModelLifecycle, ModelListQuery } from "@drover/api";
import { pageLimitDefault } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import type { ModelInfo as ConfiguredModel } from "../core/ports/model.ts";

const SHOWN_BY_DEFAULT: readonly ModelLifecycle[] = ["active", "deprecated"];

export interface Models {
  /** By id or alias; rejects with `NotFoundError`. */
  retrieve(id: string): ModelInfo;
  /** Newest first; retired ones only if `lifecycle` names them. */
  list(query: ModelListQuery): IdPage<ModelInfo>;
}

interface ModelsOptions {
  readonly models: readonly ModelInfo[];
  /** From alias to id. */
  readonly aliases?: ReadonlyMap<string, string>;
}

/** What a server tells of a model: what it does not know is null. */
export function modelInfoOf(model: ConfiguredModel): ModelInfo {
  return {
    ...model,
    type: "model",
    line: null,
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    allowed_fallback_models: null,
    capabilities: null,
  };
}

export function createModels({ models, aliases = new Map() }: ModelsOptions): Models {
  const newestFirst = models.toSorted(
    (a, b) => compare(b.created_at, a.created_at) || compare(a.id, b.id),
  );
  return {
    retrieve: (id) => {
      const model = models.find((each) => each.id === (aliases.get(id) ?? id));
      if (model === undefined) throw new NotFoundError(`there is no model ${id}`);
      return model;
    },
    list: (query) => {
      const lifecycle = query.lifecycle ?? SHOWN_BY_DEFAULT;
      return pageOf(
        newestFirst.filter((model) => lifecycle.includes(model.lifecycle)),
        newestFirst,
        query,
      );
    },
  };
}

/** A position is a model of `all`, also one that the filter leaves out: the filter may change. */
function pageOf(
  shown: readonly ModelInfo[],
  all: readonly ModelInfo[],
  query: ModelListQuery,
): IdPage<ModelInfo> {
  const { after_id: afterId, before_id: beforeId, limit = pageLimitDefault } = query;
  if (afterId !== undefined && beforeId !== undefined) {
    throw new InvalidRequestError("after_id and before_id cannot be combined");
  }
  const start = afterId === undefined ? -1 : indexOf(all, afterId, "after_id");
  const end = beforeId === undefined ? all.length : indexOf(all, beforeId, "before_id");
  const between = new Set(all.slice(start + 1, end));
  const rest = shown.filter((model) => between.has(model));
  const data = beforeId === undefined ? rest.slice(0, limit) : rest.slice(-limit);
  return {
    data,
    has_more: rest.length > data.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function indexOf(models: readonly ModelInfo[], id: string, parameter: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index < 0) throw new InvalidRequestError(`${parameter}: there is no model ${id}`);
  return index;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
