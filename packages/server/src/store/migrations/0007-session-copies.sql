-- Sessions that are being made from another one's log, step by step. Until the last step their row is a
-- tombstone, so that nobody finds them; what is here for long was left behind by a process that died.
create table session_copies (
  session_key integer primary key,
  workspace_id text not null,
  session_id text not null,
  touched_at text not null,
  unique (workspace_id, session_id)
);
create index session_copies_touched on session_copies (touched_at);
