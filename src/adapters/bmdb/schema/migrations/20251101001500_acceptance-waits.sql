-- Up Migration
-- Runs beside: 0.1.0 and later.

-- An acceptance may wait for the end of a repair, or for a maintenance window.

ALTER TABLE machine_acceptances DROP CONSTRAINT machine_acceptances_state_check,
  ADD CONSTRAINT machine_acceptances_state_check CHECK (state IN ('waiting', 'due', 'passed', 'failed'));
COMMENT ON COLUMN machine_acceptances.state IS 'Result. waiting: it is not due yet, because of a repair or a window.';

-- Down Migration

UPDATE machine_acceptances SET state = 'due' WHERE state = 'waiting';
ALTER TABLE machine_acceptances DROP CONSTRAINT machine_acceptances_state_check,
  ADD CONSTRAINT machine_acceptances_state_check CHECK (state IN ('due', 'passed', 'failed'));
COMMENT ON COLUMN machine_acceptances.state IS 'Result.';
