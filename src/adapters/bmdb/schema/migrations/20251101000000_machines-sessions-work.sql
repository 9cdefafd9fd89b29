-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Machines, who is alive, who works on what, and what became of it.

CREATE TYPE process AS ENUM (
  'UnitTest1', 'UnitTest2', 'ShepherdAccess', 'ShepherdAgentStart', 'ShepherdRecovery',
  'ShepherdReinstall', 'ShepherdDeprovision'
);
CREATE TYPE work_history_event AS ENUM ('Started', 'Finished', 'Failed', 'Canceled');

CREATE TABLE machines (
  machine_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  machine_created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(machine_created_at))
);
COMMENT ON TABLE machines IS 'One tenancy of a physical machine. Facts about it are tags: tables named machine_…, at most one row each.';
COMMENT ON COLUMN machines.machine_id IS 'Chosen when the creation intent is written, before the provider is called.';
COMMENT ON COLUMN machines.machine_created_at IS 'When the machine was recorded.';

CREATE TABLE sessions (
  session_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  session_component_name text NOT NULL,
  session_runtime_info text NOT NULL,
  session_created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(session_created_at)),
  session_interval_seconds bigint NOT NULL CHECK (session_interval_seconds > 0),
  session_deadline timestamptz NOT NULL CHECK (isfinite(session_deadline))
);
COMMENT ON TABLE sessions IS 'Liveness of a component. Alive means session_deadline > now(). Only a live session may claim and end work, change what is provided, and carry out creations; heartbeats, housekeeping and readers need none.';
COMMENT ON COLUMN sessions.session_id IS 'Names the session in work, history and intents.';
COMMENT ON COLUMN sessions.session_component_name IS 'Such as shepherd.';
COMMENT ON COLUMN sessions.session_runtime_info IS 'Where it runs, such as: host rack7.';
COMMENT ON COLUMN sessions.session_created_at IS 'When it was opened.';
COMMENT ON COLUMN sessions.session_interval_seconds IS 'A poke moves the deadline this far from now().';
COMMENT ON COLUMN sessions.session_deadline IS 'From here on the session is dead and its work counts for nothing.';

CREATE SEQUENCE work_epoch AS bigint;
COMMENT ON SEQUENCE work_epoch IS 'Fencing numbers: a new one at each claim.';

CREATE TABLE work (
  machine_id uuid NOT NULL REFERENCES machines ON DELETE RESTRICT,
  exclusion_group text NOT NULL,
  session_id uuid,
  process process,
  work_started_at timestamptz CHECK (isfinite(work_started_at)),
  epoch bigint NOT NULL DEFAULT nextval('work_epoch'),
  CONSTRAINT work_pkey PRIMARY KEY (machine_id, exclusion_group),
  CONSTRAINT work_held_check CHECK (num_nulls(session_id, process, work_started_at) IN (0, 3)),
  CONSTRAINT work_exclusion_check CHECK (process IS NULL OR exclusion_group =
    CASE process WHEN 'UnitTest1' THEN 'UnitTest1' WHEN 'UnitTest2' THEN 'UnitTest2' ELSE 'shepherd' END)
) WITH (fillfactor = 70);
COMMENT ON TABLE work IS 'Leases: who works on a machine. One row for each machine and exclusion group, from its first claim on (of the group shepherd: as long as the machine is there); taking and releasing it updates the row. A lease counts only while its session lives.';
COMMENT ON COLUMN work.machine_id IS 'The machine worked on.';
COMMENT ON COLUMN work.exclusion_group IS 'Processes of one group exclude each other on a machine: shepherd for all Shepherd… processes, else the process itself. Holds at every isolation level.';
COMMENT ON COLUMN work.session_id IS 'Who works; null: nobody. No reference: the work of a session that is gone is dead by definition.';
COMMENT ON COLUMN work.process IS 'What is being done; null: nothing.';
COMMENT ON COLUMN work.work_started_at IS 'When it was claimed; null while free.';
COMMENT ON COLUMN work.epoch IS 'Fencing number of the last claim. Finish, fail and cancel name it, so a late one of an earlier claim does nothing; a claim takes the row only if it is still the one it saw.';

-- Every Shepherd… process meets a row that is there already, so its claims only ever update.
CREATE FUNCTION shepherd_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (machine_id, exclusion_group)
  SELECT a.machine_id, 'shepherd' FROM added a ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_lease IS 'Statement-level trigger: gives new machines their lease of the group shepherd, which nobody holds yet.';
CREATE TRIGGER lease_insert AFTER INSERT ON machines REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_lease();

CREATE TABLE work_history (
  machine_id uuid NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  process process NOT NULL,
  event work_history_event NOT NULL,
  "timestamp" timestamptz NOT NULL DEFAULT now() CHECK (isfinite("timestamp")),
  failed_cause text,
  session_id uuid,
  component text,
  epoch bigint,
  CONSTRAINT work_history_pkey PRIMARY KEY (machine_id, seq)
);
COMMENT ON TABLE work_history IS 'Append-only record of work. No reference to machines: it outlives them.';
COMMENT ON COLUMN work_history.machine_id IS 'The machine worked on.';
COMMENT ON COLUMN work_history.seq IS 'Order of writing; breaks ties of timestamp.';
COMMENT ON COLUMN work_history.process IS 'What was done.';
COMMENT ON COLUMN work_history.event IS 'Started, then exactly one of the others.';
COMMENT ON COLUMN work_history."timestamp" IS 'When, by the database clock.';
COMMENT ON COLUMN work_history.failed_cause IS 'Why it failed or was cancelled.';
COMMENT ON COLUMN work_history.session_id IS 'Who did it.';
COMMENT ON COLUMN work_history.component IS 'Component name of that session.';
COMMENT ON COLUMN work_history.epoch IS 'The claim it belongs to; with the machine it tells what became of a commit whose answer was lost.';

CREATE TABLE work_backoff (
  machine_id uuid NOT NULL REFERENCES machines ON DELETE CASCADE,
  process process NOT NULL,
  until timestamptz NOT NULL CHECK (isfinite(until)),
  cause text NOT NULL,
  last_interval_seconds bigint,
  CONSTRAINT work_backoff_pkey PRIMARY KEY (machine_id, process)
);
CREATE INDEX work_backoff_process_idx ON work_backoff (process, machine_id) INCLUDE (until);
COMMENT ON TABLE work_backoff IS 'A process failed on a machine and must wait. Active while until > now().';
COMMENT ON COLUMN work_backoff.machine_id IS 'The machine.';
COMMENT ON COLUMN work_backoff.process IS 'The process that must wait.';
COMMENT ON COLUMN work_backoff.until IS 'End of the wait, jitter included.';
COMMENT ON COLUMN work_backoff.cause IS 'Why the last attempt failed.';
COMMENT ON COLUMN work_backoff.last_interval_seconds IS 'Last wait without jitter, from which the next is computed; kept after the wait ended.';

-- Down Migration

DROP TABLE work_backoff, work_history, work, sessions, machines;
DROP FUNCTION shepherd_lease;
DROP SEQUENCE work_epoch;
DROP TYPE work_history_event, process;
