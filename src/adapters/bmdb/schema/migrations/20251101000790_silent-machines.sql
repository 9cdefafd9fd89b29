-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Who is silent, so that the log of its slot says once, over all daemons, when that began and ended.
-- Those who are silent now are noted, with a line, by the first sweep.

CREATE TABLE silent_machines (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE,
  silent_since timestamptz NOT NULL CHECK (isfinite(silent_since))
);
COMMENT ON TABLE silent_machines IS 'Machines of which the log of their slot says that they fell silent, and not yet that they were heard again.';
COMMENT ON COLUMN silent_machines.machine_id IS 'The machine.';
COMMENT ON COLUMN silent_machines.silent_since IS 'Its last heartbeat before; that of its agent''s start where there was none since.';

-- Down Migration

DROP TABLE silent_machines;
