-- Up Migration
-- Runs beside: 0.1.0 and later.

-- A daemon that ends in good order, and some of whose work somebody has locked just then, leaves a session
-- that is dead from then on. That it was closed has to be known, or it would be told as expired.

ALTER TABLE sessions ADD COLUMN closed_at timestamptz CHECK (isfinite(closed_at));
COMMENT ON COLUMN sessions.closed_at IS 'Its daemon closed it then, and it was alive; the row stays until its work is free. Null: it was not closed, or by a daemon that does not say so.';

DROP TRIGGER tell_expired ON sessions;
CREATE TRIGGER tell_expired AFTER DELETE ON sessions
  FOR EACH ROW WHEN (OLD.session_deadline <= now() AND OLD.closed_at IS NULL)
  EXECUTE FUNCTION shepherd_session_expired();

-- Down Migration

DROP TRIGGER tell_expired ON sessions;
CREATE TRIGGER tell_expired AFTER DELETE ON sessions
  FOR EACH ROW WHEN (OLD.session_deadline <= now()) EXECUTE FUNCTION shepherd_session_expired();
ALTER TABLE sessions DROP COLUMN closed_at;
