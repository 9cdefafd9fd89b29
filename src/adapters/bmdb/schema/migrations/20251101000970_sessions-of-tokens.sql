-- Up Migration
-- Runs beside: 0.1.0 and later.

-- A login by a token, or by a link that a token made, ends with the token. A daemon that does not know
-- the columns goes on with such a session until it ends by itself.

ALTER TABLE console_sessions ADD COLUMN token_id text;
ALTER TABLE login_codes ADD COLUMN token_id text;
COMMENT ON COLUMN console_sessions.token_id IS 'Token by which somebody logged in: the session ends with it. Null: none of api_tokens.';
COMMENT ON COLUMN login_codes.token_id IS 'Token by which the link was made: what it opens ends with it. Null: none of api_tokens.';

-- Down Migration

ALTER TABLE login_codes DROP COLUMN token_id;
ALTER TABLE console_sessions DROP COLUMN token_id;
