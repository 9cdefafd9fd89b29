-- Up Migration
-- Runs beside: 0.1.0 and later.

-- The repair loop: which machines fail again and again, what is known to be wrong with them, and
-- which slots are never used again.

CREATE TABLE recovery_episodes ( -- Recoveries of physical machines: one row from the first attempt until unbroken heartbeats, a person, or the end of the tenancy.
  episode bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Order of writing.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  machine_id uuid NOT NULL, -- Machine on the slot at that time. Not a foreign key: the row outlives it.
  location text, -- Location of the machine; null: unknown.
  silent_since timestamptz NOT NULL CHECK (isfinite(silent_since)), -- Since when the machine was silent; the first attempt if that is unknown.
  began_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(began_at)), -- First attempt.
  rung text NOT NULL, -- Rung of the last attempt, which brought the machine back if healed_at is set.
  attempts bigint NOT NULL DEFAULT 1, -- Number of attempts.
  healed_at timestamptz CHECK (isfinite(healed_at)), -- First of the heartbeats that ended the episode; null: none did.
  ended_at timestamptz CHECK (isfinite(ended_at)), -- End of the episode; null: it lasts.
  counted boolean NOT NULL DEFAULT true -- false: a person released the machine since, so that the episode no longer makes it chronic.
);
CREATE INDEX recovery_episodes_slot_idx ON recovery_episodes (provider, slot_id, began_at);
CREATE INDEX recovery_episodes_began_idx ON recovery_episodes (began_at);
CREATE UNIQUE INDEX recovery_episodes_open_key ON recovery_episodes (machine_id)
  WHERE ended_at IS NULL;

ALTER TABLE machine_quarantined ADD COLUMN cause text
  CHECK (char_length(cause) BETWEEN 1 AND 64);
COMMENT ON COLUMN machine_quarantined.cause IS 'chronic: it was recovered too often. retired: its slot was retired. Heartbeats end no quarantine with a cause. Null: none of these.';

CREATE TABLE machine_conditions ( -- What is known to be wrong with physical machines. A condition never reboots or erases anything.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  type text NOT NULL CHECK (char_length(type) BETWEEN 1 AND 64), -- For example disk-failing.
  source text NOT NULL CHECK (char_length(source) BETWEEN 1 AND 512), -- agent, provider, or the person or token that reported it. Only the source and an acceptance may clear it.
  status text NOT NULL CHECK (status IN ('True', 'False', 'Unknown')), -- True: something is wrong.
  reason text NOT NULL, -- Reason, one line.
  detail text NOT NULL DEFAULT '', -- More for people; may be empty.
  since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(since)), -- Since when it has this status.
  seen timestamptz NOT NULL DEFAULT now() CHECK (isfinite(seen)), -- Last report.
  from_at timestamptz CHECK (isfinite(from_at)), -- When True begins to have its effect; null: at once.
  expires_at timestamptz CHECK (isfinite(expires_at)), -- Without a report until then, False no longer means OK; True stays. Null: never.
  PRIMARY KEY (provider, slot_id, type, source)
);
CREATE TRIGGER wake_insert AFTER INSERT ON machine_conditions REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();
CREATE TRIGGER wake_update AFTER UPDATE OF status, reason, detail, from_at ON machine_conditions
  FOR EACH ROW WHEN ((OLD.status, OLD.reason, OLD.detail, OLD.from_at) IS DISTINCT FROM
    (NEW.status, NEW.reason, NEW.detail, NEW.from_at)) EXECUTE FUNCTION shepherd_row_wake();
CREATE TRIGGER wake_delete AFTER DELETE ON machine_conditions REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION shepherd_wake();

ALTER TABLE machine_hardware_report ADD COLUMN complete_report_raw bytea;
COMMENT ON COLUMN machine_hardware_report.complete_report_raw IS 'Last report with all parts, if the newest lacks some of them or could not read them; null: it lacks none.';

ALTER TABLE slot_holds DROP CONSTRAINT slot_holds_kind_check;
ALTER TABLE slot_holds ADD CONSTRAINT slot_holds_kind_check CHECK
  (kind IN ('no-start', 'no-recover', 'no-allocate', 'preserve', 'no-serve', 'retired'));
COMMENT ON COLUMN slot_holds.kind IS 'no-start bars agent start, no-recover the ladder, no-allocate creation, preserve reinstallation and deprovision, no-serve membership in pools, retired all of these but deprovision.';

ALTER TABLE provision_intents ADD COLUMN replaces boolean NOT NULL DEFAULT false;
CREATE INDEX provision_intents_replaces_idx ON provision_intents (created_at) WHERE replaces;
COMMENT ON COLUMN provision_intents.replaces IS 'The machine takes the place of one that was retired or needs a person.';

-- The role checker may see everything and report conditions. Older daemons take it for viewer.
ALTER TABLE api_tokens DROP CONSTRAINT api_tokens_role_check;
ALTER TABLE api_tokens ADD CONSTRAINT api_tokens_role_check CHECK
  (role IN ('viewer', 'checker', 'operator', 'admin'));
ALTER TABLE console_sessions DROP CONSTRAINT console_sessions_role_check;
ALTER TABLE console_sessions ADD CONSTRAINT console_sessions_role_check CHECK
  (role IN ('viewer', 'checker', 'operator', 'admin'));
ALTER TABLE login_codes DROP CONSTRAINT login_codes_role_check;
ALTER TABLE login_codes ADD CONSTRAINT login_codes_role_check CHECK
  (role IN ('viewer', 'checker', 'operator', 'admin'));

-- Down Migration

UPDATE api_tokens SET role = 'viewer' WHERE role = 'checker';
UPDATE console_sessions SET role = 'viewer' WHERE role = 'checker';
UPDATE login_codes SET role = 'viewer' WHERE role = 'checker';
ALTER TABLE api_tokens DROP CONSTRAINT api_tokens_role_check;
ALTER TABLE api_tokens ADD CONSTRAINT api_tokens_role_check CHECK
  (role IN ('viewer', 'operator', 'admin'));
ALTER TABLE console_sessions DROP CONSTRAINT console_sessions_role_check;
ALTER TABLE console_sessions ADD CONSTRAINT console_sessions_role_check CHECK
  (role IN ('viewer', 'operator', 'admin'));
ALTER TABLE login_codes DROP CONSTRAINT login_codes_role_check;
ALTER TABLE login_codes ADD CONSTRAINT login_codes_role_check CHECK
  (role IN ('viewer', 'operator', 'admin'));
ALTER TABLE provision_intents DROP COLUMN replaces;
DELETE FROM slot_holds WHERE kind = 'retired';
ALTER TABLE slot_holds DROP CONSTRAINT slot_holds_kind_check;
ALTER TABLE slot_holds ADD CONSTRAINT slot_holds_kind_check CHECK
  (kind IN ('no-start', 'no-recover', 'no-allocate', 'preserve', 'no-serve'));
ALTER TABLE machine_hardware_report DROP COLUMN complete_report_raw;
DROP TABLE machine_conditions, recovery_episodes;
ALTER TABLE machine_quarantined DROP COLUMN cause;
