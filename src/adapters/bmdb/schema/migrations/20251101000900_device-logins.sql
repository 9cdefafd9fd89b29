-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Logins of commands that a person confirms in a browser (RFC 8628).

CREATE TABLE device_logins ( -- Logins of commands that wait for a person. A row is removed when the command got its answer, or after its end.
  device_digest bytea PRIMARY KEY CHECK (octet_length(device_digest) = 32), -- SHA-256 of the code that the command keeps.
  user_digest bytea NOT NULL UNIQUE CHECK (octet_length(user_digest) = 32), -- SHA-256 of the short code that a person types.
  host text NOT NULL CHECK (char_length(host) BETWEEN 1 AND 64), -- Host name of the machine of the command: a claim.
  address text NOT NULL, -- Address from which the command asked.
  public_key bytea NOT NULL CHECK (octet_length(public_key) <= 128), -- The token is encrypted for this key. Only the code that the command keeps leads to its private key.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- When the command asked.
  expires_at timestamptz NOT NULL CHECK (isfinite(expires_at)), -- Ten minutes later.
  polled_at timestamptz CHECK (isfinite(polled_at)), -- When the command last asked for the token; null: never.
  interval_seconds bigint NOT NULL DEFAULT 5, -- The command must wait this long between two such questions. It grows when the command does not.
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'granted', 'refused')), -- What a person decided.
  sealed bytea CHECK (octet_length(sealed) <= 1024), -- The token, encrypted; null: none was granted.
  CHECK ((state = 'granted') = (sealed IS NOT NULL))
);

-- Down Migration

DROP TABLE device_logins;
