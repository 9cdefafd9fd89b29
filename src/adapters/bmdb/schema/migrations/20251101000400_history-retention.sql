-- Up Migration
-- Runs beside: 0.1.0 and later.

-- The role that daemons use may add to the history of work and read it, but neither change nor
-- delete any of it. This function, which runs with the rights of the role that migrates, is the only
-- way that history ends, and it never ends sooner than it says.

CREATE FUNCTION shepherd_trim_history(keep_days integer, keep_rows integer, batch integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  -- A janitor calls often: each call looks at a few machines, from a random one on. Telling that a
  -- machine has nothing old takes one descent of the index, counting its lines up to keep_rows more.
  effort_max CONSTANT integer := 200;
  effort_of_look CONSTANT integer := 1;
  effort_of_count CONSTANT integer := 9;
  start_at CONSTANT uuid := gen_random_uuid();
  keep_from CONSTANT timestamptz := now() - make_interval(days => keep_days);
  last_machine uuid := start_at;
  this_machine uuid;
  oldest timestamptz;
  newest_to_go bigint;
  wrapped boolean := false;
  effort integer := 0;
  gone bigint;
  removed bigint := 0;
BEGIN
  IF keep_days < 90 OR keep_rows < 1000 OR batch < 1 OR batch > 10000 THEN
    RAISE EXCEPTION 'history is kept for at least 90 days and 1000 rows, and trimmed by at most 10000 rows at a time'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  WHILE removed < batch AND effort < effort_max LOOP
    -- The first row of the next machine, by one descent of the index.
    SELECT h.machine_id, h."timestamp" INTO this_machine, oldest
    FROM work_history h WHERE h.machine_id > last_machine
    ORDER BY h.machine_id, h.seq LIMIT 1;
    IF NOT FOUND THEN
      EXIT WHEN wrapped;
      wrapped := true;
      last_machine := '00000000-0000-0000-0000-000000000000';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND this_machine > start_at;
    last_machine := this_machine;
    effort := effort + effort_of_look;
    CONTINUE WHEN oldest >= keep_from;
    effort := effort + effort_of_count;
    SELECT h.seq INTO newest_to_go FROM work_history h WHERE h.machine_id = this_machine
    ORDER BY h.seq DESC OFFSET keep_rows LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM work_history d WHERE d.machine_id = this_machine AND d.seq IN (
      SELECT h.seq FROM work_history h
      WHERE h.machine_id = this_machine AND h.seq <= newest_to_go AND h."timestamp" < keep_from
      ORDER BY h.seq LIMIT batch - removed FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS gone = ROW_COUNT;
    removed := removed + gone;
  END LOOP;
  RETURN removed;
END $$;
COMMENT ON FUNCTION shepherd_trim_history IS 'Deletes at most batch rows of work history that are older than keep_days and beyond the newest keep_rows of their machine. Looks at 20 to 200 machines a call, from a random one on; call it again and again. Returns how many rows went.';
REVOKE ALL ON FUNCTION shepherd_trim_history FROM PUBLIC;

-- Down Migration

DROP FUNCTION shepherd_trim_history;
