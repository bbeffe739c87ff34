import type { OfferedModel } from "../ports/model.ts";

/** Finds a model by its id or an alias; undefined for one that is not known, which may yet be there. */
export type FindModel = (id: string) => OfferedModel | undefined;

export function modelFinder(offered: readonly OfferedModel[]): FindModel {
  const byName = new Map(
    offered.flatMap((model) => [model.info.id, ...model.aliases].map((name) => [name, model])),
  );
  return (id) => byName.get(id);
}
