-- Up Migration
-- Runs beside: 0.1.0 and later.

-- A freeze by an operator may end by itself.

ALTER TABLE fleet_guard ADD COLUMN frozen_until timestamptz CHECK (isfinite(frozen_until));
COMMENT ON COLUMN fleet_guard.frozen_until IS 'When a freeze by an operator ends by itself; null: it has no end.';

-- A daemon of the version before thaws without this column. The next freeze must not get the old end.
CREATE FUNCTION shepherd_forget_freeze_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.frozen_until := NULL;
  RETURN NEW;
END $$;
COMMENT ON FUNCTION shepherd_forget_freeze_end IS 'Row-level trigger: clears the end of a freeze when the scope is thawed.';
CREATE TRIGGER forget_freeze_end BEFORE UPDATE OF frozen_at ON fleet_guard
  FOR EACH ROW WHEN (NEW.frozen_at IS NULL) EXECUTE FUNCTION shepherd_forget_freeze_end();

-- Down Migration

DROP TRIGGER forget_freeze_end ON fleet_guard;
DROP FUNCTION shepherd_forget_freeze_end;
ALTER TABLE fleet_guard DROP COLUMN frozen_until;
