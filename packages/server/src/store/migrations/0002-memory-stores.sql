-- `last_version` is the place of the newest version of any memory in the store. Every write of a memory
-- rewrites it, which is what makes such writes come one after the other.
create table memory_stores (
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

create index memory_stores_created on memory_stores (workspace_id, created_at, id);

create table memories (
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

create table memory_versions (
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

create index memory_versions_memory on memory_versions (workspace_id, memory_store_id, memory_id, seq);
create index memory_versions_actor on memory_versions (workspace_id, memory_store_id, created_by_id, seq);

-- Apart from the versions, so that lists do not read them. A memory's content is that of its version.
create table memory_contents (
  workspace_id text not null,
  memory_store_id text not null,
  memory_version_id text not null,
  content text not null,
  primary key (workspace_id, memory_store_id, memory_version_id)
);
