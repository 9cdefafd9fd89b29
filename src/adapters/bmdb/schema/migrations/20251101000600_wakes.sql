-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Changes: which machines changed, and a wake for readers. A wake is only a hint without content.
-- Statements that changed nothing leave no trace, nor do heartbeats and pokes: otherwise every
-- daemon would read all the time.

CREATE UNLOGGED TABLE machine_changes ( -- Machines whose rows changed, for readers that know the rest. Not crash-safe: a reader that finds it empty reads everything.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(), -- The transaction. Its id is not below the xmin of any snapshot taken before it ended.
  machine_id uuid NOT NULL, -- The machine; it may be deleted.
  at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(at)) -- Start of that transaction. Old lines are deleted.
);
CREATE INDEX machine_changes_xid_idx ON machine_changes (xid);

CREATE UNLOGGED TABLE change_feed ( -- What machine_changes still holds. A crash empties both tables. So a reader with another era, or with a cursor older than the deleted lines, must read everything.
  single boolean PRIMARY KEY DEFAULT true CHECK (single), -- Always true: one row only, which readers insert if missing.
  era uuid NOT NULL DEFAULT gen_random_uuid(), -- Identifies the time since the tables were last empty.
  trimmed_xid xid8 NOT NULL DEFAULT '0' -- Newest transaction whose lines were deleted.
);

CREATE FUNCTION shepherd_machine_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_changes (machine_id) SELECT DISTINCT c.machine_id FROM changed c;
  IF FOUND THEN
    PERFORM pg_notify('shepherd_wake', '');
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_machine_wake IS 'Statement-level trigger: records the changed machines and notifies the channel shepherd_wake.';

CREATE FUNCTION shepherd_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM changed) THEN
    PERFORM pg_notify('shepherd_wake', '');
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_wake IS 'Statement-level trigger: notifies the channel shepherd_wake when rows without a machine changed.';

DO $$
DECLARE
  -- These tables are read whole, so no reader needs to know what changed.
  others text[] := ARRAY[
    'sessions', 'provision_intents', 'provider_holds', 'slot_holds', 'operator_intents',
    'leases', 'pools'
  ];
  watched text;
  told text;
BEGIN
  FOREACH watched IN ARRAY others || ARRAY[
    'machines', 'work', 'work_backoff', 'machine_provided', 'machine_agent_started',
    'machine_os_installation_request', 'machine_os_installation_report',
    'machine_agent_start_attempt', 'machine_recovery', 'machine_quarantined',
    'machine_ssh_host_key', 'machine_deprovision_request', 'recovery_permits', 'pool_members'
  ] LOOP
    told := CASE WHEN watched = ANY (others) THEN 'shepherd_wake' ELSE 'shepherd_machine_wake' END;
    EXECUTE format('CREATE TRIGGER wake_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', watched, told);
    EXECUTE format('CREATE TRIGGER wake_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION %I()', watched, told);
    -- Pokes update sessions all the time and change nothing that matters here.
    IF watched <> 'sessions' THEN
      EXECUTE format('CREATE TRIGGER wake_update AFTER UPDATE ON %I REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION %I()', watched, told);
    END IF;
  END LOOP;
END $$;

CREATE TRIGGER wake_insert AFTER INSERT ON machine_boot_times REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();
CREATE TRIGGER wake_update AFTER UPDATE ON machine_boot_times REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_machine_wake();
CREATE TRIGGER wake_insert AFTER INSERT ON fleet_guard REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();
CREATE FUNCTION shepherd_row_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('shepherd_wake', '');
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_row_wake IS 'Row-level trigger: notifies the channel shepherd_wake.';
-- Without permits_granted, which every grant changes.
CREATE TRIGGER wake_update
  AFTER UPDATE OF frozen_at, frozen_by, frozen_kind, reason, calm_since, thawed_at, ingest_up_since
  ON fleet_guard FOR EACH ROW EXECUTE FUNCTION shepherd_row_wake();

-- A machine's row is read together with its open order.
CREATE FUNCTION shepherd_order_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_changes (machine_id)
    SELECT DISTINCT c.machine_id FROM changed c WHERE c.machine_id IS NOT NULL;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_order_wake IS 'Statement-level trigger: records the machines of changed orders.';
CREATE TRIGGER change_insert AFTER INSERT ON operator_intents REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_order_wake();
CREATE TRIGGER change_update AFTER UPDATE ON operator_intents REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_order_wake();

-- Down Migration

DROP TABLE change_feed, machine_changes;
DROP FUNCTION shepherd_order_wake, shepherd_row_wake, shepherd_wake, shepherd_machine_wake
  CASCADE;
