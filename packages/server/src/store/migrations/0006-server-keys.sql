-- Keys that all servers of this database have in common, such as the one that cursors are signed with.
create table server_keys (
  name text primary key,
  value text not null,
  created_at text not null
);
