-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Planned work: holds that begin later.

ALTER TABLE slot_holds ADD COLUMN from_at timestamptz CHECK (isfinite(from_at));
ALTER TABLE slot_holds ADD CONSTRAINT slot_holds_from_check CHECK (from_at < until);
COMMENT ON COLUMN slot_holds.from_at IS 'When the hold begins; null: at once. A daemon of the version before counts it from the time of the hold on.';

-- Down Migration

ALTER TABLE slot_holds DROP COLUMN from_at;
