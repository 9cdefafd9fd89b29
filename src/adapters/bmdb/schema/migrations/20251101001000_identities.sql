-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Two callers may have the same name, so rights over tokens and logins go by an identity that is never
-- given to another caller. An older daemon compares names, as before; it leaves the columns null.

ALTER TABLE api_tokens ADD COLUMN owner_identity text;
ALTER TABLE console_sessions ADD COLUMN identity text;
ALTER TABLE login_codes ADD COLUMN identity text;
COMMENT ON COLUMN api_tokens.owner_identity IS 'Identity of the caller that made the token, such as token:<id>. Null: an older daemon or a command made it.';
COMMENT ON COLUMN console_sessions.identity IS 'Identity of the caller that logged in, such as oidc:<subject>. Null: an older daemon opened the session.';
COMMENT ON COLUMN login_codes.identity IS 'Identity of the caller that the link logs in. Null: an older daemon made the link.';

-- Down Migration

ALTER TABLE login_codes DROP COLUMN identity;
ALTER TABLE console_sessions DROP COLUMN identity;
ALTER TABLE api_tokens DROP COLUMN owner_identity;
