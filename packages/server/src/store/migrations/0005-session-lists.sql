-- What the list of sessions is read by: a session that is not deleted is in one of each pair. There may be
-- many more archived sessions than others, and most lists leave them out.
drop index sessions_created;
create index sessions_live on sessions (workspace_id, created_at, id)
  where deleted_at is null and archived_at is null;
create index sessions_archived on sessions (workspace_id, created_at, id)
  where deleted_at is null and archived_at is not null;

drop index sessions_agent;
create index sessions_agent_live on sessions (workspace_id, agent_id, created_at, id, agent_version)
  where deleted_at is null and archived_at is null;
create index sessions_agent_archived on sessions (workspace_id, agent_id, created_at, id, agent_version)
  where deleted_at is null and archived_at is not null;

-- Almost every session is idle: those that are not would be looked for among all of them.
create index sessions_status on sessions (workspace_id, status, created_at, id)
  where deleted_at is null and archived_at is null and status <> 'idle';

-- Which memory stores a session has. Its times are those of the session, so that a list by store needs no
-- other table to find its page.
create table session_memory_stores (
  workspace_id text not null,
  memory_store_id text not null,
  session_key integer not null,
  session_id text not null,
  created_at text not null,
  archived_at text,
  primary key (workspace_id, memory_store_id, session_key)
);
create index session_memory_stores_session on session_memory_stores (session_key);
create index session_memory_stores_live
  on session_memory_stores (workspace_id, memory_store_id, created_at, session_id)
  where archived_at is null;
create index session_memory_stores_archived
  on session_memory_stores (workspace_id, memory_store_id, created_at, session_id)
  where archived_at is not null;

-- A repository's token, which nothing but the making of a sandbox reads.
create table session_repository_tokens (
  workspace_id text not null,
  session_key integer not null,
  resource_id text not null,
  token_sealed text not null,
  primary key (workspace_id, session_key, resource_id)
);
