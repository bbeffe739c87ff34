import type { Scenario } from "./scenario.ts";
import { agentReads } from "./scenarios/agent-reads.ts";
import { agentTools } from "./scenarios/agent-tools.ts";
import { agentUpdates } from "./scenarios/agent-updates.ts";
import { agentWebTools } from "./scenarios/agent-web-tools.ts";
import { agents } from "./scenarios/agents.ts";
import { choices } from "./scenarios/choices.ts";
import { credentialLives } from "./scenarios/credential-lives.ts";
import { credentialUpdates } from "./scenarios/credential-updates.ts";
import { credentialUse } from "./scenarios/credential-use.ts";
import { credentialValidation } from "./scenarios/credential-validation.ts";
import { credentials } from "./scenarios/credentials.ts";
import { deploymentRuns } from "./scenarios/deployment-runs.ts";
import { deploymentUpdates } from "./scenarios/deployment-updates.ts";
import { deployments } from "./scenarios/deployments.ts";
import { dreams } from "./scenarios/dreams.ts";
import { easilyWrong } from "./scenarios/easily-wrong.ts";
import { endpoints } from "./scenarios/endpoints.ts";
import { environmentLives } from "./scenarios/environment-lives.ts";
import { environments } from "./scenarios/environments.ts";
import { events } from "./scenarios/events.ts";
import { eventsAccess } from "./scenarios/events-access.ts";
import { eventsAnswers } from "./scenarios/events-answers.ts";
import { eventsContent } from "./scenarios/events-content.ts";
import { eventsCustomTools } from "./scenarios/events-custom-tools.ts";
import { eventsErrors } from "./scenarios/events-errors.ts";
import { eventsLater } from "./scenarios/events-later.ts";
import { eventsList } from "./scenarios/events-list.ts";
import { eventsPermissions } from "./scenarios/events-permissions.ts";
import { eventsThreads } from "./scenarios/events-threads.ts";
import { eventsTurn } from "./scenarios/events-turn.ts";
import { fileLists } from "./scenarios/file-lists.ts";
import { files } from "./scenarios/files.ts";
import { isolation } from "./scenarios/isolation.ts";
import { mcpTools } from "./scenarios/mcp-tools.ts";
import { memories } from "./scenarios/memories.ts";
import { memoryLists } from "./scenarios/memory-lists.ts";
import { memoryStoreLives } from "./scenarios/memory-store-lives.ts";
import { memoryStores } from "./scenarios/memory-stores.ts";
import { memoryUpdates } from "./scenarios/memory-updates.ts";
import { memoryVersions } from "./scenarios/memory-versions.ts";
import { models } from "./scenarios/models.ts";
import { multiagent } from "./scenarios/multiagent.ts";
import { multiagentParts } from "./scenarios/multiagent-parts.ts";
import { outside } from "./scenarios/outside.ts";
import { selfHosted } from "./scenarios/self-hosted.ts";
import { sessionAttachments } from "./scenarios/session-attachments.ts";
import { sessionBudgets } from "./scenarios/session-budgets.ts";
import { sessionChanges } from "./scenarios/session-changes.ts";
import { sessionLists } from "./scenarios/session-lists.ts";
import { sessionOverrides } from "./scenarios/session-overrides.ts";
import { sessionResources } from "./scenarios/session-resources.ts";
import { sessionThreads } from "./scenarios/session-threads.ts";
import { sessionTurns } from "./scenarios/session-turns.ts";
import { sessions } from "./scenarios/sessions.ts";
import { skillArchives } from "./scenarios/skill-archives.ts";
import { skillReferences } from "./scenarios/skill-references.ts";
import { skillVersions } from "./scenarios/skill-versions.ts";
import { skills } from "./scenarios/skills.ts";
import { streams } from "./scenarios/streams.ts";
import { streamsPreviews } from "./scenarios/streams-previews.ts";
import { transport } from "./scenarios/transport.ts";
import { transportAnswers } from "./scenarios/transport-answers.ts";
import { transportLists } from "./scenarios/transport-lists.ts";
import { vaults } from "./scenarios/vaults.ts";
import { webTools } from "./scenarios/web-tools.ts";

export const SCENARIOS: readonly Scenario[] = [
  ...transport,
  ...transportAnswers,
  ...transportLists,
  ...endpoints,
  ...isolation,
  ...agents,
  ...agentReads,
  ...agentTools,
  ...agentWebTools,
  ...mcpTools,
  ...webTools,
  ...agentUpdates,
  ...multiagent,
  ...multiagentParts,
  ...environments,
  ...environmentLives,
  ...sessions,
  ...sessionOverrides,
  ...sessionTurns,
  ...sessionChanges,
  ...sessionBudgets,
  ...sessionLists,
  ...sessionResources,
  ...sessionAttachments,
  ...sessionThreads,
  ...events,
  ...eventsContent,
  ...eventsAnswers,
  ...eventsAccess,
  ...eventsList,
  ...eventsTurn,
  ...eventsErrors,
  ...eventsCustomTools,
  ...eventsPermissions,
  ...eventsLater,
  ...eventsThreads,
  ...streams,
  ...streamsPreviews,
  ...deployments,
  ...deploymentUpdates,
  ...deploymentRuns,
  ...vaults,
  ...credentials,
  ...credentialUpdates,
  ...credentialLives,
  ...credentialUse,
  ...credentialValidation,
  ...memoryStores,
  ...memoryStoreLives,
  ...memories,
  ...memoryUpdates,
  ...memoryLists,
  ...memoryVersions,
  ...skills,
  ...skillVersions,
  ...skillArchives,
  ...skillReferences,
  ...files,
  ...fileLists,
  ...models,
  ...dreams,
  ...selfHosted,
  ...outside,
  ...easilyWrong,
  ...choices,
];
