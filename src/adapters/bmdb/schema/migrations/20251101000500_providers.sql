-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What provisioning, observation and giving back of machines remember.

ALTER TABLE machine_provided
  ADD COLUMN provider_missing_seen bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN machine_provided.provider_missing_seen IS 'How many complete listings in a row did not know the device.';

ALTER TABLE machine_deprovision_request
  ADD COLUMN asked_at timestamptz CHECK (isfinite(asked_at)),
  ADD COLUMN attempts bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN machine_deprovision_request.asked_at IS 'When the provider was last asked to take it back; null: not yet.';
COMMENT ON COLUMN machine_deprovision_request.attempts IS 'How often the provider was asked.';

ALTER TABLE provision_intents
  ADD COLUMN empty_since timestamptz CHECK (isfinite(empty_since));
COMMENT ON COLUMN provision_intents.empty_since IS 'Since when complete listings and searches have not found its device; null: not looked yet, or seen since.';

ALTER TABLE provider_holds ADD COLUMN amount bigint;
COMMENT ON COLUMN provider_holds.amount IS 'Of a quota: no creation while there are so many machines.';
COMMENT ON COLUMN provider_holds.kind IS 'throttle: a kind of call. quota: creations beyond an amount of machines. capacity: creations of a plan, a group of plans, or all. penalty: a slot on the shelf after a failed creation.';
COMMENT ON COLUMN provider_holds.key IS 'The kind of call; machines; all, group … or plan …; or the slot id.';
COMMENT ON COLUMN provider_holds.until IS 'Ends then; null: never. Kept for a day more (a penalty: until its slot proves itself), so that the next one of its kind is longer.';

COMMENT ON TABLE leases IS 'Jobs that one daemon is to do at a time. A lease counts only while its session lives; whoever writes as the holder locks the row.';
CREATE TRIGGER wake_insert AFTER INSERT ON leases REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();
CREATE TRIGGER wake_update AFTER UPDATE ON leases REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();
CREATE TRIGGER wake_delete AFTER DELETE ON leases REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();

-- Down Migration

DROP TRIGGER wake_delete ON leases;
DROP TRIGGER wake_update ON leases;
DROP TRIGGER wake_insert ON leases;
COMMENT ON TABLE leases IS 'For jobs that one daemon is to do at a time.';
ALTER TABLE provider_holds DROP COLUMN amount;
ALTER TABLE provision_intents DROP COLUMN empty_since;
ALTER TABLE machine_deprovision_request DROP COLUMN attempts, DROP COLUMN asked_at;
ALTER TABLE machine_provided DROP COLUMN provider_missing_seen;
