-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Planned work: holds that begin later, and rolling actions.

ALTER TABLE slot_holds ADD COLUMN from_at timestamptz CHECK (isfinite(from_at));
ALTER TABLE slot_holds ADD CONSTRAINT slot_holds_from_check CHECK (from_at < until);
COMMENT ON COLUMN slot_holds.from_at IS 'When the hold begins; null: at once. A daemon of the version before counts it from the time of the hold on.';

CREATE TABLE fleet_rolls ( -- Rolling actions: one order after another over many machines, in batches. Any daemon carries them on.
  roll_id uuid PRIMARY KEY, -- Part of the keys of its orders.
  action text NOT NULL CHECK (action IN ('restart-agent', 'reboot', 'reinstall')), -- Verb of the orders.
  drain text CHECK (drain IN ('skip', 'force')), -- How machines leave their pools; null: they are drained.
  filter text NOT NULL, -- Filter that chose the machines.
  slots jsonb NOT NULL, -- The machines as they matched at the begin, in their order.
  canary bigint NOT NULL CHECK (canary >= 0), -- Machines in the first batch; 0: as in the others.
  batch bigint NOT NULL CHECK (batch >= 1), -- Machines in each batch.
  pause_ms double precision NOT NULL CHECK (pause_ms >= 0), -- Pause after each batch, milliseconds.
  stop_on_failure boolean NOT NULL, -- true: the first failure ends it.
  actor text NOT NULL, -- Person that asked for it.
  role text NOT NULL, -- Role that gave the right.
  proven boolean NOT NULL, -- Whether the name of the person is verified.
  reason text NOT NULL, -- Reason.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- Time of the request.
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'paused', 'stopped', 'done', 'aborted')), -- stopped: after a failure.
  note text, -- What it waits for, or why it ended; null: nothing.
  position bigint NOT NULL DEFAULT 0 CHECK (position >= 0), -- Machines in the batches that are over.
  next_at timestamptz CHECK (isfinite(next_at)), -- The next batch begins after this time; null: at once.
  failures jsonb NOT NULL DEFAULT '[]' -- Machines on which the action failed, and why.
);
CREATE INDEX fleet_rolls_running_idx ON fleet_rolls (created_at) WHERE state = 'running';
CREATE INDEX fleet_rolls_created_idx ON fleet_rolls (created_at);

-- Down Migration

DROP TABLE fleet_rolls;

ALTER TABLE slot_holds DROP COLUMN from_at;
