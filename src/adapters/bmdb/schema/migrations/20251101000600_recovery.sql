-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What recovery remembers, what the guard knows, and what operators ask for.

ALTER TABLE machine_recovery
  ADD COLUMN asked_rung recovery_rung,
  ADD COLUMN order_key text,
  ADD COLUMN boot_id_before text,
  ADD COLUMN host_key_before text,
  ADD COLUMN off_seen_at timestamptz CHECK (isfinite(off_seen_at)),
  ADD COLUMN power_off_asked_at timestamptz CHECK (isfinite(power_off_asked_at));
UPDATE machine_recovery SET asked_rung = rung WHERE asked_at IS NOT NULL;
COMMENT ON COLUMN machine_recovery.attempts IS 'Attempts on this rung; 0: none yet.';
COMMENT ON COLUMN machine_recovery.asked_at IS 'When something was last about to be asked for; null: it was refused or proved since.';
COMMENT ON COLUMN machine_recovery.asked_rung IS 'What that is.';
COMMENT ON COLUMN machine_recovery.order_key IS 'The operator''s request that it was for; null: the ladder''s own.';
COMMENT ON COLUMN machine_recovery.boot_id_before IS 'Boot id before it was asked for; another one proves a boot. Null: not known.';
COMMENT ON COLUMN machine_recovery.host_key_before IS 'Pinned SSH host key before it was asked for.';
COMMENT ON COLUMN machine_recovery.off_seen_at IS 'Power cycling: when the power was seen off since.';
COMMENT ON COLUMN machine_recovery.power_off_asked_at IS 'When its power was asked off; null: it was accepted since that it is switched on again. Whoever takes the machine next asks for power first.';

CREATE TABLE machine_boot_times (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE RESTRICT,
  reboot_seconds bigint[] NOT NULL DEFAULT '{}',
  reinstall_seconds bigint[] NOT NULL DEFAULT '{}'
);
COMMENT ON TABLE machine_boot_times IS 'How long the machine took to boot the last times: how long the next one is waited for.';
COMMENT ON COLUMN machine_boot_times.machine_id IS 'The machine.';
COMMENT ON COLUMN machine_boot_times.reboot_seconds IS 'From the request of a reboot or power cycle to its proof, newest first.';
COMMENT ON COLUMN machine_boot_times.reinstall_seconds IS 'From the request of a reinstallation to its proof, newest first.';
CREATE TRIGGER wake_insert AFTER INSERT ON machine_boot_times REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();
CREATE TRIGGER wake_update AFTER UPDATE ON machine_boot_times REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();

ALTER TABLE fleet_guard
  ADD COLUMN frozen_kind text CHECK (frozen_kind IN ('manual', 'silence', 'probes')),
  ADD COLUMN calm_since timestamptz CHECK (isfinite(calm_since)),
  ADD COLUMN thawed_at timestamptz CHECK (isfinite(thawed_at));
UPDATE fleet_guard SET frozen_kind = 'manual' WHERE frozen_at IS NOT NULL;
ALTER TABLE fleet_guard ADD CHECK ((frozen_at IS NULL) = (frozen_kind IS NULL));
COMMENT ON COLUMN fleet_guard.frozen_kind IS 'silence: too many fell silent together. probes: too many cannot be reached. Both end by themselves; manual only by an operator.';
COMMENT ON COLUMN fleet_guard.calm_since IS 'While frozen: since when few enough are silent; null: too many are.';
COMMENT ON COLUMN fleet_guard.thawed_at IS 'An operator thawed it: who was silent before freezes nothing any more.';
COMMENT ON COLUMN fleet_guard.ingest_up_since IS 'Of the fleet: heartbeats have been taken in without a break since.';
CREATE TRIGGER wake_insert AFTER INSERT ON fleet_guard REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();
CREATE FUNCTION shepherd_row_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('shepherd_wake', '');
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_row_wake IS 'Row-level trigger: notifies the channel shepherd_wake.';
-- Not for permits_granted, which every grant changes.
CREATE TRIGGER wake_update
  AFTER UPDATE OF frozen_at, frozen_by, frozen_kind, reason, calm_since, thawed_at, ingest_up_since
  ON fleet_guard FOR EACH ROW EXECUTE FUNCTION shepherd_row_wake();

CREATE TABLE guard_pulse (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  ingest_seen_at timestamptz CHECK (isfinite(ingest_seen_at)),
  ingest_lost_at timestamptz CHECK (isfinite(ingest_lost_at)),
  assessed_at timestamptz CHECK (isfinite(assessed_at)),
  counts jsonb NOT NULL DEFAULT '[]'
);
INSERT INTO guard_pulse DEFAULT VALUES;
COMMENT ON TABLE guard_pulse IS 'What the guard writes all the time, so that nobody is woken for it.';
COMMENT ON COLUMN guard_pulse.single IS 'There is one row.';
COMMENT ON COLUMN guard_pulse.ingest_seen_at IS 'When some daemon last said that it takes heartbeats in.';
COMMENT ON COLUMN guard_pulse.ingest_lost_at IS 'The last time before the latest break that one said so; null: none is known.';
COMMENT ON COLUMN guard_pulse.assessed_at IS 'When the fleet was last looked at.';
COMMENT ON COLUMN guard_pulse.counts IS 'What was counted then.';

ALTER TABLE work_backoff ADD COLUMN unreachable_since timestamptz
  CHECK (isfinite(unreachable_since));
COMMENT ON COLUMN work_backoff.unreachable_since IS 'Agent start: since when the machine could not be reached, or did not let us in, at each attempt; null: something else failed last.';

ALTER TABLE machine_agent_start_attempt ALTER COLUMN attempted_at DROP NOT NULL;
COMMENT ON COLUMN machine_agent_start_attempt.attempted_at IS 'Written before the agent is executed; null: it never was, only failures before that are counted.';

ALTER TABLE operator_intents
  ADD COLUMN machine_id uuid,
  ADD COLUMN expires_at timestamptz NOT NULL DEFAULT now() + interval '1 hour'
    CHECK (isfinite(expires_at));
COMMENT ON COLUMN operator_intents.machine_id IS 'The machine that was on the slot when it was asked; null: none. No reference: requests outlive machines.';
COMMENT ON COLUMN operator_intents.expires_at IS 'Whatever is still open then is refused.';
-- One piece of work at a time is asked of a machine.
CREATE UNIQUE INDEX operator_intents_order_key ON operator_intents (machine_id)
  WHERE state = 'open' AND verb IN ('restart-agent', 'reboot', 'reinstall');
CREATE INDEX operator_intents_open_idx ON operator_intents (created_at) WHERE state = 'open';
CREATE INDEX operator_intents_slot_idx
  ON operator_intents (provider, slot_id, created_at, idempotency_key);
CREATE INDEX operator_intents_created_idx ON operator_intents (created_at, idempotency_key);
-- Rows of a machine are read with its open order.
CREATE FUNCTION shepherd_order_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_changes (machine_id)
    SELECT DISTINCT c.machine_id FROM changed c WHERE c.machine_id IS NOT NULL;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_order_wake IS 'Statement-level trigger: writes down which machines something was asked for.';
CREATE TRIGGER change_insert AFTER INSERT ON operator_intents REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_order_wake();
CREATE TRIGGER change_update AFTER UPDATE ON operator_intents REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_order_wake();

-- Down Migration

DROP TRIGGER change_update ON operator_intents;
DROP TRIGGER change_insert ON operator_intents;
DROP FUNCTION shepherd_order_wake;
DROP INDEX operator_intents_created_idx, operator_intents_slot_idx, operator_intents_open_idx,
  operator_intents_order_key;
ALTER TABLE operator_intents DROP COLUMN expires_at, DROP COLUMN machine_id;
COMMENT ON COLUMN machine_agent_start_attempt.attempted_at IS 'Written before the agent is executed, or by the first failure.';
UPDATE machine_agent_start_attempt SET attempted_at = now() WHERE attempted_at IS NULL;
ALTER TABLE machine_agent_start_attempt ALTER COLUMN attempted_at SET NOT NULL;
ALTER TABLE work_backoff DROP COLUMN unreachable_since;
DROP TABLE guard_pulse;
DROP TRIGGER wake_update ON fleet_guard;
DROP TRIGGER wake_insert ON fleet_guard;
DROP FUNCTION shepherd_row_wake;
ALTER TABLE fleet_guard DROP COLUMN thawed_at, DROP COLUMN calm_since, DROP COLUMN frozen_kind;
DROP TABLE machine_boot_times;
ALTER TABLE machine_recovery DROP COLUMN power_off_asked_at, DROP COLUMN off_seen_at,
  DROP COLUMN host_key_before,
  DROP COLUMN boot_id_before, DROP COLUMN order_key, DROP COLUMN asked_rung;
