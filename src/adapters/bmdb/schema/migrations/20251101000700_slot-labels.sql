-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Labels: what operators call a physical machine. They outlive its tenancies.

CREATE TABLE slot_labels (
  provider text NOT NULL,
  slot_id text NOT NULL,
  labels jsonb NOT NULL CHECK (jsonb_typeof(labels) = 'object'),
  PRIMARY KEY (provider, slot_id)
);
COMMENT ON TABLE slot_labels IS 'Labels that operators gave a physical machine.';
COMMENT ON COLUMN slot_labels.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN slot_labels.slot_id IS 'The physical machine.';
COMMENT ON COLUMN slot_labels.labels IS 'Values by keys, all of them texts.';

-- Rows of a machine are read with the labels of its slot.
CREATE FUNCTION shepherd_label_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_changes (machine_id)
    SELECT DISTINCT p.machine_id FROM changed c JOIN machine_provided p
      ON p.provider = c.provider
      AND coalesce(p.provider_reservation_id, p.provider_id) = c.slot_id;
  IF FOUND THEN
    PERFORM pg_notify('shepherd_wake', '');
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_label_wake IS 'Statement-level trigger: writes down which machines are on the slots whose labels changed, and notifies the channel shepherd_wake.';
CREATE TRIGGER wake_insert AFTER INSERT ON slot_labels REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_label_wake();
CREATE TRIGGER wake_update AFTER UPDATE ON slot_labels REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_label_wake();

-- Down Migration

DROP TABLE slot_labels;
DROP FUNCTION shepherd_label_wake;
