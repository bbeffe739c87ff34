create table skills (
  workspace_id text not null,
  id text not null,
  name text not null,
  display_name text not null,
  latest_version_id text not null,
  created_at text not null,
  updated_at text not null,
  primary key (workspace_id, id)
);

create index skills_created on skills (workspace_id, created_at, id);

create table skill_versions (
  workspace_id text not null,
  skill_id text not null,
  id text not null,
  description text not null,
  sha256 text not null,
  size_bytes integer not null,
  created_at text not null,
  primary key (workspace_id, skill_id, id)
);

create index skill_versions_created on skill_versions (workspace_id, skill_id, created_at, id);
create index skill_versions_content on skill_versions (workspace_id, sha256);

-- The content of an expired file goes some time later, and then its `sha256` is empty.
create index files_expired on files (expires_at) where expires_at is not null and sha256 <> '';
