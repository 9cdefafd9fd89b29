-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Whose objects are at a balancer, so that a daemon with another uid or fleet does not take the members for gone.
ALTER TABLE pools ADD COLUMN made_as text;

COMMENT ON COLUMN pools.made_as IS 'The uid and the last part of the names that its objects have there; null: it was not tended yet.';

-- Down Migration

ALTER TABLE pools DROP COLUMN made_as;
