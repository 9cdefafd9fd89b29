-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What people ask about daemons, and which daemons ended within a day. A daemon that does not know
-- these columns leaves them empty.

ALTER TABLE sessions
  ADD COLUMN console_url text CHECK (char_length(console_url) <= 2048),
  ADD COLUMN version text,
  ADD COLUMN schema_version text,
  ADD COLUMN roles text[],
  ADD COLUMN log_level text;
COMMENT ON COLUMN sessions.console_url IS 'Where browsers find its console; null: it has none, or does not say.';
COMMENT ON COLUMN sessions.version IS 'Of its program; null: not told.';
COMMENT ON COLUMN sessions.schema_version IS 'Newest migration that its program knows; null: not told.';
COMMENT ON COLUMN sessions.roles IS 'Parts of the program that it runs; null: not told.';
COMMENT ON COLUMN sessions.log_level IS 'Least level of what it logs; null: not told.';

CREATE TABLE ended_sessions (
  session_id uuid PRIMARY KEY,
  session_component_name text NOT NULL,
  session_runtime_info text NOT NULL,
  session_created_at timestamptz NOT NULL CHECK (isfinite(session_created_at)),
  ended_at timestamptz NOT NULL CHECK (isfinite(ended_at)),
  console_url text,
  version text,
  schema_version text,
  roles text[],
  log_level text
);
CREATE INDEX ended_sessions_ended_idx ON ended_sessions (ended_at, session_id);
COMMENT ON TABLE ended_sessions IS 'Sessions that ended within a day, for people. A trigger writes them, whoever removes a session.';
COMMENT ON COLUMN ended_sessions.session_id IS 'The session.';
COMMENT ON COLUMN ended_sessions.session_component_name IS 'As it was in the session.';
COMMENT ON COLUMN ended_sessions.session_runtime_info IS 'As it was in the session.';
COMMENT ON COLUMN ended_sessions.session_created_at IS 'When it was opened.';
COMMENT ON COLUMN ended_sessions.ended_at IS 'When it was closed, or its deadline if that passed before.';
COMMENT ON COLUMN ended_sessions.console_url IS 'As it was in the session.';
COMMENT ON COLUMN ended_sessions.version IS 'As it was in the session.';
COMMENT ON COLUMN ended_sessions.schema_version IS 'As it was in the session.';
COMMENT ON COLUMN ended_sessions.roles IS 'As it was in the session.';
COMMENT ON COLUMN ended_sessions.log_level IS 'As it was in the session.';

-- It runs with the rights of the role that migrates: a daemon that was granted nothing on the new
-- table yet can still close its session.
CREATE FUNCTION shepherd_keep_ended_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  DELETE FROM ended_sessions e WHERE e.session_id IN (
    SELECT o.session_id FROM ended_sessions o WHERE o.ended_at < now() - interval '1 day'
    FOR UPDATE SKIP LOCKED);
  INSERT INTO ended_sessions
  SELECT r.session_id, r.session_component_name, r.session_runtime_info, r.session_created_at,
    least(r.session_deadline, now()), r.console_url, r.version, r.schema_version, r.roles,
    r.log_level
  FROM removed r ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_keep_ended_sessions IS 'Statement-level trigger: keeps removed sessions for a day.';
REVOKE ALL ON FUNCTION shepherd_keep_ended_sessions FROM PUBLIC;
CREATE TRIGGER keep_ended AFTER DELETE ON sessions REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_keep_ended_sessions();

-- Down Migration

DROP TRIGGER keep_ended ON sessions;
DROP FUNCTION shepherd_keep_ended_sessions;
DROP TABLE ended_sessions;
ALTER TABLE sessions DROP COLUMN console_url, DROP COLUMN version, DROP COLUMN schema_version,
  DROP COLUMN roles, DROP COLUMN log_level;
