-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Two callers may have the same name, so rights over tokens and logins go by an identity that is never
-- given to another caller. A token records which token or login made it, and ends with that. An older
-- daemon compares names and ends tokens alone, as before; it leaves the columns null.

ALTER TABLE api_tokens ADD COLUMN owner_identity text;
ALTER TABLE api_tokens ADD COLUMN parent_token_id text;
ALTER TABLE api_tokens ADD COLUMN parent_session_id uuid;
ALTER TABLE api_tokens ADD COLUMN login_seal bytea CHECK (octet_length(login_seal) <= 1024);
ALTER TABLE api_tokens ADD CHECK (parent_token_id IS NULL OR parent_session_id IS NULL);
ALTER TABLE console_sessions ADD COLUMN identity text;
ALTER TABLE console_sessions ADD COLUMN page_digest bytea CHECK (octet_length(page_digest) = 32);
ALTER TABLE login_codes ADD COLUMN identity text;
COMMENT ON COLUMN api_tokens.owner_identity IS 'Identity of the caller that made the token, such as token:<id>. Null: an older daemon or a command made it.';
COMMENT ON COLUMN api_tokens.parent_token_id IS 'Token that made this one, which ends with it. Null: none of api_tokens.';
COMMENT ON COLUMN api_tokens.parent_session_id IS 'Login that made this token, which ends with it; the row of a login that ended may be gone. Null: none.';
COMMENT ON COLUMN api_tokens.login_seal IS 'Secret of the cookie of that login, encrypted with a key that only the token leads to: by it the role is asked again. Null: no login made the token or the tokens that it comes from.';
COMMENT ON COLUMN console_sessions.identity IS 'Identity of the caller that logged in, such as oidc:<subject>. Null: an older daemon opened the session.';
COMMENT ON COLUMN console_sessions.page_digest IS 'SHA-256 of what the page shows beside the cookie when it changes something. Null: an older daemon opened the session, and nothing is changed in it.';
COMMENT ON COLUMN login_codes.identity IS 'Identity of the caller that the link logs in. Null: an older daemon made the link.';

-- Down Migration

ALTER TABLE login_codes DROP COLUMN identity;
ALTER TABLE console_sessions DROP COLUMN page_digest;
ALTER TABLE console_sessions DROP COLUMN identity;
ALTER TABLE api_tokens DROP COLUMN login_seal;
ALTER TABLE api_tokens DROP COLUMN parent_session_id;
ALTER TABLE api_tokens DROP COLUMN parent_token_id;
ALTER TABLE api_tokens DROP COLUMN owner_identity;
