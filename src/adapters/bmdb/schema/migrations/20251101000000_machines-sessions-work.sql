-- Up Migration

-- Machines, who is alive, who works on what, and what became of it.

CREATE TYPE process AS ENUM (
  'UnitTest1', 'UnitTest2', 'ShepherdAccess', 'ShepherdAgentStart', 'ShepherdRecovery',
  'ShepherdReinstall', 'ShepherdDeprovision'
);
CREATE TYPE work_history_event AS ENUM ('Started', 'Finished', 'Failed', 'Canceled');

CREATE TABLE machines (
  machine_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  machine_created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE machines IS 'One tenancy of a physical machine. Facts about it are tags: tables named machine_…, at most one row each.';
COMMENT ON COLUMN machines.machine_id IS 'Chosen when the creation intent is written, before the provider is called.';
COMMENT ON COLUMN machines.machine_created_at IS 'When the machine was recorded.';

CREATE TABLE sessions (
  session_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  session_component_name text NOT NULL,
  session_runtime_info text NOT NULL,
  session_created_at timestamptz NOT NULL DEFAULT now(),
  session_interval_seconds bigint NOT NULL CHECK (session_interval_seconds > 0),
  session_deadline timestamptz NOT NULL
);
COMMENT ON TABLE sessions IS 'Liveness of a component. Alive means session_deadline > now(); only live sessions may write.';
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
  session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
  process process NOT NULL,
  exclusion_group text NOT NULL,
  epoch bigint NOT NULL DEFAULT nextval('work_epoch'),
  work_started_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT work_pkey PRIMARY KEY (machine_id, session_id, process),
  CONSTRAINT work_process_key UNIQUE (machine_id, process),
  CONSTRAINT work_exclusion_key UNIQUE (machine_id, exclusion_group),
  CONSTRAINT work_epoch_key UNIQUE (epoch)
);
CREATE INDEX work_session_idx ON work (session_id);
COMMENT ON TABLE work IS 'A session works on a machine. Rows of dead sessions are ignored and removed by the next claim or the janitor.';
COMMENT ON COLUMN work.machine_id IS 'The machine worked on.';
COMMENT ON COLUMN work.session_id IS 'Who works. The lease of the work is the life of this session.';
COMMENT ON COLUMN work.process IS 'What is being done.';
COMMENT ON COLUMN work.exclusion_group IS 'Processes of one group exclude each other on a machine: shepherd for all Shepherd… processes, else the process itself. Holds at every isolation level.';
COMMENT ON COLUMN work.epoch IS 'Fencing number. Finish, fail and cancel name it, so a late one of an earlier claim does nothing.';
COMMENT ON COLUMN work.work_started_at IS 'When it was claimed.';

CREATE TABLE work_history (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  machine_id uuid NOT NULL,
  process process NOT NULL,
  event work_history_event NOT NULL,
  "timestamp" timestamptz NOT NULL DEFAULT now(),
  failed_cause text,
  session_id uuid,
  component text,
  epoch bigint
);
CREATE INDEX work_history_machine_idx ON work_history (machine_id, seq);
CREATE INDEX work_history_epoch_idx ON work_history (epoch);
COMMENT ON TABLE work_history IS 'Append-only record of work. No reference to machines: it outlives them.';
COMMENT ON COLUMN work_history.seq IS 'Order of writing; breaks ties of timestamp.';
COMMENT ON COLUMN work_history.machine_id IS 'The machine worked on.';
COMMENT ON COLUMN work_history.process IS 'What was done.';
COMMENT ON COLUMN work_history.event IS 'Started, then exactly one of the others.';
COMMENT ON COLUMN work_history."timestamp" IS 'When, by the database clock.';
COMMENT ON COLUMN work_history.failed_cause IS 'Why it failed or was cancelled.';
COMMENT ON COLUMN work_history.session_id IS 'Who did it.';
COMMENT ON COLUMN work_history.component IS 'Component name of that session.';
COMMENT ON COLUMN work_history.epoch IS 'The claim it belongs to; tells what became of a commit whose answer was lost.';

CREATE TABLE work_backoff (
  machine_id uuid NOT NULL REFERENCES machines ON DELETE CASCADE,
  process process NOT NULL,
  until timestamptz NOT NULL,
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
DROP SEQUENCE work_epoch;
DROP TYPE work_history_event, process;
