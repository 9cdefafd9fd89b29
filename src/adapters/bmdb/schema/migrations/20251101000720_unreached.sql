-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What never reached a machine is no attempt on it.

ALTER TABLE machine_agent_start_attempt ADD COLUMN unreached bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN machine_agent_start_attempt.unreached IS 'How many of these failures never reached the machine.';

-- Down Migration

ALTER TABLE machine_agent_start_attempt DROP COLUMN unreached;
