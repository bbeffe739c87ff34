import {
  Environment,
  EnvironmentCreateParams,
  EnvironmentDeleted,
  EnvironmentListQuery,
  EnvironmentUpdateParams,
} from "../environments.ts";
import { type Operation, object, page, unbuilt } from "../operation.ts";

const ENVIRONMENT = "/v1/environments/{environment_id}";
const WORK = `${ENVIRONMENT}/work`;

export const environmentOperations: readonly Operation[] = [
  {
    id: "environments.create",
    method: "POST",
    path: "/v1/environments",
    body: EnvironmentCreateParams,
    answer: object(Environment),
  },
  {
    id: "environments.list",
    method: "GET",
    path: "/v1/environments",
    query: EnvironmentListQuery,
    answer: page(Environment),
  },
  { id: "environments.retrieve", method: "GET", path: ENVIRONMENT, answer: object(Environment) },
  {
    id: "environments.update",
    method: "POST",
    path: ENVIRONMENT,
    body: EnvironmentUpdateParams,
    answer: object(Environment),
  },
  {
    id: "environments.delete",
    method: "DELETE",
    path: ENVIRONMENT,
    answer: object(EnvironmentDeleted),
  },
  {
    id: "environments.archive",
    method: "POST",
    path: `${ENVIRONMENT}/archive`,
    answer: object(Environment),
  },
  // `poll` and `stats` come before what could be an id.
  ...unbuilt("environment work", {
    "environments.work.poll": `GET ${WORK}/poll`,
    "environments.work.stats": `GET ${WORK}/stats`,
    "environments.work.list": `GET ${WORK}`,
    "environments.work.retrieve": `GET ${WORK}/{work_id}`,
    "environments.work.update": `POST ${WORK}/{work_id}`,
    "environments.work.ack": `POST ${WORK}/{work_id}/ack`,
    "environments.work.heartbeat": `POST ${WORK}/{work_id}/heartbeat`,
    "environments.work.stop": `POST ${WORK}/{work_id}/stop`,
  }),
];
