-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Acceptance: checks by the agent before a machine serves, and their results.

CREATE TABLE machine_acceptances ( -- The current acceptance of a machine. It never reboots or erases anything.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT, -- The machine.
  id bigint GENERATED ALWAYS AS IDENTITY, -- Names the request; a new request has a new one, so that no old answer counts.
  cause text NOT NULL CHECK (cause IN ('first', 'reinstalled', 'unretired', 'repaired', 'asked')), -- Why it is requested.
  held boolean NOT NULL, -- While it is due, the machine stays out of its pools if its provider requires acceptance.
  asked_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(asked_at)), -- Time of the request.
  handed_out_at timestamptz CHECK (isfinite(handed_out_at)), -- When this agent got the request first; null: it did not.
  profile jsonb, -- The checks that were requested; null: not handed out.
  state text NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'passed', 'failed')), -- Result.
  reason text NOT NULL DEFAULT '', -- Why it failed, one line.
  checks jsonb NOT NULL DEFAULT '[]', -- Result of each check.
  ended_at timestamptz CHECK (isfinite(ended_at)), -- Time of the result; null: none.
  inventory jsonb -- Hardware found by the last passed acceptance. Expected from then on, unless the configuration says otherwise. Null: none passed.
);
CREATE INDEX machine_acceptances_due_idx ON machine_acceptances (machine_id) WHERE state = 'due';
CREATE TRIGGER wake_insert AFTER INSERT ON machine_acceptances REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();
CREATE TRIGGER wake_update AFTER UPDATE ON machine_acceptances REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();
CREATE TRIGGER wake_delete AFTER DELETE ON machine_acceptances REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();

-- Down Migration

DROP TABLE machine_acceptances;
