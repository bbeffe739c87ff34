-- Times are RFC 3339 text in UTC with milliseconds, so that their order is the order of the text.
-- Booleans are 0 or 1. JSON is text: neither engine's JSON type keeps key order and NUL as received.

create table workspaces (
  id text primary key,
  name text not null,
  created_at text not null
);

-- What every append rewrites, and so nothing wide. `session_key` is short because each event carries it.
create table sessions (
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

create index sessions_created on sessions (workspace_id, created_at, id);
create index sessions_agent on sessions (workspace_id, agent_id, created_at, id);
create index sessions_environment on sessions (workspace_id, environment_id);
create index sessions_wake on sessions (wake_at) where wake_at is not null;
create index sessions_lease on sessions (lease_holder) where lease_holder is not null;
create index sessions_hand on sessions (deleted_at, id) where deleted_at is not null and hand_disposed = 0;

create table session_definitions (
  session_key integer primary key,
  workspace_id text not null,
  title text,
  metadata text not null,
  agent text not null,
  resources text not null,
  vault_ids text not null,
  recipe text not null
);

-- The blobs that a session's recipe mounts, so that asking who needs one takes no JSON functions.
create table recipe_blobs (
  workspace_id text not null,
  sha256 text not null,
  session_key integer not null,
  primary key (workspace_id, sha256, session_key)
);

create index recipe_blobs_session on recipe_blobs (session_key);

-- `size` comes before the bodies, so that adding up a page does not read them.
create table events (
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

create table inbox (
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

-- Strings over 64 KB of the session's events, each as JSON text, once.
create table event_contents (
  session_key integer not null,
  sha256 text not null,
  workspace_id text not null,
  body text not null,
  primary key (session_key, sha256)
);

create table checkpoints (
  session_key integer primary key,
  workspace_id text not null,
  fold integer not null,
  seq integer not null,
  state text not null
);

create table agents (
  workspace_id text not null,
  id text not null,
  version integer not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  primary key (workspace_id, id)
);

create index agents_created on agents (workspace_id, created_at, id);

create table agent_versions (
  workspace_id text not null,
  id text not null,
  version integer not null,
  updated_at text not null,
  body text not null,
  primary key (workspace_id, id, version)
);

create table environments (
  workspace_id text not null,
  id text not null,
  name text not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  body text not null,
  primary key (workspace_id, id)
);

create unique index environments_name on environments (workspace_id, name) where archived_at is null;
create index environments_created on environments (workspace_id, created_at, id);

create table files (
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

create index files_created on files (workspace_id, created_at, id);
create index files_content on files (workspace_id, sha256);

-- Content that lost a reference: whether anything still needs it is looked at some time after `since`.
create table loose_blobs (
  workspace_id text not null,
  sha256 text not null,
  since text not null,
  primary key (workspace_id, sha256)
);

create index loose_blobs_since on loose_blobs (since);

create table api_keys (
  workspace_id text not null,
  id text not null,
  name text not null,
  role text not null,
  key_sha256 text not null unique,
  created_at text not null,
  revoked_at text,
  primary key (workspace_id, id)
);

create table answered_requests (
  workspace_id text not null,
  request_key text not null,
  attempt integer not null,
  status integer not null,
  body text not null,
  created_at text not null,
  primary key (workspace_id, request_key)
);

create index answered_requests_created on answered_requests (created_at);

-- One row, rewritten to find out whether a database that could not be written can be again.
create table probes (
  id integer primary key,
  padding text not null
);
