-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Slots (physical machines, whatever runs on them), the fleet guard, and what people ask for.

CREATE TYPE intent_state AS ENUM ('open', 'adopted', 'failed', 'unresolved', 'abandoned');
CREATE TABLE provision_intents (
  witness uuid PRIMARY KEY,
  machine_id uuid NOT NULL UNIQUE,
  provider text NOT NULL,
  slot_id text NOT NULL,
  hostname text NOT NULL,
  state intent_state NOT NULL DEFAULT 'open',
  ambiguous boolean NOT NULL DEFAULT false,
  attempts bigint NOT NULL DEFAULT 0,
  session_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)),
  updated_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(updated_at)),
  last_error text
);
CREATE UNIQUE INDEX provision_intents_unsettled_key
  ON provision_intents (provider, slot_id) WHERE state IN ('open', 'unresolved');
COMMENT ON TABLE provision_intents IS 'Committed before a device is created, so that after any crash the device is found and adopted, never leaked.';
COMMENT ON COLUMN provision_intents.witness IS 'Tag of the device at the provider.';
COMMENT ON COLUMN provision_intents.machine_id IS 'The machine it becomes.';
COMMENT ON COLUMN provision_intents.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provision_intents.slot_id IS 'The slot used; at most one unsettled intent each.';
COMMENT ON COLUMN provision_intents.hostname IS 'Host name asked for.';
COMMENT ON COLUMN provision_intents.state IS 'open: being worked on or interrupted. unresolved: the outcome at the provider is not known. The others are final.';
COMMENT ON COLUMN provision_intents.ambiguous IS 'At least one attempt ended without a known outcome.';
COMMENT ON COLUMN provision_intents.attempts IS 'Calls made to the provider.';
COMMENT ON COLUMN provision_intents.session_id IS 'Who works on it. No reference: intents outlive sessions.';
COMMENT ON COLUMN provision_intents.created_at IS 'When it was committed.';
COMMENT ON COLUMN provision_intents.updated_at IS 'Last change.';
COMMENT ON COLUMN provision_intents.last_error IS 'What went wrong last.';

CREATE TABLE provider_holds (
  provider text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('throttle', 'quota', 'capacity', 'penalty')),
  key text NOT NULL,
  until timestamptz CHECK (isfinite(until)),
  level bigint NOT NULL DEFAULT 1,
  cause text NOT NULL,
  PRIMARY KEY (provider, kind, key)
);
COMMENT ON TABLE provider_holds IS 'What must not be asked of a provider for a while.';
COMMENT ON COLUMN provider_holds.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provider_holds.kind IS 'penalty: a slot on the shelf after a failed creation.';
COMMENT ON COLUMN provider_holds.key IS 'For a penalty the slot id.';
COMMENT ON COLUMN provider_holds.until IS 'Ends by itself then; null: never.';
COMMENT ON COLUMN provider_holds.level IS 'How often in a row; each time doubles the wait.';
COMMENT ON COLUMN provider_holds.cause IS 'Why.';

CREATE TABLE slot_holds (
  provider text NOT NULL,
  slot_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('no-start', 'no-recover', 'no-allocate', 'preserve')),
  set_by text NOT NULL,
  reason text NOT NULL,
  set_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(set_at)),
  until timestamptz CHECK (isfinite(until)),
  PRIMARY KEY (provider, slot_id, kind)
);
COMMENT ON TABLE slot_holds IS 'What people forbid us to do with a physical machine. It changes nothing that is true of it.';
COMMENT ON COLUMN slot_holds.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN slot_holds.slot_id IS 'The physical machine.';
COMMENT ON COLUMN slot_holds.kind IS 'no-start bars agent start, no-recover the ladder, no-allocate creation, preserve reinstall and deprovision.';
COMMENT ON COLUMN slot_holds.set_by IS 'Who.';
COMMENT ON COLUMN slot_holds.reason IS 'Why.';
COMMENT ON COLUMN slot_holds.set_at IS 'Since when.';
COMMENT ON COLUMN slot_holds.until IS 'Ends by itself then; null: never.';

CREATE TABLE slot_events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  provider text NOT NULL,
  slot_id text NOT NULL,
  machine_id uuid,
  at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(at)),
  kind text NOT NULL,
  "from" text,
  "to" text,
  actor text NOT NULL,
  reason text NOT NULL DEFAULT '',
  session_id uuid
);
CREATE INDEX slot_events_slot_idx ON slot_events (provider, slot_id, seq);
CREATE INDEX slot_events_machine_idx ON slot_events (machine_id, seq);
COMMENT ON TABLE slot_events IS 'Append-only log of what happened to a physical machine, written in the transaction that causes it.';
COMMENT ON COLUMN slot_events.seq IS 'Order of writing.';
COMMENT ON COLUMN slot_events.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN slot_events.slot_id IS 'The physical machine.';
COMMENT ON COLUMN slot_events.machine_id IS 'Its tenancy, if it had one.';
COMMENT ON COLUMN slot_events.at IS 'When, by the database clock.';
COMMENT ON COLUMN slot_events.kind IS 'Such as agentStarted, recovered, workFailed, adopted, quarantined.';
COMMENT ON COLUMN slot_events."from" IS 'State before, where one changed.';
COMMENT ON COLUMN slot_events."to" IS 'State after, where one changed.';
COMMENT ON COLUMN slot_events.actor IS 'Who: a component or a person.';
COMMENT ON COLUMN slot_events.reason IS 'Why.';
COMMENT ON COLUMN slot_events.session_id IS 'The session that wrote it.';

CREATE TABLE recovery_permits (
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE,
  provider text NOT NULL,
  location text,
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at))
);
COMMENT ON TABLE recovery_permits IS 'Machines that are being recovered; what the guard''s budget counts, over all daemons.';
COMMENT ON COLUMN recovery_permits.machine_id IS 'The machine.';
COMMENT ON COLUMN recovery_permits.provider IS 'Counted against this provider.';
COMMENT ON COLUMN recovery_permits.location IS 'Counted against this location; null: against none.';
COMMENT ON COLUMN recovery_permits.granted_at IS 'When it was granted.';

CREATE TABLE fleet_guard (
  scope text PRIMARY KEY,
  frozen_at timestamptz CHECK (isfinite(frozen_at)),
  frozen_by text,
  reason text,
  ingest_up_since timestamptz CHECK (isfinite(ingest_up_since)),
  permits_granted bigint NOT NULL DEFAULT 0
);
INSERT INTO fleet_guard (scope) VALUES ('fleet');
COMMENT ON TABLE fleet_guard IS 'Safety of the fleet as a whole and of each provider.';
COMMENT ON COLUMN fleet_guard.scope IS 'fleet, or a provider.';
COMMENT ON COLUMN fleet_guard.frozen_at IS 'No permit is granted while set.';
COMMENT ON COLUMN fleet_guard.frozen_by IS 'Who froze it.';
COMMENT ON COLUMN fleet_guard.reason IS 'Why it is frozen.';
COMMENT ON COLUMN fleet_guard.ingest_up_since IS 'Heartbeats have been taken in without a break since.';
COMMENT ON COLUMN fleet_guard.permits_granted IS 'Updated by every grant, so that grants happen one after the other.';

CREATE TABLE leases (
  name text PRIMARY KEY,
  session_id uuid NOT NULL,
  epoch bigint NOT NULL
);
COMMENT ON TABLE leases IS 'For jobs that one daemon is to do at a time. Nothing takes such a lease yet: what daemons do beside each other today, housekeeping for one, is safe in several at once. Held while the session lives.';
COMMENT ON COLUMN leases.name IS 'The job, such as provisioner/<provider>.';
COMMENT ON COLUMN leases.session_id IS 'Who holds it.';
COMMENT ON COLUMN leases.epoch IS 'Fencing number: new with each holder.';

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
  settled_at timestamptz CHECK (isfinite(settled_at))
);
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

-- Down Migration

DROP TABLE operator_intents, leases, fleet_guard, recovery_permits, slot_events, slot_holds,
  provider_holds, provision_intents;
DROP TYPE intent_state;
