-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Operators' requests, and access to the console and the API.

CREATE TABLE operator_intents ( -- What people asked for, and what became of it: the audit. The role of the daemons cannot delete from it.
  idempotency_key text PRIMARY KEY, -- Asking twice with one key is asking once.
  verb text NOT NULL, -- What is asked for.
  provider text, -- Null: the fleet.
  slot_id text, -- Null: the fleet.
  parameters jsonb NOT NULL DEFAULT '{}', -- Details of the verb.
  actor text NOT NULL, -- Who.
  reason text NOT NULL, -- Why.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- When it was asked.
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'refused')), -- open until settled.
  outcome text, -- What became of it, for people.
  settled_at timestamptz CHECK (isfinite(settled_at)), -- When it was settled.
  machine_id uuid, -- The machine that was on the slot when it was asked; null: none. No reference: requests outlive machines.
  expires_at timestamptz NOT NULL DEFAULT now() + interval '1 hour' -- Whatever is still open then is refused.
    CHECK (isfinite(expires_at)),
  batch text, -- Key of the batch that it was filed in; its own key at the head of a batch; null: it came alone.
  role text, -- By which the right to ask was given; null: none was checked, but that to write here.
  proven boolean NOT NULL DEFAULT false -- It was proved who asks; else the actor is a claim.
);
-- A machine has at most one open order.
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

CREATE TABLE api_tokens ( -- Tokens of programs for console and API. Rows stay, as what was done with them names them.
  id text PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 40), -- Part of the token that may be shown.
  digest bytea NOT NULL CHECK (octet_length(digest) = 32), -- SHA-256 of the whole token, which is stored nowhere.
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64), -- Chosen by the owner; of tokens that are not revoked, one has it.
  owner text NOT NULL, -- Who made it.
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')), -- What may be done with it.
  providers text[], -- Configured names of the providers where it may be done; null: everywhere.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- When it was made.
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)), -- It is refused from then on.
  last_used_at timestamptz CHECK (isfinite(last_used_at)), -- Written by daemons about once a minute.
  revoked_at timestamptz CHECK (isfinite(revoked_at)), -- It is refused since then.
  revoked_by text, -- Who revoked it.
  owner_identity text, -- Identity of the caller that made the token, such as token:<id>. Null: an older daemon or a command made it.
  parent_token_id text, -- Token that made this one, which ends with it. Null: none of api_tokens.
  parent_session_id uuid, -- Login that made this token, which ends with it; the row of a login that ended may be gone. Null: none.
  login_seal bytea CHECK (octet_length(login_seal) <= 1024), -- Secret of the cookie of that login, encrypted with a key that only the token leads to: by it the role is asked again. Null: no login made the token or the tokens that it comes from.
  CHECK (expires_at <= created_at + interval '366 days'),
  CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
  CHECK (parent_token_id IS NULL OR parent_session_id IS NULL)
);
CREATE UNIQUE INDEX api_tokens_by_name ON api_tokens (name) WHERE revoked_at IS NULL;

CREATE TABLE console_sessions ( -- Logins of people in the page. Rows are removed when somebody logs in after they ended.
  id uuid PRIMARY KEY, -- What it is called among people.
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32), -- SHA-256 of what the cookie holds.
  name text NOT NULL, -- Who logged in, as it is recorded with what they ask for.
  proven boolean NOT NULL, -- False: the name is a claim.
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')), -- What may be done in it.
  providers text[], -- Configured names of the providers where it may be done; null: everywhere.
  renewal bytea CHECK (octet_length(renewal) <= 8192), -- What the role is asked with again, encrypted with a key that the cookie alone leads to.
  opened_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(opened_at)), -- Login. It ends a day later.
  last_used_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(last_used_at)), -- Written by daemons about once a minute. It ends eight hours later.
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at)), -- When role and providers were last asked of whoever knows them.
  asked_at timestamptz CHECK (isfinite(asked_at)), -- When a daemon last took it on to ask for role and providers again; null: none did.
  token_id text, -- Token by which somebody logged in: the session ends with it. Null: none of api_tokens.
  identity text, -- Identity of the caller that logged in, such as oidc:<subject>. Null: an older daemon opened the session.
  page_digest bytea CHECK (octet_length(page_digest) = 32) -- SHA-256 of what the page shows beside the cookie when it changes something. Null: an older daemon opened the session, and nothing is changed in it.
);

CREATE TABLE login_codes ( -- One-time links into the page. A row is removed when it is used.
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32), -- SHA-256 of what the link holds.
  name text NOT NULL, -- Who is logged in by it: a claim of whoever reached the database.
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')), -- What may be done then.
  providers text[], -- Configured names of the providers where it may be done; null: everywhere.
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)), -- A minute after it was made.
  token_id text, -- Token by which the link was made: what it opens ends with it. Null: none of api_tokens.
  identity text -- Identity of the caller that the link logs in. Null: an older daemon made the link.
);

-- The daemons' role ends requests and revokes tokens, and so may change those columns. An ended
-- request or a revoked token is history, which nobody may change; of a request's details, only a
-- text with secrets may be removed.

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
