import { ModelInfo, ModelListQuery } from "../models.ts";
import { type Operation, object } from "../operation.ts";

export const modelOperations: readonly Operation[] = [
  {
    id: "models.list",
    method: "GET",
    path: "/v1/models",
    query: ModelListQuery,
    answer: { kind: "list", paged: "ids", of: ModelInfo },
  },
  {
    id: "models.retrieve",
    method: "GET",
    path: "/v1/models/{model_id}",
    answer: object(ModelInfo),
  },
];
