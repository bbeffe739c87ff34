export { FLAVOURS, type FlavourName } from "./chat-completions/flavours.ts";
export { CHAT_MODELS } from "./chat-completions/models.ts";
export { judgeChat } from "./chat-completions/rules.ts";
export {
  type ChatCompletions,
  type ChatCompletionsOptions,
  startChatCompletions,
} from "./chat-completions/server.ts";
export { PrivateEngine } from "./docker/private-engine.ts";
export { CERTIFICATE, CERTIFICATE_KEY } from "./git/certificate.ts";
export { GitHost } from "./git/git-host.ts";
export { type EverythingServer, startEverything } from "./mcp/everything.ts";
export { type McpServer, type McpServerOptions, startMcpServer } from "./mcp/server.ts";
export {
  answer,
  failing,
  overloaded,
  rateLimited,
  text,
  thinking,
  toolCall,
} from "./messages-api/answers.ts";
export { scriptedByMessages } from "./messages-api/behaviour.ts";
export { type JudgedCall, judgedCallOf } from "./messages-api/judged.ts";
export { MODELS } from "./messages-api/models.ts";
export type { Rule, RuleInput } from "./messages-api/rules/rule.ts";
export { RULES } from "./messages-api/rules.ts";
export {
  type MessagesApi,
  type MessagesApiOptions,
  startMessagesApi,
  toolResultsOf,
} from "./messages-api/server.ts";
export type {
  Answer,
  AnswerBlock,
  Fault,
  Json,
  JsonObject,
  MessagesRequest,
  ModelSpec,
  Pacing,
  Refusal,
  Script,
} from "./messages-api/types.ts";
export {
  createTestDatabase,
  postgresUrl,
  queryPostgres,
  type TestDatabase,
} from "./postgres/database.ts";
export { Random } from "./random.ts";
export type { FoundPage, SearchFlavour, SearchSeen } from "./search/flavours.ts";
export { type SearchProvider, startSearchProvider } from "./search/server.ts";
