-- How far the changes that a session's sandbox made in its memory stores are stored: the report of its
-- copy with this number is, and so is what earlier ones had. `refused` is JSON: what was not taken of it.
create table session_memory_copies (
  workspace_id text not null,
  session_key integer not null,
  copy_id text not null,
  seq integer not null,
  refused text not null,
  primary key (workspace_id, session_key)
);
