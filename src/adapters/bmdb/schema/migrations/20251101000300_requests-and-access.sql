-- Up Migration
-- Runs beside: 0.1.0 and later.

-- What people ask for, and who may use console and API.

CREATE TABLE operator_intents (
  idempotency_key text PRIMARY KEY,
  verb text NOT NULL,
  provider text,
  slot_id text,
  parameters jsonb NOT NULL DEFAULT '{}',
  actor text NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)),
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'refused')),
  outcome text,
  settled_at timestamptz CHECK (isfinite(settled_at)),
  machine_id uuid,
  expires_at timestamptz NOT NULL DEFAULT now() + interval '1 hour'
    CHECK (isfinite(expires_at)),
  batch text,
  role text,
  proven boolean NOT NULL DEFAULT false
);
-- One piece of work at a time is asked of a machine.
CREATE UNIQUE INDEX operator_intents_order_key ON operator_intents (machine_id)
  WHERE state = 'open' AND verb IN ('restart-agent', 'reboot', 'reinstall');
CREATE INDEX operator_intents_open_idx ON operator_intents (created_at) WHERE state = 'open';
CREATE INDEX operator_intents_slot_idx
  ON operator_intents (provider, slot_id, created_at, idempotency_key);
CREATE INDEX operator_intents_created_idx ON operator_intents (created_at, idempotency_key);
CREATE INDEX operator_intents_settled_idx ON operator_intents (settled_at, idempotency_key)
  WHERE state <> 'open';
CREATE INDEX operator_intents_batch_idx ON operator_intents (batch, idempotency_key)
  WHERE batch IS NOT NULL;
COMMENT ON TABLE operator_intents IS 'What people asked for, and what became of it: the audit. The role of the daemons cannot delete from it.';
COMMENT ON COLUMN operator_intents.idempotency_key IS 'Asking twice with one key is asking once.';
COMMENT ON COLUMN operator_intents.verb IS 'What is asked for.';
COMMENT ON COLUMN operator_intents.provider IS 'Null: the fleet.';
COMMENT ON COLUMN operator_intents.slot_id IS 'Null: the fleet.';
COMMENT ON COLUMN operator_intents.parameters IS 'Details of the verb.';
COMMENT ON COLUMN operator_intents.actor IS 'Who.';
COMMENT ON COLUMN operator_intents.reason IS 'Why.';
COMMENT ON COLUMN operator_intents.created_at IS 'When it was asked.';
COMMENT ON COLUMN operator_intents.state IS 'open until settled.';
COMMENT ON COLUMN operator_intents.outcome IS 'What became of it, for people.';
COMMENT ON COLUMN operator_intents.settled_at IS 'When it was settled.';
COMMENT ON COLUMN operator_intents.machine_id IS 'The machine that was on the slot when it was asked; null: none. No reference: requests outlive machines.';
COMMENT ON COLUMN operator_intents.expires_at IS 'Whatever is still open then is refused.';
COMMENT ON COLUMN operator_intents.batch IS 'Key of the batch that it was filed in; its own key at the head of a batch; null: it came alone.';
COMMENT ON COLUMN operator_intents.role IS 'By which the right to ask was given; null: none was checked, but that to write here.';
COMMENT ON COLUMN operator_intents.proven IS 'It was proved who asks; else the actor is a claim.';

CREATE TABLE api_tokens (
  id text PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 40),
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64),
  owner text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  providers text[],
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)),
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)),
  last_used_at timestamptz CHECK (isfinite(last_used_at)),
  revoked_at timestamptz CHECK (isfinite(revoked_at)),
  revoked_by text,
  owner_identity text,
  parent_token_id text,
  parent_session_id uuid,
  login_seal bytea CHECK (octet_length(login_seal) <= 1024),
  CHECK (expires_at <= created_at + interval '366 days'),
  CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
  CHECK (parent_token_id IS NULL OR parent_session_id IS NULL)
);
CREATE UNIQUE INDEX api_tokens_by_name ON api_tokens (name) WHERE revoked_at IS NULL;
COMMENT ON TABLE api_tokens IS 'Tokens of programs for console and API. Rows stay, as what was done with them names them.';
COMMENT ON COLUMN api_tokens.id IS 'Part of the token that may be shown.';
COMMENT ON COLUMN api_tokens.digest IS 'SHA-256 of the whole token, which is stored nowhere.';
COMMENT ON COLUMN api_tokens.name IS 'Chosen by the owner; of tokens that are not revoked, one has it.';
COMMENT ON COLUMN api_tokens.owner IS 'Who made it.';
COMMENT ON COLUMN api_tokens.role IS 'What may be done with it.';
COMMENT ON COLUMN api_tokens.providers IS 'Configured names of the providers where it may be done; null: everywhere.';
COMMENT ON COLUMN api_tokens.created_at IS 'When it was made.';
COMMENT ON COLUMN api_tokens.expires_at IS 'It is refused from then on.';
COMMENT ON COLUMN api_tokens.last_used_at IS 'Written by daemons about once a minute.';
COMMENT ON COLUMN api_tokens.revoked_at IS 'It is refused since then.';
COMMENT ON COLUMN api_tokens.revoked_by IS 'Who revoked it.';
COMMENT ON COLUMN api_tokens.owner_identity IS 'Identity of the caller that made the token, such as token:<id>. Null: an older daemon or a command made it.';
COMMENT ON COLUMN api_tokens.parent_token_id IS 'Token that made this one, which ends with it. Null: none of api_tokens.';
COMMENT ON COLUMN api_tokens.parent_session_id IS 'Login that made this token, which ends with it; the row of a login that ended may be gone. Null: none.';
COMMENT ON COLUMN api_tokens.login_seal IS 'Secret of the cookie of that login, encrypted with a key that only the token leads to: by it the role is asked again. Null: no login made the token or the tokens that it comes from.';

CREATE TABLE console_sessions (
  id uuid PRIMARY KEY,
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  name text NOT NULL,
  proven boolean NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  providers text[],
  renewal bytea CHECK (octet_length(renewal) <= 8192),
  opened_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(opened_at)),
  last_used_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(last_used_at)),
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at)),
  asked_at timestamptz CHECK (isfinite(asked_at)),
  token_id text,
  identity text,
  page_digest bytea CHECK (octet_length(page_digest) = 32)
);
COMMENT ON TABLE console_sessions IS 'Logins of people in the page. Rows are removed when somebody logs in after they ended.';
COMMENT ON COLUMN console_sessions.id IS 'What it is called among people.';
COMMENT ON COLUMN console_sessions.digest IS 'SHA-256 of what the cookie holds.';
COMMENT ON COLUMN console_sessions.name IS 'Who logged in, as it is recorded with what they ask for.';
COMMENT ON COLUMN console_sessions.proven IS 'False: the name is a claim.';
COMMENT ON COLUMN console_sessions.role IS 'What may be done in it.';
COMMENT ON COLUMN console_sessions.providers IS 'Configured names of the providers where it may be done; null: everywhere.';
COMMENT ON COLUMN console_sessions.renewal IS 'What the role is asked with again, encrypted with a key that the cookie alone leads to.';
COMMENT ON COLUMN console_sessions.opened_at IS 'Login. It ends a day later.';
COMMENT ON COLUMN console_sessions.last_used_at IS 'Written by daemons about once a minute. It ends eight hours later.';
COMMENT ON COLUMN console_sessions.granted_at IS 'When role and providers were last asked of whoever knows them.';
COMMENT ON COLUMN console_sessions.asked_at IS 'When a daemon last took it on to ask for role and providers again; null: none did.';
COMMENT ON COLUMN console_sessions.token_id IS 'Token by which somebody logged in: the session ends with it. Null: none of api_tokens.';
COMMENT ON COLUMN console_sessions.identity IS 'Identity of the caller that logged in, such as oidc:<subject>. Null: an older daemon opened the session.';
COMMENT ON COLUMN console_sessions.page_digest IS 'SHA-256 of what the page shows beside the cookie when it changes something. Null: an older daemon opened the session, and nothing is changed in it.';

CREATE TABLE login_codes (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  providers text[],
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)),
  token_id text,
  identity text
);
COMMENT ON TABLE login_codes IS 'One-time links into the page. A row is removed when it is used.';
COMMENT ON COLUMN login_codes.digest IS 'SHA-256 of what the link holds.';
COMMENT ON COLUMN login_codes.name IS 'Who is logged in by it: a claim of whoever reached the database.';
COMMENT ON COLUMN login_codes.role IS 'What may be done then.';
COMMENT ON COLUMN login_codes.providers IS 'Configured names of the providers where it may be done; null: everywhere.';
COMMENT ON COLUMN login_codes.expires_at IS 'A minute after it was made.';
COMMENT ON COLUMN login_codes.token_id IS 'Token by which the link was made: what it opens ends with it. Null: none of api_tokens.';
COMMENT ON COLUMN login_codes.identity IS 'Identity of the caller that the link logs in. Null: an older daemon made the link.';

-- The role of the daemons settles requests and revokes tokens, and so may change those columns. What
-- is settled or revoked is history: nobody changes it, and of what was asked for only a text with
-- secrets may be left out.

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

DROP TABLE login_codes, console_sessions, api_tokens, operator_intents;
DROP FUNCTION shepherd_refuse_rewriting CASCADE;
