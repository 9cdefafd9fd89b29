-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What slots, operators and creations leave behind is trimmed like the history of work; and what an
-- installed machine was told at its first boot is not kept.

CREATE INDEX operator_intents_settled_idx ON operator_intents (settled_at, idempotency_key)
  WHERE state <> 'open';
CREATE INDEX provision_intents_settled_idx ON provision_intents (updated_at, witness)
  WHERE state NOT IN ('open', 'unresolved');

CREATE FUNCTION shepherd_trim_logs(keep_days integer, keep_rows integer, batch integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  -- Slots of lines picked at random: the longer its log, the sooner a slot is looked at.
  looks CONSTANT integer := 20;
  keep_from CONSTANT timestamptz := now() - make_interval(days => keep_days);
  oldest_seq bigint;
  newest_seq bigint;
  this_provider text;
  this_slot text;
  newest_to_go bigint;
  settled_to_go timestamptz;
  key_to_go text;
  witness_to_go uuid;
  gone bigint;
  removed bigint := 0;
BEGIN
  IF keep_days < 90 OR keep_rows < 1000 OR batch < 1 OR batch > 10000 THEN
    RAISE EXCEPTION 'logs are kept for at least 90 days and 1000 rows, and trimmed by at most 10000 rows at a time'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT min(e.seq), max(e.seq) INTO oldest_seq, newest_seq FROM slot_events e;
  FOR look IN 1 .. looks LOOP
    EXIT WHEN oldest_seq IS NULL OR removed >= batch;
    SELECT e.provider, e.slot_id INTO this_provider, this_slot FROM slot_events e
    WHERE e.seq >= oldest_seq + floor(random() * (newest_seq - oldest_seq + 1))::bigint
    ORDER BY e.seq LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    SELECT e.seq INTO newest_to_go FROM slot_events e
    WHERE e.provider = this_provider AND e.slot_id = this_slot
    ORDER BY e.seq DESC OFFSET keep_rows LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM slot_events d WHERE d.seq IN (
      SELECT e.seq FROM slot_events e
      WHERE e.provider = this_provider AND e.slot_id = this_slot AND e.seq <= newest_to_go
        AND e.at < keep_from
      ORDER BY e.seq LIMIT batch - removed FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
  END LOOP;
  -- What is open stays, whatever its age.
  SELECT y.settled_at, y.idempotency_key INTO settled_to_go, key_to_go FROM operator_intents y WHERE y.state <> 'open'
  ORDER BY y.settled_at DESC, y.idempotency_key DESC OFFSET keep_rows LIMIT 1;
  IF FOUND AND removed < batch THEN
    DELETE FROM operator_intents d WHERE d.idempotency_key IN (
      SELECT y.idempotency_key FROM operator_intents y
      WHERE y.state <> 'open' AND y.settled_at < keep_from
        AND (y.settled_at, y.idempotency_key) <= (settled_to_go, key_to_go)
      ORDER BY y.settled_at, y.idempotency_key LIMIT batch - removed FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
  END IF;
  SELECT i.updated_at, i.witness INTO settled_to_go, witness_to_go FROM provision_intents i
  WHERE i.state NOT IN ('open', 'unresolved')
  ORDER BY i.updated_at DESC, i.witness DESC OFFSET keep_rows LIMIT 1;
  IF FOUND AND removed < batch THEN
    DELETE FROM provision_intents d WHERE d.witness IN (
      SELECT i.witness FROM provision_intents i
      WHERE i.state NOT IN ('open', 'unresolved') AND i.updated_at < keep_from
        AND (i.updated_at, i.witness) <= (settled_to_go, witness_to_go)
      ORDER BY i.updated_at, i.witness LIMIT batch - removed FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
  END IF;
  RETURN removed;
END $$;
COMMENT ON FUNCTION shepherd_trim_logs IS 'Deletes at most batch rows that are older than keep_days and beyond the newest keep_rows: of the log of a slot, of settled requests of operators, of settled creations. Never what is open or unresolved. Call it again and again. Returns how many rows went.';
REVOKE ALL ON FUNCTION shepherd_trim_logs FROM PUBLIC;

-- Their answer is there, so they are never handed out again.
UPDATE machine_os_installation_request r SET os_installation_request_raw = ''
FROM machine_os_installation_report o
WHERE o.machine_id = r.machine_id AND o.generation = r.generation;
COMMENT ON COLUMN machine_os_installation_request.os_installation_request_raw IS 'Serialized OSInstallationRequest; once this generation is reported, without what a first boot was told.';

-- Down Migration

DROP FUNCTION shepherd_trim_logs;
DROP INDEX provision_intents_settled_idx, operator_intents_settled_idx;
