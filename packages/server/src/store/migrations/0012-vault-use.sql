-- Each secret of a credential, by its name on the wire; nothing is left of one that is archived. `revision` counts the
-- times that it was replaced.
create table credential_secrets (
  workspace_id text not null,
  credential_id text not null,
  name text not null,
  secret_sealed text not null,
  revision integer not null,
  primary key (workspace_id, credential_id, name)
);

-- No server could use what was stored in one piece, and none can take it apart without opening it.
update vault_credentials set archived_at = updated_at where archived_at is null;
alter table vault_credentials drop column secrets_sealed;

-- JSON: who exchanges the refresh token now, and whether it was refused for good. Null for neither.
alter table vault_credentials add column refresh text;
-- JSON: the requests that it may be put into. Null for all.
alter table vault_credentials add column binding text;

-- The key that made the session.
alter table session_definitions add column created_by text;

-- Who had which secret for whom, by the minute. It outlives the session and the credential.
create table credential_uses (
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
create unique index credential_uses_first on credential_uses (workspace_id, first_at, id);
create index credential_uses_session on credential_uses (workspace_id, session_id, first_at, id);
create index credential_uses_credential on credential_uses (workspace_id, credential_id, first_at, id);
