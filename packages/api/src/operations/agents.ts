import {
  Agent,
  AgentCreateParams,
  AgentListQuery,
  AgentRetrieveQuery,
  AgentUpdateParams,
} from "../agents.ts";
import { type Operation, object, page } from "../operation.ts";
import { PageQuery } from "../pagination.ts";

const AGENT = "/v1/agents/{agent_id}";

export const agentOperations: readonly Operation[] = [
  {
    id: "agents.create",
    method: "POST",
    path: "/v1/agents",
    body: AgentCreateParams,
    answer: object(Agent),
  },
  {
    id: "agents.list",
    method: "GET",
    path: "/v1/agents",
    query: AgentListQuery,
    answer: page(Agent),
  },
  {
    id: "agents.retrieve",
    method: "GET",
    path: AGENT,
    query: AgentRetrieveQuery,
    answer: object(Agent),
  },
  {
    id: "agents.update",
    method: "POST",
    path: AGENT,
    body: AgentUpdateParams,
    answer: object(Agent),
  },
  { id: "agents.archive", method: "POST", path: `${AGENT}/archive`, answer: object(Agent) },
  {
    id: "agents.versions.list",
    method: "GET",
    path: `${AGENT}/versions`,
    query: PageQuery,
    answer: page(Agent),
  },
];
