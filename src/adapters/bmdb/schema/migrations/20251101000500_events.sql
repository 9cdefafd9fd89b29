-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Fleet events that are not lines in a slot's log. The sequence of slot_events numbers both, in one
-- order. Triggers write the events, whichever program makes the change, in its transaction and with
-- the rights of the migrating role.

-- A reader must know which numbers may still be committed. So a transaction gets its id before its
-- number: a visible number is younger than the ids of all smaller ones.
CREATE FUNCTION shepherd_take_xid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_current_xact_id();
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_take_xid IS 'Statement-level trigger: assigns an id to the transaction before its first event number.';
CREATE TRIGGER take_xid BEFORE INSERT ON slot_events
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_take_xid();

CREATE FUNCTION shepherd_next_event() RETURNS bigint LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$ SELECT nextval('slot_events_seq_seq') $$;
COMMENT ON FUNCTION shepherd_next_event IS 'The next number of an event: slot_events and fleet_events share one sequence.';

CREATE TABLE fleet_events ( -- Append-only log of what happened to the fleet outside slot_events, written in the transaction of the cause.
  seq bigint PRIMARY KEY DEFAULT shepherd_next_event(), -- Order of writing, shared with slot_events.
  at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(at)), -- By the database clock.
  type text NOT NULL, -- For example request.filed, guard.frozen, session.expired.
  provider text, -- Configured name of the provider; null: the event concerns none.
  slot_id text, -- The physical machine; null: the event concerns none.
  machine_id uuid, -- Machine on the slot at that time; null: none.
  actor text NOT NULL, -- Component or person that caused it.
  reason text NOT NULL DEFAULT '', -- Reason.
  details jsonb NOT NULL DEFAULT '{}' -- Further data of this event type.
);
CREATE TRIGGER take_xid BEFORE INSERT ON fleet_events
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_take_xid();

CREATE FUNCTION shepherd_requests_filed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, provider, slot_id, machine_id, actor, reason, details)
  SELECT 'request.filed', f.provider, f.slot_id, f.machine_id, f.actor, f.reason,
    jsonb_build_object('key', f.idempotency_key, 'verb', f.verb, 'batch', f.batch)
  FROM filed f ORDER BY f.created_at, f.idempotency_key;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_requests_filed IS 'Statement-level trigger: an event for each new request.';
CREATE TRIGGER tell_filed AFTER INSERT ON operator_intents REFERENCING NEW TABLE AS filed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_requests_filed();

CREATE FUNCTION shepherd_requests_settled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, provider, slot_id, machine_id, actor, reason, details)
  SELECT 'request.settled', n.provider, n.slot_id, n.machine_id, n.actor, coalesce(n.outcome, ''),
    jsonb_build_object('key', n.idempotency_key, 'verb', n.verb, 'state', n.state)
  FROM became n JOIN was o USING (idempotency_key)
  WHERE o.state = 'open' AND n.state <> 'open' ORDER BY n.idempotency_key;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_requests_settled IS 'Statement-level trigger: an event for each request that ended.';
CREATE TRIGGER tell_settled AFTER UPDATE ON operator_intents
  REFERENCING OLD TABLE AS was NEW TABLE AS became
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_requests_settled();

CREATE FUNCTION shepherd_recovering() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, provider, slot_id, machine_id, actor, reason)
  SELECT 'machine.recovering', p.provider, coalesce(p.provider_reservation_id, p.provider_id),
    g.machine_id, 'shepherd', 'it holds a permit to be recovered'
  FROM granted g JOIN machine_provided p USING (machine_id) ORDER BY g.machine_id;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_recovering IS 'Statement-level trigger: an event for each machine whose recovery begins.';
CREATE TRIGGER tell_granted AFTER INSERT ON recovery_permits REFERENCING NEW TABLE AS granted
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_recovering();

CREATE FUNCTION shepherd_provider_held() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, provider, slot_id, actor, reason, details)
  VALUES ('provider.hold_set', NEW.provider, CASE WHEN NEW.kind = 'penalty' THEN NEW.key END,
    'shepherd', NEW.cause, jsonb_build_object('kind', NEW.kind, 'key', NEW.key, 'level', NEW.level,
      'untilMs', floor(date_part('epoch', NEW.until) * 1000)));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_provider_held IS 'Row-level trigger: an event for a new hold on a provider.';
CREATE TRIGGER tell_held AFTER INSERT ON provider_holds
  FOR EACH ROW EXECUTE FUNCTION shepherd_provider_held();
CREATE TRIGGER tell_held_again AFTER UPDATE ON provider_holds
  FOR EACH ROW WHEN (OLD.until <= now() AND NEW.until > now())
  EXECUTE FUNCTION shepherd_provider_held();

CREATE FUNCTION shepherd_hold_expired() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, provider, slot_id, actor, reason, details)
  VALUES ('hold.expired', OLD.provider, OLD.slot_id, OLD.set_by, OLD.reason,
    jsonb_build_object('kind', OLD.kind));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_hold_expired IS 'Row-level trigger: an event for an expired hold.';
CREATE TRIGGER tell_expired AFTER DELETE ON slot_holds
  FOR EACH ROW WHEN (OLD.until <= now()) EXECUTE FUNCTION shepherd_hold_expired();

CREATE FUNCTION shepherd_session_expired() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, actor, reason, details)
  VALUES ('session.expired', OLD.session_component_name, 'it gave no sign of life',
    jsonb_build_object('sessionId', OLD.session_id, 'runtimeInfo', OLD.session_runtime_info));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_session_expired IS 'Row-level trigger: an event for a session that its daemon did not close.';
CREATE TRIGGER tell_expired AFTER DELETE ON sessions
  FOR EACH ROW WHEN (OLD.session_deadline <= now() AND OLD.closed_at IS NULL)
  EXECUTE FUNCTION shepherd_session_expired();

CREATE FUNCTION shepherd_logged_in() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, actor, details)
  VALUES ('access.login', NEW.name, jsonb_build_object('sessionId', NEW.id, 'role', NEW.role));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_logged_in IS 'Row-level trigger: an event for a login to the console.';
CREATE TRIGGER tell_login AFTER INSERT ON console_sessions
  FOR EACH ROW EXECUTE FUNCTION shepherd_logged_in();

CREATE FUNCTION shepherd_token_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO fleet_events (type, actor, details)
  VALUES (CASE TG_OP WHEN 'INSERT' THEN 'access.token_created' ELSE 'access.revoked' END,
    CASE TG_OP WHEN 'INSERT' THEN NEW.owner ELSE coalesce(NEW.revoked_by, '') END,
    jsonb_build_object('tokenId', NEW.id, 'name', NEW.name, 'role', NEW.role));
  RETURN NULL;
END $$;
COMMENT ON FUNCTION shepherd_token_changed IS 'Row-level trigger: an event for a new or revoked token.';
CREATE TRIGGER tell_made AFTER INSERT ON api_tokens
  FOR EACH ROW EXECUTE FUNCTION shepherd_token_changed();
CREATE TRIGGER tell_revoked AFTER UPDATE ON api_tokens
  FOR EACH ROW WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL)
  EXECUTE FUNCTION shepherd_token_changed();

CREATE FUNCTION shepherd_trim_events(keep_days integer, keep_rows integer, batch integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  newest_to_go bigint;
  removed bigint := 0;
BEGIN
  IF keep_days < 90 OR keep_rows < 1000 OR batch < 1 OR batch > 10000 THEN
    RAISE EXCEPTION 'events are kept for at least 90 days and 1000 rows, and trimmed by at most 10000 rows at a time'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT e.seq INTO newest_to_go FROM fleet_events e ORDER BY e.seq DESC OFFSET keep_rows LIMIT 1;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  DELETE FROM fleet_events d WHERE d.seq IN (
    SELECT e.seq FROM fleet_events e
    WHERE e.seq <= newest_to_go AND e.at < now() - make_interval(days => keep_days)
    ORDER BY e.seq LIMIT batch FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;
COMMENT ON FUNCTION shepherd_trim_events IS 'Deletes at most batch rows of fleet_events that are older than keep_days and beyond the newest keep_rows. Call it repeatedly. Returns the number of deleted rows.';
REVOKE ALL ON FUNCTION shepherd_trim_events, shepherd_requests_filed, shepherd_requests_settled,
  shepherd_recovering, shepherd_provider_held, shepherd_hold_expired, shepherd_session_expired,
  shepherd_logged_in, shepherd_token_changed FROM PUBLIC;

-- Logs of slots, requests and creations are trimmed like work history.
CREATE FUNCTION shepherd_trim_logs(keep_days integer, keep_rows integer, batch integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  -- Picks slots through random lines: the longer a slot's log, the sooner it is checked.
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
  -- Open requests stay, whatever their age.
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
COMMENT ON FUNCTION shepherd_trim_logs IS 'Deletes at most batch rows that are older than keep_days and beyond the newest keep_rows: of the log of a slot, of settled requests of operators, of settled creations. Never what is open or unresolved. Call it repeatedly. Returns the number of deleted rows.';
REVOKE ALL ON FUNCTION shepherd_trim_logs FROM PUBLIC;

-- How far each webhook has been delivered, and which deliveries failed. A successful delivery has
-- no row.

CREATE TABLE webhooks ( -- Configured webhooks with deliveries so far or to come. The daemon with the lease webhook/<name> writes the row.
  name text PRIMARY KEY CHECK (char_length(name) BETWEEN 1 AND 64), -- Configured name.
  told_to bigint NOT NULL, -- Events up to this number were delivered, have a row in webhook_deliveries, or are not wanted.
  delivered_at timestamptz CHECK (isfinite(delivered_at)), -- Last success; null: none yet.
  disabled_at timestamptz CHECK (isfinite(disabled_at)), -- The endpoint answered that it is gone: nothing is sent until an operator enables the webhook.
  disabled_reason text -- Reason.
);

CREATE TABLE webhook_deliveries ( -- Failed deliveries: retries, and dead letters, which are kept for 30 days.
  webhook text NOT NULL, -- The webhook; it may be no longer configured.
  seq bigint NOT NULL, -- Number of the event, in slot_events or fleet_events.
  type text NOT NULL, -- Type of the event.
  attempts bigint NOT NULL CHECK (attempts >= 0), -- Number of attempts since the event or the last replay.
  first_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(first_at)), -- First failure.
  last_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(last_at)), -- Last failure.
  next_at timestamptz CHECK (isfinite(next_at)), -- Time of the next retry; null: dead letter.
  status bigint, -- HTTP status of the last response; null: none came.
  cause text NOT NULL, -- Cause of the last failure.
  PRIMARY KEY (webhook, seq)
);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (webhook, next_at, seq)
  WHERE next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_dead_idx ON webhook_deliveries (last_at, webhook, seq)
  WHERE next_at IS NULL;

-- Down Migration

DROP TABLE webhook_deliveries, webhooks, fleet_events;
DROP FUNCTION shepherd_trim_logs, shepherd_trim_events, shepherd_token_changed,
  shepherd_logged_in, shepherd_session_expired, shepherd_hold_expired, shepherd_provider_held,
  shepherd_recovering, shepherd_requests_settled, shepherd_requests_filed, shepherd_next_event,
  shepherd_take_xid CASCADE;
