create table vaults (
  workspace_id text not null,
  id text not null,
  display_name text not null,
  metadata text not null,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  primary key (workspace_id, id)
);
create index vaults_created on vaults (workspace_id, created_at, id);

-- `auth` is what may be answered; `secrets_sealed` is null once the credential is archived.
create table vault_credentials (
  workspace_id text not null,
  id text not null,
  vault_id text not null,
  auth_key text not null,
  display_name text,
  metadata text not null,
  auth text not null,
  secrets_sealed text,
  created_at text not null,
  updated_at text not null,
  archived_at text,
  primary key (workspace_id, id)
);
create index vault_credentials_created on vault_credentials (workspace_id, vault_id, created_at, id);
create unique index vault_credentials_key on vault_credentials (workspace_id, vault_id, auth_key)
  where archived_at is null;

-- The ids of keys that secrets may be sealed with; the keys themselves are elsewhere.
create table encryption_keys (
  key_id text primary key,
  created_at text not null,
  retired_at text
);
