import type {
  IdPage,
  ModelConfigParams,
  ModelInfo,
  ModelLifecycle,
  ModelListQuery,
} from "@drover/api";
import { pageLimitDefault } from "@drover/api";
import { InvalidRequestError, NotFoundError } from "../core/errors.ts";
import { modelFinder } from "../core/models/offered-models.ts";
import type { OfferedModel } from "../core/ports/model.ts";

const SHOWN_BY_DEFAULT: readonly ModelLifecycle[] = ["active", "deprecated"];

export interface Models {
  /** By id or alias; rejects with `NotFoundError`. */
  retrieve(id: string): ModelInfo;
  /** Newest first; retired ones only if `lifecycle` names them. */
  list(query: ModelListQuery): IdPage<ModelInfo>;
  /** Throws `InvalidRequestError` if an agent's model is known not to have the speed asked for. */
  assertSpeed(model: ModelConfigParams): void;
}

export function createModels(offered: readonly OfferedModel[]): Models {
  const newestFirst = offered
    .map(({ info }) => info)
    .toSorted((a, b) => compare(b.created_at, a.created_at) || compare(a.id, b.id));
  const find = modelFinder(offered);
  return {
    retrieve: (id) => {
      const model = find(id);
      if (model === undefined) throw new NotFoundError(`there is no model ${id}`);
      return model.info;
    },
    list: (query) => {
      const lifecycle = query.lifecycle ?? SHOWN_BY_DEFAULT;
      return pageOf(
        newestFirst.filter((model) => lifecycle.includes(model.lifecycle)),
        newestFirst,
        query,
      );
    },
    assertSpeed: (model) => {
      if (typeof model === "string" || model.speed !== "fast") return;
      if (find(model.id)?.hasFastMode !== false) return;
      throw new InvalidRequestError(`model.speed: model ${model.id} has no fast mode`);
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
