-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Labels: operators' names for a physical machine. They outlive its tenancies.

CREATE TABLE slot_labels ( -- Operators' labels of a physical machine.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  labels jsonb NOT NULL CHECK (jsonb_typeof(labels) = 'object'), -- Values by key; all are texts.
  PRIMARY KEY (provider, slot_id)
);

-- A machine's row is read together with the labels of its slot.
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
COMMENT ON FUNCTION shepherd_label_wake IS 'Statement-level trigger: records the machines on slots with changed labels and notifies the channel shepherd_wake.';
CREATE TRIGGER wake_insert AFTER INSERT ON slot_labels REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_label_wake();
CREATE TRIGGER wake_update AFTER UPDATE ON slot_labels REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_label_wake();

-- Down Migration

DROP TABLE slot_labels;
DROP FUNCTION shepherd_label_wake;
