-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Operators' requests, and access to the console and the API.

CREATE TABLE operator_intents ( -- Requests of operators and their results: the audit log. The daemons' role cannot delete from it.
  idempotency_key text PRIMARY KEY, -- A second request with the same key changes nothing.
  verb text NOT NULL, -- Kind of request.
  provider text, -- Null: the request concerns the fleet.
  slot_id text, -- Null: the request concerns the fleet or a provider.
  parameters jsonb NOT NULL DEFAULT '{}', -- Details of the verb.
  actor text NOT NULL, -- Requester.
  reason text NOT NULL, -- Reason for the request.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- Time of the request.
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'refused')), -- open until done or refused.
  outcome text, -- Result for people.
  settled_at timestamptz CHECK (isfinite(settled_at)), -- Time of the result.
  machine_id uuid, -- Machine on the slot at the time of the request; null: none. Not a foreign key: requests outlive machines.
  expires_at timestamptz NOT NULL DEFAULT now() + interval '1 hour' -- A request that is still open at this time is refused.
    CHECK (isfinite(expires_at)),
  batch text, -- Key of the batch that contains the request; the head of a batch has its own key; null: single request.
  role text, -- Role that gave the right to make the request; null: only the right to write here was checked.
  proven boolean NOT NULL DEFAULT false -- True: the requester's name is verified.
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

CREATE TABLE api_tokens ( -- API tokens of programs. Rows stay, because the audit log names them.
  id text PRIMARY KEY CHECK (char_length(id) BETWEEN 1 AND 40), -- Public part of the token.
  digest bytea NOT NULL CHECK (octet_length(digest) = 32), -- SHA-256 of the whole token, which is not stored.
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 64), -- Chosen by the owner; unique among tokens that are not revoked.
  owner text NOT NULL, -- Creator of the token.
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')), -- Rights of the token.
  providers text[], -- Configured names of the providers that the token may act on; null: all.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- Time of creation.
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)), -- The token is refused from this time on.
  last_used_at timestamptz CHECK (isfinite(last_used_at)), -- Daemons write it about once a minute.
  revoked_at timestamptz CHECK (isfinite(revoked_at)), -- Time of revocation.
  revoked_by text, -- Person that revoked it.
  owner_identity text, -- Identity of the caller that created the token, for example token:<id>. Null: an older daemon or a command created it.
  parent_token_id text, -- Token that created this one, which ends with it. Null: none of api_tokens.
  parent_session_id uuid, -- Login that created this token, which ends with it; the row of an ended login may be gone. Null: none.
  login_seal bytea CHECK (octet_length(login_seal) <= 1024), -- Secret of that login's cookie, encrypted with a key derived from the token; needed to check the role again. Null: no login is among the token's ancestors.
  CHECK (expires_at <= created_at + interval '366 days'),
  CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
  CHECK (parent_token_id IS NULL OR parent_session_id IS NULL)
);
CREATE UNIQUE INDEX api_tokens_by_name ON api_tokens (name) WHERE revoked_at IS NULL;

CREATE TABLE console_sessions ( -- Logins of people in the console. Rows of ended logins are deleted at the next login.
  id uuid PRIMARY KEY, -- Public name of the login.
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32), -- SHA-256 of the cookie's secret.
  name text NOT NULL, -- Who logged in, as named in the audit log.
  proven boolean NOT NULL, -- True: the name is verified.
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')), -- Rights of the login.
  providers text[], -- Configured names of the providers that the login may act on; null: all.
  renewal bytea CHECK (octet_length(renewal) <= 8192), -- Data to check the role again, encrypted with a key derived from the cookie.
  opened_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(opened_at)), -- Time of the login, which ends a day later.
  last_used_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(last_used_at)), -- Daemons write it about once a minute. The login ends eight hours later.
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at)), -- Last check of role and providers with the provider of identities.
  asked_at timestamptz CHECK (isfinite(asked_at)), -- When a daemon last began to check role and providers again; null: never.
  token_id text, -- Token used to log in: the login ends with the token. Null: none of api_tokens.
  identity text, -- Identity of the caller that logged in, for example oidc:<subject>. Null: an older daemon opened the login.
  page_digest bytea CHECK (octet_length(page_digest) = 32) -- SHA-256 of the secret that the page sends beside the cookie to change something. Null: an older daemon opened the login, which cannot change anything.
);

CREATE TABLE login_codes ( -- One-time links into the console. A used link's row is deleted.
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32), -- SHA-256 of the link's secret.
  name text NOT NULL, -- User whom the link logs in; unverified, given by whoever could write to the database.
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')), -- Rights of the login.
  providers text[], -- Configured names of the providers that the login may act on; null: all.
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)), -- A minute after creation.
  token_id text, -- Token that created the link: logins by the link end with the token. Null: none of api_tokens.
  identity text -- Identity of the user whom the link logs in. Null: an older daemon created the link.
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
