-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Who may use console and API. A daemon that does not know these tables lets nobody act, and its
-- console shows the fleet to whom its configuration says.

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
  CHECK (expires_at <= created_at + interval '366 days'),
  CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
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
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at))
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

CREATE TABLE login_codes (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  providers text[],
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at))
);
COMMENT ON TABLE login_codes IS 'One-time links into the page. A row is removed when it is used.';
COMMENT ON COLUMN login_codes.digest IS 'SHA-256 of what the link holds.';
COMMENT ON COLUMN login_codes.name IS 'Who is logged in by it: a claim of whoever reached the database.';
COMMENT ON COLUMN login_codes.role IS 'What may be done then.';
COMMENT ON COLUMN login_codes.providers IS 'Configured names of the providers where it may be done; null: everywhere.';
COMMENT ON COLUMN login_codes.expires_at IS 'A minute after it was made.';

-- Down Migration

DROP TABLE login_codes;
DROP TABLE console_sessions;
DROP TABLE api_tokens;
