-- Up Migration
-- Runs beside: 0.1.0 and later.

-- The role of the daemons settles requests and revokes tokens, and so may change those columns. What
-- is settled or revoked is history: nobody changes it, and of what was asked for only a text with
-- secrets may be left out. No daemon of any version does otherwise.

CREATE FUNCTION shepherd_refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'what was settled or revoked in % is history and is not rewritten', TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END $$;
COMMENT ON FUNCTION shepherd_refuse_rewriting IS 'Row-level trigger: refuses a change.';
CREATE TRIGGER keep_history BEFORE UPDATE ON operator_intents
  FOR EACH ROW WHEN (OLD.state <> 'open' OR NEW.parameters <> OLD.parameters
    AND NEW.parameters <> OLD.parameters #- '{image,cloudInit}')
  EXECUTE FUNCTION shepherd_refuse_rewriting();
CREATE TRIGGER keep_history BEFORE UPDATE OF revoked_at, revoked_by ON api_tokens
  FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL)
  EXECUTE FUNCTION shepherd_refuse_rewriting();

-- Down Migration

DROP FUNCTION shepherd_refuse_rewriting CASCADE;
