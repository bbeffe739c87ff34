import type { Requirement } from "./requirement.ts";
import { agentTools } from "./requirements/agent-tools.ts";
import { agentUpdates } from "./requirements/agent-updates.ts";
import { agents } from "./requirements/agents.ts";
import { choices } from "./requirements/choices.ts";
import { credentials } from "./requirements/credentials.ts";
import { deployments } from "./requirements/deployments.ts";
import { dreams } from "./requirements/dreams.ts";
import { easilyWrong } from "./requirements/easily-wrong.ts";
import { endpoints } from "./requirements/endpoints.ts";
import { environments } from "./requirements/environments.ts";
import { events } from "./requirements/events.ts";
import { eventsLater } from "./requirements/events-later.ts";
import { eventsList } from "./requirements/events-list.ts";
import { eventsTurn } from "./requirements/events-turn.ts";
import { files } from "./requirements/files.ts";
import { memories } from "./requirements/memories.ts";
import { memoryStores } from "./requirements/memory-stores.ts";
import { models } from "./requirements/models.ts";
import { multiagent } from "./requirements/multiagent.ts";
import { outside } from "./requirements/outside.ts";
import { selfHosted } from "./requirements/self-hosted.ts";
import { sessionAttachments } from "./requirements/session-attachments.ts";
import { sessionBudgets } from "./requirements/session-budgets.ts";
import { sessionChanges } from "./requirements/session-changes.ts";
import { sessionResources } from "./requirements/session-resources.ts";
import { sessionThreads } from "./requirements/session-threads.ts";
import { sessions } from "./requirements/sessions.ts";
import { skills } from "./requirements/skills.ts";
import { streams } from "./requirements/streams.ts";
import { transport } from "./requirements/transport.ts";
import { vaults } from "./requirements/vaults.ts";
import { webTools } from "./requirements/web-tools.ts";

/** Every normative sentence of the contract, in the order of its sections. */
export const REQUIREMENTS: readonly Requirement[] = [
  ...transport,
  ...endpoints,
  ...agents,
  ...agentTools,
  ...webTools,
  ...agentUpdates,
  ...multiagent,
  ...environments,
  ...sessions,
  ...sessionChanges,
  ...sessionBudgets,
  ...sessionResources,
  ...sessionAttachments,
  ...sessionThreads,
  ...events,
  ...eventsList,
  ...eventsTurn,
  ...eventsLater,
  ...streams,
  ...deployments,
  ...vaults,
  ...credentials,
  ...memoryStores,
  ...memories,
  ...skills,
  ...files,
  ...models,
  ...dreams,
  ...selfHosted,
  ...outside,
  ...easilyWrong,
  ...choices,
];
