-- Up Migration

-- Wakes: a hint, without content, that rows changed. Statements that changed nothing send none,
-- and heartbeats never do: else every daemon would scan the fleet all the time.

CREATE FUNCTION shepherd_wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM changed) THEN
    PERFORM pg_notify('shepherd_wake', '');
  END IF;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_wake IS 'Statement-level trigger: notifies the channel shepherd_wake when rows changed.';

DO $$
DECLARE
  watched text;
BEGIN
  FOREACH watched IN ARRAY ARRAY[
    'machines', 'sessions', 'work', 'work_backoff', 'machine_provided', 'machine_agent_started',
    'machine_os_installation_request', 'machine_os_installation_report',
    'machine_agent_start_attempt', 'machine_recovery', 'machine_quarantined',
    'machine_ssh_host_key', 'machine_deprovision_request', 'provision_intents', 'provider_holds',
    'slot_holds', 'recovery_permits', 'operator_intents'
  ] LOOP
    EXECUTE format('CREATE TRIGGER wake_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake()', watched);
    EXECUTE format('CREATE TRIGGER wake_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake()', watched);
    -- Pokes update sessions all the time and tell nothing new.
    IF watched <> 'sessions' THEN
      EXECUTE format('CREATE TRIGGER wake_update AFTER UPDATE ON %I REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake()', watched);
    END IF;
  END LOOP;
END $$;

-- Down Migration

DROP FUNCTION shepherd_wake CASCADE;
