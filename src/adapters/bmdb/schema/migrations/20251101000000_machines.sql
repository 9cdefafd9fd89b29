-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Machines, sessions, the work of sessions on machines, and its history.

CREATE TYPE process AS ENUM (
  'UnitTest1', 'UnitTest2', 'ShepherdAccess', 'ShepherdAgentStart', 'ShepherdRecovery',
  'ShepherdReinstall', 'ShepherdDeprovision'
);
CREATE TYPE work_history_event AS ENUM ('Started', 'Finished', 'Failed', 'Canceled');

CREATE TABLE machines ( -- One tenancy of a physical machine. Facts about it are tags: tables named machine_…, with at most one row per machine.
  machine_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), -- Chosen with the creation intent, before any call to the provider.
  machine_created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(machine_created_at)) -- Time of the insert.
);

CREATE TABLE sessions ( -- Liveness of a component. A session is alive while session_deadline > now(). Only a live session may claim and end work, change what is provided, and create machines; heartbeats, housekeeping and readers need no session.
  session_id uuid PRIMARY KEY DEFAULT gen_random_uuid(), -- Identifies the session in work, history and intents.
  session_component_name text NOT NULL, -- For example shepherd.
  session_runtime_info text NOT NULL, -- Where the component runs, for example: host rack7.
  session_created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(session_created_at)), -- Time of opening.
  session_interval_seconds bigint NOT NULL CHECK (session_interval_seconds > 0), -- A poke moves the deadline this far from now().
  session_deadline timestamptz NOT NULL CHECK (isfinite(session_deadline)), -- After this time the session is dead and its work counts for nothing.
  console_url text CHECK (char_length(console_url) <= 2048), -- URL of the console for browsers; null: none, or not reported.
  version text, -- Version of the program; null: not reported.
  schema_version text, -- Newest migration that the program knows; null: not reported.
  roles text[], -- Running parts of the program; null: not reported.
  log_level text, -- Lowest logged level; null: not reported.
  closed_at timestamptz CHECK (isfinite(closed_at)) -- Time at which the daemon closed the live session; the row stays until its work is free. Null: not closed, or closed by a daemon that does not record it.
);

CREATE TABLE ended_sessions ( -- Sessions that ended within a day, for people. A trigger writes them when a session is deleted.
  session_id uuid PRIMARY KEY, -- The session.
  session_component_name text NOT NULL, -- As it was in the session.
  session_runtime_info text NOT NULL, -- As it was in the session.
  session_created_at timestamptz NOT NULL CHECK (isfinite(session_created_at)), -- Time of opening.
  ended_at timestamptz NOT NULL CHECK (isfinite(ended_at)), -- Time of closing, or the deadline if that passed before.
  console_url text, -- As it was in the session.
  version text, -- As it was in the session.
  schema_version text, -- As it was in the session.
  roles text[], -- As it was in the session.
  log_level text -- As it was in the session.
);
CREATE INDEX ended_sessions_ended_idx ON ended_sessions (ended_at, session_id);

-- Runs with the rights of the migrating role: a daemon without rights on the new table can still
-- close its session.
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

CREATE SEQUENCE work_epoch AS bigint;
COMMENT ON SEQUENCE work_epoch IS 'Fencing numbers: each claim takes the next one.';

CREATE TABLE work ( -- Leases: who works on a machine. One row for each machine and exclusion group. The row of the group shepherd exists as long as the machine, other rows from their first claim on. Claim and release update the row. A lease counts only while its session is alive.
  machine_id uuid NOT NULL REFERENCES machines ON DELETE RESTRICT, -- The machine.
  exclusion_group text NOT NULL, -- Processes of one group exclude each other on a machine: shepherd for all Shepherd… processes, otherwise the process itself. Holds at every isolation level.
  session_id uuid, -- Session that works; null: none. Not a foreign key: the work of a deleted session is dead by definition.
  process process, -- What the session does; null: nothing.
  work_started_at timestamptz CHECK (isfinite(work_started_at)), -- Time of the claim; null: free.
  epoch bigint NOT NULL DEFAULT nextval('work_epoch'), -- Fencing number of the last claim. Finish, fail and cancel name it, so a late call for an earlier claim does nothing. A claim takes the row only if the epoch is still the one it saw.
  CONSTRAINT work_pkey PRIMARY KEY (machine_id, exclusion_group),
  CONSTRAINT work_held_check CHECK (num_nulls(session_id, process, work_started_at) IN (0, 3)),
  CONSTRAINT work_exclusion_check CHECK (process IS NULL OR exclusion_group =
    CASE process WHEN 'UnitTest1' THEN 'UnitTest1' WHEN 'UnitTest2' THEN 'UnitTest2' ELSE 'shepherd' END)
) WITH (fillfactor = 70);

-- Creates the lease row for every Shepherd… process, so that claims only ever update.
CREATE FUNCTION shepherd_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (machine_id, exclusion_group)
  SELECT a.machine_id, 'shepherd' FROM added a ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_lease IS 'Statement-level trigger: creates the free lease of the group shepherd for new machines.';
CREATE TRIGGER lease_insert AFTER INSERT ON machines REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_lease();

CREATE TABLE work_history ( -- Append-only record of work. Not a foreign key to machines: history outlives them.
  machine_id uuid NOT NULL, -- The machine.
  seq bigint GENERATED ALWAYS AS IDENTITY, -- Order of writing; breaks ties of timestamp.
  process process NOT NULL, -- What was done.
  event work_history_event NOT NULL, -- Started, then exactly one of the others.
  "timestamp" timestamptz NOT NULL DEFAULT now() CHECK (isfinite("timestamp")), -- By the database clock.
  failed_cause text, -- Why the work failed or was cancelled.
  session_id uuid, -- Session that did the work.
  component text, -- Component name of that session.
  epoch bigint, -- Claim of this line. Together with the machine it shows the result of a commit whose answer was lost.
  CONSTRAINT work_history_pkey PRIMARY KEY (machine_id, seq)
);

CREATE TABLE work_backoff ( -- A process failed on a machine and must wait. Active while until > now().
  machine_id uuid NOT NULL REFERENCES machines ON DELETE CASCADE, -- The machine.
  process process NOT NULL, -- The process that must wait.
  until timestamptz NOT NULL CHECK (isfinite(until)), -- End of the wait, jitter included.
  cause text NOT NULL, -- Why the last attempt failed.
  last_interval_seconds bigint, -- Last wait without jitter, from which the next is computed; kept after the wait.
  unreachable_since timestamptz CHECK (isfinite(unreachable_since)), -- Agent start: since when every attempt could not reach the machine or was not let in; null: the last failure was another one.
  CONSTRAINT work_backoff_pkey PRIMARY KEY (machine_id, process)
);
CREATE INDEX work_backoff_process_idx ON work_backoff (process, machine_id) INCLUDE (until);

-- The daemons' role may insert and read work history, but neither change nor delete it. Only this
-- function, which runs with the rights of the migrating role, deletes history, and never earlier
-- than its parameters say.

CREATE FUNCTION shepherd_trim_history(keep_days integer, keep_rows integer, batch integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  -- The janitor calls often: each call checks a few machines, starting at a random one. Finding
  -- that a machine has nothing old takes one descent of the index; counting its lines takes up to
  -- keep_rows more.
  effort_max CONSTANT integer := 200;
  effort_of_look CONSTANT integer := 1;
  effort_of_count CONSTANT integer := 9;
  start_at CONSTANT uuid := gen_random_uuid();
  keep_from CONSTANT timestamptz := now() - make_interval(days => keep_days);
  last_machine uuid := start_at;
  this_machine uuid;
  oldest timestamptz;
  newest_to_go bigint;
  wrapped boolean := false;
  effort integer := 0;
  gone bigint;
  removed bigint := 0;
BEGIN
  IF keep_days < 90 OR keep_rows < 1000 OR batch < 1 OR batch > 10000 THEN
    RAISE EXCEPTION 'history is kept for at least 90 days and 1000 rows, and trimmed by at most 10000 rows at a time'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  WHILE removed < batch AND effort < effort_max LOOP
    -- The first row of the next machine, by one descent of the index.
    SELECT h.machine_id, h."timestamp" INTO this_machine, oldest
    FROM work_history h WHERE h.machine_id > last_machine
    ORDER BY h.machine_id, h.seq LIMIT 1;
    IF NOT FOUND THEN
      EXIT WHEN wrapped;
      wrapped := true;
      last_machine := '00000000-0000-0000-0000-000000000000';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND this_machine > start_at;
    last_machine := this_machine;
    effort := effort + effort_of_look;
    CONTINUE WHEN oldest >= keep_from;
    effort := effort + effort_of_count;
    SELECT h.seq INTO newest_to_go FROM work_history h WHERE h.machine_id = this_machine
    ORDER BY h.seq DESC OFFSET keep_rows LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM work_history d WHERE d.machine_id = this_machine AND d.seq IN (
      SELECT h.seq FROM work_history h
      WHERE h.machine_id = this_machine AND h.seq <= newest_to_go AND h."timestamp" < keep_from
      ORDER BY h.seq LIMIT batch - removed FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
  END LOOP;
  RETURN removed;
END $$;
COMMENT ON FUNCTION shepherd_trim_history IS 'Deletes at most batch rows of work history that are older than keep_days and beyond the newest keep_rows of their machine. Checks 20 to 200 machines per call, starting at a random one; call it repeatedly. Returns the number of deleted rows.';
REVOKE ALL ON FUNCTION shepherd_trim_history FROM PUBLIC;

-- Down Migration

DROP TABLE work_backoff, work_history, work, ended_sessions, sessions, machines;
DROP FUNCTION shepherd_trim_history, shepherd_lease, shepherd_keep_ended_sessions CASCADE;
DROP SEQUENCE work_epoch;
DROP TYPE work_history_event, process;
