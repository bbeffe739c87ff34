-- An imported session brings its id. Hands and announcements know sessions by their ids alone, so it must
-- not be another one's in any workspace.
create index sessions_id on sessions (id);
