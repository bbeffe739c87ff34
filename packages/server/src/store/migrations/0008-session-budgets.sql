-- What a session may consume, as JSON; null for no limit.
alter table session_definitions add column budget text;
