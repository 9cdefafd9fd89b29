-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Roles of people who logged in elsewhere are asked again, by one daemon at a time. A daemon that does
-- not know the column lets nobody log in that way.

ALTER TABLE console_sessions ADD COLUMN asked_at timestamptz CHECK (isfinite(asked_at));
COMMENT ON COLUMN console_sessions.asked_at IS 'When a daemon last took it on to ask for role and providers again; null: none did.';

-- Down Migration

ALTER TABLE console_sessions DROP COLUMN asked_at;
