import type {
  BetaManagedAgentsAgent,
  AgentCreateParams as SdkAgentCreateParams,
  AgentUpdateParams as SdkAgentUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/agents/agents";
import type {
  BetaEnvironment,
  BetaEnvironmentDeleteResponse,
  EnvironmentCreateParams as SdkEnvironmentCreateParams,
  EnvironmentUpdateParams as SdkEnvironmentUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/environments/environments";
import type { BetaDeletedFile, BetaFileMetadata } from "@anthropic-ai/sdk/resources/beta/files";
import type {
  BetaManagedAgentsDeletedMemory,
  BetaManagedAgentsMemory,
  BetaManagedAgentsMemoryListItem,
  MemoryCreateParams as SdkMemoryCreateParams,
  MemoryUpdateParams as SdkMemoryUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/memory-stores/memories";
import type {
  BetaManagedAgentsDeletedMemoryStore,
  BetaManagedAgentsMemoryStore,
  MemoryStoreCreateParams as SdkMemoryStoreCreateParams,
  MemoryStoreUpdateParams as SdkMemoryStoreUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/memory-stores/memory-stores";
import type { BetaManagedAgentsMemoryVersion } from "@anthropic-ai/sdk/resources/beta/memory-stores/memory-versions";
import type { BetaModelInfo } from "@anthropic-ai/sdk/resources/beta/models";
import type {
  BetaManagedAgentsDeleteSessionResource,
  BetaManagedAgentsSessionResource,
  ResourceAddParams,
} from "@anthropic-ai/sdk/resources/beta/sessions/resources";
import type {
  BetaManagedAgentsDeletedSession,
  BetaManagedAgentsSession,
  BetaManagedAgentsSessionAgent,
  SessionCreateParams as SdkSessionCreateParams,
  SessionUpdateParams as SdkSessionUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/sessions/sessions";
import type { BetaManagedAgentsSessionThread } from "@anthropic-ai/sdk/resources/beta/sessions/threads/threads";
import type { BetaDeletedSkill, BetaSkill } from "@anthropic-ai/sdk/resources/beta/skills/skills";
import type {
  BetaDeletedSkillVersion,
  BetaSkillVersion,
} from "@anthropic-ai/sdk/resources/beta/skills/versions";
import type {
  BetaManagedAgentsCredential,
  BetaManagedAgentsDeletedCredential,
  CredentialCreateParams as SdkCredentialCreateParams,
  CredentialUpdateParams as SdkCredentialUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/vaults/credentials";
import type {
  BetaManagedAgentsDeletedVault,
  BetaManagedAgentsVault,
  VaultCreateParams as SdkVaultCreateParams,
  VaultUpdateParams as SdkVaultUpdateParams,
} from "@anthropic-ai/sdk/resources/beta/vaults/vaults";
import type {
  DeletedFile,
  FileMetadata as SdkFileMetadata,
} from "@anthropic-ai/sdk/resources/files";
import type { ModelInfo as SdkModelInfo } from "@anthropic-ai/sdk/resources/models";
import type { Skill as SdkSkill } from "@anthropic-ai/sdk/resources/skills/skills";
import type { SkillVersion as SdkSkillVersion } from "@anthropic-ai/sdk/resources/skills/versions";
import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type * as api from "./index.ts";

/** Checked by the compiler: the official client's types are the contract. */

type Body<T> = Omit<T, "betas" | "workspace_id">;
/** What of a memory's parameters goes into the body. */
type MemoryBody<T> = Omit<Body<T>, "memory_store_id" | "view">;
/** Clients may send `redacted` by type, but the contract refuses it. */
type SentMessages<T extends { initial_events?: unknown }> = Omit<Body<T>, "initial_events">;

test("what the official client can send is what the schemas read", () => {
  expectTypeOf<Body<SdkAgentCreateParams>>().toExtend<z.input<typeof api.AgentCreateParams>>();
  expectTypeOf<Body<SdkAgentUpdateParams>>().toExtend<z.input<typeof api.AgentUpdateParams>>();
  expectTypeOf<Body<SdkEnvironmentCreateParams>>().toExtend<
    z.input<typeof api.EnvironmentCreateParams>
  >();
  expectTypeOf<Body<SdkEnvironmentUpdateParams>>().toExtend<
    z.input<typeof api.EnvironmentUpdateParams>
  >();
  expectTypeOf<SentMessages<SdkSessionCreateParams>>().toExtend<
    z.input<typeof api.SessionCreateParams>
  >();
  expectTypeOf<Body<SdkSessionUpdateParams>>().toExtend<z.input<typeof api.SessionUpdateParams>>();
  expectTypeOf<Body<ResourceAddParams>>().toExtend<z.input<typeof api.FileResourceParams>>();
  expectTypeOf<Body<SdkMemoryStoreCreateParams>>().toExtend<
    z.input<typeof api.MemoryStoreCreateParams>
  >();
  expectTypeOf<Body<SdkMemoryStoreUpdateParams>>().toExtend<
    z.input<typeof api.MemoryStoreUpdateParams>
  >();
  expectTypeOf<MemoryBody<SdkMemoryCreateParams>>().toExtend<
    z.input<typeof api.MemoryCreateParams>
  >();
  expectTypeOf<MemoryBody<SdkMemoryUpdateParams>>().toExtend<
    z.input<typeof api.MemoryUpdateParams>
  >();
  expectTypeOf<Body<SdkVaultCreateParams>>().toExtend<z.input<typeof api.VaultCreateParams>>();
  expectTypeOf<Body<SdkVaultUpdateParams>>().toExtend<z.input<typeof api.VaultUpdateParams>>();
  expectTypeOf<Body<SdkCredentialCreateParams>>().toExtend<
    z.input<typeof api.CredentialCreateParams>
  >();
  expectTypeOf<Omit<Body<SdkCredentialUpdateParams>, "vault_id">>().toExtend<
    z.input<typeof api.CredentialUpdateParams>
  >();
});

test("what is answered is what the official client reads", () => {
  expectTypeOf<api.Agent>().toExtend<BetaManagedAgentsAgent>();
  expectTypeOf<api.Environment>().toExtend<BetaEnvironment>();
  expectTypeOf<api.EnvironmentDeleted>().toExtend<BetaEnvironmentDeleteResponse>();
  expectTypeOf<api.Session>().toExtend<BetaManagedAgentsSession>();
  expectTypeOf<api.SessionAgent>().toExtend<BetaManagedAgentsSessionAgent>();
  expectTypeOf<api.SessionDeleted>().toExtend<BetaManagedAgentsDeletedSession>();
  expectTypeOf<api.SessionResource>().toExtend<BetaManagedAgentsSessionResource>();
  expectTypeOf<api.SessionResourceDeleted>().toExtend<BetaManagedAgentsDeleteSessionResource>();
  expectTypeOf<api.SessionThread>().toExtend<BetaManagedAgentsSessionThread>();
  expectTypeOf<api.FileMetadata>().toExtend<BetaFileMetadata>();
  expectTypeOf<api.FileDeleted>().toExtend<BetaDeletedFile>();
  expectTypeOf<api.MemoryStore>().toExtend<BetaManagedAgentsMemoryStore>();
  expectTypeOf<api.MemoryStoreDeleted>().toExtend<BetaManagedAgentsDeletedMemoryStore>();
  expectTypeOf<api.Memory>().toExtend<BetaManagedAgentsMemory>();
  expectTypeOf<api.MemoryListItem>().toExtend<BetaManagedAgentsMemoryListItem>();
  expectTypeOf<api.MemoryDeleted>().toExtend<BetaManagedAgentsDeletedMemory>();
  expectTypeOf<api.MemoryVersion>().toExtend<BetaManagedAgentsMemoryVersion>();
  expectTypeOf<api.Vault>().toExtend<BetaManagedAgentsVault>();
  expectTypeOf<api.VaultDeleted>().toExtend<BetaManagedAgentsDeletedVault>();
  expectTypeOf<api.Credential>().toExtend<BetaManagedAgentsCredential>();
  expectTypeOf<api.CredentialDeleted>().toExtend<BetaManagedAgentsDeletedCredential>();
  expectTypeOf<api.ModelInfo>().toExtend<BetaModelInfo>();
  expectTypeOf<api.Skill>().toExtend<BetaSkill>();
  expectTypeOf<api.SkillDeleted>().toExtend<BetaDeletedSkill>();
  expectTypeOf<api.SkillVersion>().toExtend<BetaSkillVersion>();
  expectTypeOf<api.SkillVersionDeleted>().toExtend<BetaDeletedSkillVersion>();
});

test("what is answered is also what the same resources outside of the beta read", () => {
  expectTypeOf<api.FileMetadata>().toExtend<SdkFileMetadata>();
  expectTypeOf<api.FileDeleted>().toExtend<DeletedFile>();
  expectTypeOf<api.ModelInfo>().toExtend<SdkModelInfo>();
  expectTypeOf<api.Skill>().toExtend<SdkSkill>();
  expectTypeOf<api.SkillVersion>().toExtend<SdkSkillVersion>();
});
