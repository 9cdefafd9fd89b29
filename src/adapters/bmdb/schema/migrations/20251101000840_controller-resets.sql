-- Up Migration
-- Runs beside: 0.1.0 and later.

-- When the controllers of machines were restarted. An older daemon restarts none, and its ladder goes by
-- the columns that it knows, in which nothing tells of it.

CREATE TABLE controller_resets (
  provider text NOT NULL,
  controller text NOT NULL,
  machine_id uuid NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(asked_at)),
  PRIMARY KEY (provider, controller)
);
COMMENT ON TABLE controller_resets IS 'The last restart of each controller (BMC) that recovery asked for. A controller may switch several machines, and outlives them.';
COMMENT ON COLUMN controller_resets.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN controller_resets.controller IS 'As the provider calls it.';
COMMENT ON COLUMN controller_resets.machine_id IS 'The machine that was to be recovered.';
COMMENT ON COLUMN controller_resets.asked_at IS 'Written before the provider is asked.';

-- Down Migration

DROP TABLE controller_resets;
