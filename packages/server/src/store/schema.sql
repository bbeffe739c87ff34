CREATE TABLE agent_versions (
  workspace_id text not null,
  id text not null,
  version integer not null,
  updated_at text not null,
  body text not null,
  primary key (workspace_id, id, version)
);

CREATE TABLE agents (
  workspace_id text not null,
  id text not null,
  version integer not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  primary key (workspace_id, id)
);

CREATE INDEX agents_created on agents (workspace_id, created_at, id);

CREATE TABLE answered_requests (
  workspace_id text not null,
  request_key text not null,
  attempt integer not null,
  status integer not null,
  body text not null,
  created_at text not null,
  primary key (workspace_id, request_key)
);

CREATE INDEX answered_requests_created on answered_requests (created_at);

CREATE TABLE api_keys (
  workspace_id text not null,
  id text not null,
  name text not null,
  role text not null,
  key_sha256 text not null unique,
  created_at text not null,
  revoked_at text,
  primary key (workspace_id, id)
);

CREATE TABLE checkpoints (
  session_key integer primary key,
  workspace_id text not null,
  fold integer not null,
  seq integer not null,
  state text not null
);

CREATE TABLE credential_secrets (
  workspace_id text not null,
  credential_id text not null,
  name text not null,
  secret_sealed text not null,
  revision integer not null,
  primary key (workspace_id, credential_id, name)
);

CREATE TABLE credential_uses (
  workspace_id text not null,
  id text not null,
  session_id text not null,
  api_key_id text,
  vault_id text,
  credential_id text not null,
  host text not null,
  purpose text not null,
  verdict text not null,
  reason text not null,
  minute text not null,
  releases integer not null,
  requests integer not null,
  first_at text not null,
  last_at text not null,
  primary key (workspace_id, session_id, minute, credential_id, host, purpose, verdict, reason)
);

CREATE INDEX credential_uses_credential on credential_uses (workspace_id, credential_id, first_at, id);

CREATE UNIQUE INDEX credential_uses_first on credential_uses (workspace_id, first_at, id);

CREATE INDEX credential_uses_session on credential_uses (workspace_id, session_id, first_at, id);

CREATE TABLE encryption_keys (
  key_id text primary key,
  created_at text not null,
  retired_at text
);

CREATE TABLE environments (
  workspace_id text not null,
  id text not null,
  name text not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  body text not null,
  primary key (workspace_id, id)
);

CREATE INDEX environments_created on environments (workspace_id, created_at, id);

CREATE UNIQUE INDEX environments_name on environments (workspace_id, name) where archived_at is null;

CREATE TABLE event_contents (
  session_key integer not null,
  sha256 text not null,
  workspace_id text not null,
  body text not null,
  primary key (session_key, sha256)
);

CREATE TABLE events (
  session_key integer not null,
  seq integer not null,
  workspace_id text not null,
  id text not null,
  thread_id text not null,
  cross_posted integer not null,
  type text not null,
  v integer not null,
  processed_at text not null,
  epoch integer not null,
  size integer not null,
  large text,
  public text not null,
  private text,
  unique (session_key, seq),
  unique (workspace_id, id)
);

CREATE TABLE files (
  workspace_id text not null,
  id text not null,
  filename text not null,
  mime_type text not null,
  size_bytes integer not null,
  sha256 text not null,
  created_at text not null,
  expires_at text,
  session_id text,
  downloadable integer not null,
  output_path text,
  primary key (workspace_id, id),
  unique (workspace_id, session_id, output_path)
);

CREATE INDEX files_content on files (workspace_id, sha256);

CREATE INDEX files_created on files (workspace_id, created_at, id);

CREATE INDEX files_expired on files (expires_at) where expires_at is not null and sha256 <> '';

CREATE TABLE hands (
  workspace_id text not null,
  hand_id text not null,
  installation_id text not null,
  line integer not null,
  last_call_id text,
  checkpoint_sha256 text,
  checkpoint_size_bytes integer,
  checkpoint_call_id text,
  checkpoint_taken_at text,
  problem text,
  primary key (workspace_id, hand_id)
);

CREATE INDEX hands_checkpoint on hands (workspace_id, checkpoint_sha256)
  where checkpoint_sha256 is not null;

CREATE TABLE inbox (
  session_key integer not null,
  arrival integer not null,
  workspace_id text not null,
  id text not null,
  thread_id text not null,
  cross_posted integer not null,
  type text not null,
  v integer not null,
  accepted_at text not null,
  size integer not null,
  large text,
  public text not null,
  private text,
  unique (session_key, arrival),
  unique (workspace_id, id)
);

CREATE TABLE loose_blobs (
  workspace_id text not null,
  sha256 text not null,
  since text not null,
  primary key (workspace_id, sha256)
);

CREATE INDEX loose_blobs_since on loose_blobs (since);

CREATE TABLE memories (
  workspace_id text not null,
  memory_store_id text not null,
  id text not null,
  memory_version_id text not null,
  path text not null,
  content_sha256 text not null,
  content_size_bytes integer not null,
  created_at text not null,
  updated_at text not null,
  primary key (workspace_id, memory_store_id, id),
  unique (workspace_id, memory_store_id, path)
);

CREATE TABLE memory_contents (
  workspace_id text not null,
  memory_store_id text not null,
  memory_version_id text not null,
  content text not null,
  primary key (workspace_id, memory_store_id, memory_version_id)
);

CREATE TABLE memory_stores (
  workspace_id text not null,
  id text not null,
  name text not null,
  description text not null,
  metadata text not null,
  last_version integer not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  primary key (workspace_id, id)
);

CREATE INDEX memory_stores_created on memory_stores (workspace_id, created_at, id);

CREATE TABLE memory_versions (
  workspace_id text not null,
  memory_store_id text not null,
  id text not null,
  seq integer not null,
  memory_id text not null,
  operation text not null,
  path text,
  content_sha256 text,
  content_size_bytes integer,
  created_at text not null,
  created_by_type text not null,
  created_by_id text not null,
  redacted_at text,
  redacted_by_type text,
  redacted_by_id text,
  primary key (workspace_id, memory_store_id, id),
  unique (workspace_id, memory_store_id, seq)
);

CREATE INDEX memory_versions_actor on memory_versions (workspace_id, memory_store_id, created_by_id, seq);

CREATE INDEX memory_versions_memory on memory_versions (workspace_id, memory_store_id, memory_id, seq);

CREATE TABLE migrations (
  version integer primary key,
  name text not null
);

CREATE TABLE probes (
  id integer primary key,
  padding text not null
);

CREATE TABLE recipe_blobs (
  workspace_id text not null,
  sha256 text not null,
  session_key integer not null,
  primary key (workspace_id, sha256, session_key)
);

CREATE INDEX recipe_blobs_session on recipe_blobs (session_key);

CREATE TABLE server_keys (
  name text primary key,
  value text not null,
  created_at text not null
);

CREATE TABLE session_copies (
  session_key integer primary key,
  workspace_id text not null,
  session_id text not null,
  touched_at text not null,
  unique (workspace_id, session_id)
);

CREATE INDEX session_copies_touched on session_copies (touched_at);

CREATE TABLE session_definitions (
  session_key integer primary key,
  workspace_id text not null,
  title text,
  metadata text not null,
  agent text not null,
  resources text not null,
  vault_ids text not null,
  recipe text not null
, budget text, created_by text);

CREATE TABLE session_memory_copies (
  workspace_id text not null,
  session_key integer not null,
  copy_id text not null,
  seq integer not null,
  refused text not null,
  primary key (workspace_id, session_key)
);

CREATE TABLE session_memory_stores (
  workspace_id text not null,
  memory_store_id text not null,
  session_key integer not null,
  session_id text not null,
  created_at text not null,
  archived_at text,
  primary key (workspace_id, memory_store_id, session_key)
);

CREATE INDEX session_memory_stores_archived
  on session_memory_stores (workspace_id, memory_store_id, created_at, session_id)
  where archived_at is not null;

CREATE INDEX session_memory_stores_live
  on session_memory_stores (workspace_id, memory_store_id, created_at, session_id)
  where archived_at is null;

CREATE INDEX session_memory_stores_session on session_memory_stores (session_key);

CREATE TABLE session_repository_tokens (
  workspace_id text not null,
  session_key integer not null,
  resource_id text not null,
  token_sealed text not null,
  primary key (workspace_id, session_key, resource_id)
);

CREATE TABLE sessions (
  session_key integer primary key,
  workspace_id text not null,
  id text not null,
  thread_id text not null,
  hand_id text not null,
  environment_id text not null,
  agent_id text not null,
  agent_version integer not null,
  status text not null,
  totals text not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  deleted_at text,
  last_seq integer not null,
  last_processed_at text not null,
  last_arrival integer not null,
  input_seq integer,
  input_at text,
  wake_at text,
  woken integer not null,
  lease_holder text,
  lease_expires_at text,
  epoch integer not null,
  claims integer not null,
  hand_disposed integer not null,
  unique (workspace_id, id)
);

CREATE INDEX sessions_agent_archived on sessions (workspace_id, agent_id, created_at, id, agent_version)
  where deleted_at is null and archived_at is not null;

CREATE INDEX sessions_agent_live on sessions (workspace_id, agent_id, created_at, id, agent_version)
  where deleted_at is null and archived_at is null;

CREATE INDEX sessions_archived on sessions (workspace_id, created_at, id)
  where deleted_at is null and archived_at is not null;

CREATE INDEX sessions_environment on sessions (workspace_id, environment_id);

CREATE INDEX sessions_hand on sessions (deleted_at, id) where deleted_at is not null and hand_disposed = 0;

CREATE INDEX sessions_id on sessions (id);

CREATE INDEX sessions_lease on sessions (lease_holder) where lease_holder is not null;

CREATE INDEX sessions_live on sessions (workspace_id, created_at, id)
  where deleted_at is null and archived_at is null;

CREATE INDEX sessions_status on sessions (workspace_id, status, created_at, id)
  where deleted_at is null and archived_at is null and status <> 'idle';

CREATE INDEX sessions_wake on sessions (wake_at) where wake_at is not null;

CREATE TABLE skill_versions (
  workspace_id text not null,
  skill_id text not null,
  id text not null,
  description text not null,
  sha256 text not null,
  size_bytes integer not null,
  created_at text not null,
  primary key (workspace_id, skill_id, id)
);

CREATE INDEX skill_versions_content on skill_versions (workspace_id, sha256);

CREATE INDEX skill_versions_created on skill_versions (workspace_id, skill_id, created_at, id);

CREATE TABLE skills (
  workspace_id text not null,
  id text not null,
  name text not null,
  display_name text not null,
  latest_version_id text not null,
  created_at text not null,
  updated_at text not null,
  primary key (workspace_id, id)
);

CREATE INDEX skills_created on skills (workspace_id, created_at, id);

CREATE TABLE vault_credentials (
  workspace_id text not null,
  id text not null,
  vault_id text not null,
  auth_key text not null,
  display_name text,
  metadata text not null,
  auth text not null,
  created_at text not null,
  updated_at text not null,
  archived_at text, refresh text, binding text,
  primary key (workspace_id, id)
);

CREATE INDEX vault_credentials_created on vault_credentials (workspace_id, vault_id, created_at, id);

CREATE UNIQUE INDEX vault_credentials_key on vault_credentials (workspace_id, vault_id, auth_key)
  where archived_at is null;

CREATE TABLE vaults (
  workspace_id text not null,
  id text not null,
  display_name text not null,
  metadata text not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  primary key (workspace_id, id)
);

CREATE INDEX vaults_created on vaults (workspace_id, created_at, id);

CREATE TABLE workspaces (
  id text primary key,
  name text not null,
  created_at text not null
);
