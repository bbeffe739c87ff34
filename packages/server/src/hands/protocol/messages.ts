import { packageManagers, ResultBlock, SandboxLimitFacts, UserLocation } from "@drover/api";
import { z } from "zod";
import { MEMORIES_MAX, MEMORY_STORES_MAX } from "../../core/memory/limits.ts";
import { REPOSITORY_PROBLEMS, UNSTORED_REASONS } from "../../core/ports/hands.ts";
import { PROVIDER_NAMES } from "../../core/sandboxes/providers.ts";

/**
 * What goes over the socket between a brain and hands, version 5. Requests carry
 * `authorization: Bearer <token>` and `drover-hands-protocol: 5`; bodies are JSON.
 *
 * | request | answer |
 * |---|---|
 * | `GET /v1/boot` | `BootAnswer` |
 * | `PUT /v1/calls/{id}`, a `CallMessage` | `CallAnswer`, at once; 409 `Refusal`; 503 no room |
 * | `GET /v1/calls/{id}?wait_ms=&outputs_after=` | `CallAnswer`, when the call ended or the wait is over; with `outputs_after` also when its hand has outputs with a higher place, and then with those alone while it runs |
 * | `GET /v1/calls/{id}/output?from=` | `OutputAnswer` |
 * | `POST /v1/calls/{id}/cancel`, a `CancelMessage` | 202, also for a call not yet sent |
 * | `DELETE /v1/calls/{id}` | 204: the result is committed and forgotten |
 * | `POST /v1/hands/{hand_id}/outputs`, a `HandMessage` | `OutputsAnswer`: looked for anew, with changes of memory stores; 503; with `live=1` outputs alone, in a sandbox that lives, and for some seconds |
 * | `DELETE /v1/hands/{hand_id}/outputs?to=` | 204: outputs up to this place are committed |
 * | `PUT /v1/hands/{hand_id}/memory`, a `MemoryMessage` | `MemoryAnswer` |
 * | `DELETE /v1/hands/{hand_id}` | 204 when its sandbox and workspace are gone |
 * | `POST /v1/hands/{hand_id}/checkpoint`, a `CheckpointMessage` | `CheckpointAnswer` |
 * | `POST /v1/mcp/tools`, a `ToolsMessage` | `ToolsAnswer`: what MCP servers have |
 * | `GET /v1/reports` | `ReportsAnswer`: what was kept of idle hands, until it is acknowledged |
 * | `POST /v1/reports/{hand_id}/acknowledge`, an `AcknowledgeMessage` | 204: it is committed |
 * | `GET /v1/questions?wait_ms=` | `QuestionsAnswer`: what hands ask of servers, as soon as there is something |
 * | `POST /v1/questions/{id}`, an `AnswerMessage` | 204, also for what nobody waits for any more |
 * | `POST /v1/credentials/try`, an `OAuthMessage` | `TrialAnswer` |
 * | `POST /v1/secrets/carry`, a `CarryMessage` | `CarryAnswer`: each sealed for its new place |
 * | `POST /v1/stop` | 202, then the process ends |
 *
 * 401 is a wrong token, which a later boot answers; 404 an unknown call; 400 and 413 a bug.
 */
export const PROTOCOL_HEADER = "drover-hands-protocol";

/** Bytes of one request. A tool's input comes out of one model response, which is far smaller. */
export const REQUEST_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of a stored result; a larger one becomes an error result. */
export const RESULT_BYTES_MAX = 8 * 1024 * 1024;
/** Bytes of one answer, as the client takes it. */
export const ANSWER_BYTES_MAX = 2 * RESULT_BYTES_MAX;
/** A wait is cut at this and asked for again, so that no half-open connection is waited on for long. */
export const WAIT_MS_MAX = 25_000;
/** Bytes of running output in one answer. */
export const OUTPUT_BYTES_MAX = 256 * 1024;
/** Records of a call's egress; the rest is summed up in the last ones. */
export const EGRESS_RECORDS_MAX = 256;
/** Changes of memories in one result, and files named in it that cannot be stored. */
export const MEMORY_CHANGES_MAX = 4_000;

const Id = z.string().min(1).max(256);
const Grant = z.string().min(1).max(1_024);
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Size = z.int().nonnegative();
const MountPath = z.string().min(1).max(4_096);

export const RecipeMessage = z.strictObject({
  provider: z.enum(PROVIDER_NAMES),
  base: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("host") }),
    z.strictObject({ type: z.literal("built"), name: z.string().min(1).max(64) }),
    z.strictObject({ type: z.literal("directory"), path: MountPath }),
  ]),
  packages: z
    .partialRecord(z.enum(packageManagers), z.array(z.string().min(1).max(256)).min(1).max(256))
    .exactOptional(),
  mounts: z
    .array(
      z.discriminatedUnion("type", [
        z.strictObject({
          type: z.literal("file"),
          mount_path: MountPath,
          sha256: Sha256,
          size_bytes: Size,
          filename: z.string().max(1_024).exactOptional(),
        }),
        z.strictObject({
          type: z.literal("skill"),
          mount_path: MountPath,
          sha256: Sha256,
          size_bytes: Size,
          source: z.enum(["workspace", "installed"]),
          description: z.string().max(1_024),
        }),
        z.strictObject({
          type: z.literal("memory_store"),
          mount_path: MountPath,
          memory_store_id: Id,
          access: z.enum(["read_write", "read_only"]),
        }),
      ]),
    )
    .max(1_500),
  network: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("none") }),
    z.strictObject({ type: z.literal("unrestricted") }),
    z.strictObject({
      type: z.literal("limited"),
      // More than an environment's hosts, an agent's servers and the registries together.
      hosts: z.array(z.string().min(1).max(255)).max(1_000),
      mcp_servers: z.literal(true).exactOptional(),
    }),
  ]),
  checkpoint: z.strictObject({ sha256: Sha256, size_bytes: Size }).exactOptional(),
});

const EgressMessage = z.strictObject({
  host: z.string().min(1).max(255),
  port: z.int().min(0).max(65_535).nullable(),
  verdict: z.enum(["allowed", "refused", "failed"]),
  reason: z.string().max(1_024).nullable(),
  connections: Size,
  bytes_up: Size,
  bytes_down: Size,
  ms: Size,
});

const FactsMessage = z.strictObject({
  provider: z.string().min(1).max(64),
  mode: z.enum(["root", "rootless"]),
  limits: SandboxLimitFacts,
});

/** A hand whose id is in the path. */
export const HandMessage = z.strictObject({
  workspaceId: Id,
  recipe: RecipeMessage,
  /** Nothing is given of files of another line. */
  line: z.int().positive().exactOptional(),
});
export const CheckpointAnswer = z.strictObject({ sha256: Sha256, size_bytes: Size });

/** See `HandReport`. */
export const ReportMessage = z.strictObject({
  workspace_id: Id,
  hand_id: Id,
  installation_id: Id,
  line: z.int().positive(),
  checkpoint: CheckpointAnswer.nullable(),
  problem: z.string().nullable(),
  call_ids: z.array(Id).max(1_000),
  taken_at: z.iso.datetime({ precision: 3 }),
});
/** What is to be committed and then acknowledged, some of it where there is much. */
export const ReportsAnswer = z.strictObject({ reports: z.array(ReportMessage) });
export const REPORTS_MAX = 100;
export const AcknowledgeMessage = z.strictObject({ taken_at: z.string().max(64) });

/** Characters of the name that an MCP server gives a tool. */
export const TOOL_NAME_MAX = 1_024;

const McpServerMessage = z.strictObject({
  name: z.string().min(1).max(255),
  url: z.string().min(1).max(4_096),
});

/** See `McpListRequest`. */
export const ToolsMessage = z.strictObject({
  workspaceId: Id,
  sessionId: Id,
  handId: Id,
  network: RecipeMessage.shape.network,
  servers: z.array(McpServerMessage).max(64),
  grant: Grant.exactOptional(),
});

/** See `McpListing`. */
export const ToolsAnswer = z.strictObject({
  servers: z.array(
    z.strictObject({
      name: z.string(),
      tools: z.array(
        z.strictObject({
          name: z.string().min(1).max(TOOL_NAME_MAX),
          description: z.string(),
          input_schema: z.looseObject({ type: z.literal("object") }),
        }),
      ),
      left_out: z.array(z.strictObject({ name: z.string(), reason: z.string() })).exactOptional(),
      error: z
        .strictObject({ type: z.enum(["connection", "authentication"]), message: z.string() })
        .exactOptional(),
    }),
  ),
  egress: z.array(EgressMessage).max(EGRESS_RECORDS_MAX).exactOptional(),
});

const Domains = z.array(z.string().max(1_024)).max(64).exactOptional();
const Lists = { allowed_domains: Domains, blocked_domains: Domains };

const SettingsMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("web_fetch"),
    max_content_tokens: z.int().positive().nullable(),
    ...Lists,
  }),
  z.strictObject({
    type: z.literal("web_search"),
    user_location: UserLocation.nullable(),
    ...Lists,
  }),
  z.strictObject({
    type: z.literal("mcp"),
    server: McpServerMessage,
    tool: z.string().min(1).max(TOOL_NAME_MAX),
  }),
]);

const RepositoryMessage = z.strictObject({
  resource_id: Id,
  url: z.url().max(4_096),
  mount_path: MountPath,
  checkout: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("branch"), name: z.string().min(1).max(1_024) }),
      z.strictObject({
        type: z.literal("commit"),
        sha: z.string().regex(/^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/),
      }),
    ])
    .nullable(),
  sealed_token: z
    .string()
    .max(64 * 1024)
    .exactOptional(),
});

const RepositoryProblemMessage = z.strictObject({
  url: z.string().max(4_096),
  type: z.enum(REPOSITORY_PROBLEMS),
  message: z.string().max(4_096),
});

/** More than a session may have. */
const REPOSITORIES_MAX = 1_000;

const FilesMessage = z.strictObject({
  line: z.int().positive(),
  is_ahead: z.boolean(),
  checkpoint: z.strictObject({ sha256: Sha256, size_bytes: Size }).exactOptional(),
});

export const CallMessage = z.strictObject({
  workspaceId: Id,
  sessionId: Id,
  callId: Id,
  handId: Id,
  handsBoot: Id,
  epoch: z.int().nonnegative(),
  name: z.string().min(1).max(256),
  input: z.record(z.string(), z.unknown()),
  settings: SettingsMessage.exactOptional(),
  recipe: RecipeMessage,
  repositories: z.array(RepositoryMessage).max(REPOSITORIES_MAX).exactOptional(),
  files: FilesMessage.exactOptional(),
  grant: Grant.exactOptional(),
});

export const CancelMessage = z.strictObject({ sessionId: Id, epoch: z.int().nonnegative() });

const MemoryPath = z.string().min(1).max(4_096);
const Sha256OrNothing = Sha256.nullable();

/** The hand is in the path. See `MemoryOffer`. */
export const MemoryMessage = z.strictObject({
  files: FilesMessage.exactOptional(),
  acknowledged: z
    .strictObject({
      copy_id: Id,
      seq: Size,
      refused: z
        .array(z.strictObject({ memory_store_id: Id, path: MemoryPath }))
        .max(MEMORY_CHANGES_MAX),
    })
    .nullable(),
  stores: z
    .array(
      z.strictObject({
        memory_store_id: Id,
        revision: Size,
        entries: z
          .array(z.strictObject({ path: MemoryPath, sha256: Sha256, size_bytes: Size }))
          .max(MEMORIES_MAX),
      }),
    )
    .max(MEMORY_STORES_MAX),
  contents: z.array(z.string()).max(MEMORIES_MAX),
});
/** Hashes of the contents that the hands lack. */
export const MemoryAnswer = z.strictObject({
  missing: z.array(Sha256).max(MEMORIES_MAX * MEMORY_STORES_MAX),
});

const MemoryReportMessage = z.strictObject({
  copy_id: Id,
  seq: Size,
  changes: z
    .array(
      z.strictObject({
        memory_store_id: Id,
        path: MemoryPath,
        derived_from: z.array(Sha256OrNothing).max(64),
        content: z.string().nullable(),
      }),
    )
    .max(MEMORY_CHANGES_MAX),
  unstored: z
    .array(
      z.strictObject({
        memory_store_id: Id,
        path: MemoryPath,
        reason: z.enum(UNSTORED_REASONS),
      }),
    )
    .max(MEMORY_CHANGES_MAX),
});

/** In the order of their places. */
const Outputs = z.array(
  z.strictObject({ path: z.string().min(1), sha256: Sha256, size_bytes: Size, found: Size }),
);

export const OutcomeMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("result"),
    content: z.array(ResultBlock),
    is_error: z.boolean(),
    outputs: Outputs,
    egress: z.array(EgressMessage).max(EGRESS_RECORDS_MAX).exactOptional(),
    sandbox: FactsMessage.exactOptional(),
    memory: MemoryReportMessage.exactOptional(),
    repositories: z.array(RepositoryProblemMessage).max(REPOSITORIES_MAX).exactOptional(),
    tools_changed: z.literal(true).exactOptional(),
    cancelled: z.boolean(),
  }),
  z.strictObject({ type: z.literal("lost"), message: z.string() }),
  z.strictObject({ type: z.literal("files_gone") }),
  z.strictObject({ type: z.literal("refused"), message: z.string() }),
  z.strictObject({ type: z.literal("unavailable"), message: z.string() }),
]);

export const BootAnswer = z.object({ installation_id: z.string(), boot: z.string() });
export const CallAnswer = z.discriminatedUnion("state", [
  z.object({ state: z.enum(["accepted", "running"]), outputs: Outputs.exactOptional() }),
  z.object({ state: z.literal("done"), outcome: OutcomeMessage }),
]);
export const OutputsAnswer = z.strictObject({
  outputs: Outputs,
  memory: MemoryReportMessage.exactOptional(),
});
export type CallAnswer = z.infer<typeof CallAnswer>;
/** `data` is base64; `start` the offset of its first byte, `total` the bytes written so far. */
export const OutputAnswer = z.object({ data: z.string(), start: Size, total: Size });
export type OutputAnswer = z.infer<typeof OutputAnswer>;
/** Every answer that is not 2xx. */
export const Refusal = z.object({ reason: z.string(), message: z.string() });
export type Refusal = z.infer<typeof Refusal>;
