-- Where the files of a session's sandbox are, and the newest archive of them. Which session has the hand is
-- in its own row.
create table hands (
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
create index hands_checkpoint on hands (workspace_id, checkpoint_sha256)
  where checkpoint_sha256 is not null;
