-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Announced work: a condition may begin later.

ALTER TABLE machine_conditions ADD COLUMN from_at timestamptz CHECK (isfinite(from_at));
COMMENT ON COLUMN machine_conditions.from_at IS 'When True begins to have its effect; null: at once.';
DROP TRIGGER wake_update ON machine_conditions;
CREATE TRIGGER wake_update AFTER UPDATE OF status, reason, detail, from_at ON machine_conditions
  FOR EACH ROW WHEN ((OLD.status, OLD.reason, OLD.detail, OLD.from_at) IS DISTINCT FROM
    (NEW.status, NEW.reason, NEW.detail, NEW.from_at)) EXECUTE FUNCTION shepherd_row_wake();

-- Down Migration

DROP TRIGGER wake_update ON machine_conditions;
CREATE TRIGGER wake_update AFTER UPDATE OF status, reason, detail ON machine_conditions
  FOR EACH ROW WHEN ((OLD.status, OLD.reason, OLD.detail) IS DISTINCT FROM
    (NEW.status, NEW.reason, NEW.detail)) EXECUTE FUNCTION shepherd_row_wake();
ALTER TABLE machine_conditions DROP COLUMN from_at;
