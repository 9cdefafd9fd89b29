-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Requests that were filed together, by which right, and whether it was proved who asked. An older daemon
-- carries them out like any other: the head of a batch is settled when it is filed.

ALTER TABLE operator_intents
  ADD COLUMN batch text,
  ADD COLUMN role text,
  ADD COLUMN proven boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN operator_intents.batch IS 'Key of the batch that it was filed in; its own key at the head of a batch; null: it came alone.';
COMMENT ON COLUMN operator_intents.role IS 'By which the right to ask was given; null: none was checked, but that to write here.';
COMMENT ON COLUMN operator_intents.proven IS 'It was proved who asks; else the actor is a claim.';
CREATE INDEX operator_intents_batch_idx ON operator_intents (batch, idempotency_key)
  WHERE batch IS NOT NULL;

-- Down Migration

DROP INDEX operator_intents_batch_idx;
ALTER TABLE operator_intents DROP COLUMN batch, DROP COLUMN role, DROP COLUMN proven;
