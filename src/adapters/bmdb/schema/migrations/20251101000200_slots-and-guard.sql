-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Slots (physical machines, whatever runs on them), providers, and the fleet guard.

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
  last_error text,
  empty_since timestamptz CHECK (isfinite(empty_since))
);
CREATE UNIQUE INDEX provision_intents_unsettled_key
  ON provision_intents (provider, slot_id) WHERE state IN ('open', 'unresolved');
CREATE INDEX provision_intents_settled_idx ON provision_intents (updated_at, witness)
  WHERE state NOT IN ('open', 'unresolved');
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
COMMENT ON COLUMN provision_intents.empty_since IS 'Since when complete listings and searches have not found its device; null: not looked yet, or seen since.';

CREATE TABLE provider_holds (
  provider text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('throttle', 'quota', 'capacity', 'penalty')),
  key text NOT NULL,
  until timestamptz CHECK (isfinite(until)),
  level bigint NOT NULL DEFAULT 1,
  cause text NOT NULL,
  amount bigint,
  PRIMARY KEY (provider, kind, key)
);
COMMENT ON TABLE provider_holds IS 'What must not be asked of a provider for a while.';
COMMENT ON COLUMN provider_holds.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provider_holds.kind IS 'throttle: a kind of call. quota: creations beyond an amount of machines. capacity: creations of a plan, a group of plans, or all. penalty: a slot on the shelf after a failed creation.';
COMMENT ON COLUMN provider_holds.key IS 'The kind of call; machines; all, group … or plan …; or the slot id.';
COMMENT ON COLUMN provider_holds.until IS 'Ends then; null: never. Kept for a day more (a penalty: until its slot proves itself), so that the next one of its kind is longer.';
COMMENT ON COLUMN provider_holds.level IS 'How often in a row; each time doubles the wait.';
COMMENT ON COLUMN provider_holds.cause IS 'Why.';
COMMENT ON COLUMN provider_holds.amount IS 'Of a quota: no creation while there are so many machines.';

CREATE TABLE slot_holds (
  provider text NOT NULL,
  slot_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('no-start', 'no-recover', 'no-allocate', 'preserve', 'no-serve')),
  set_by text NOT NULL,
  reason text NOT NULL,
  set_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(set_at)),
  until timestamptz CHECK (isfinite(until)),
  force boolean NOT NULL DEFAULT false,
  PRIMARY KEY (provider, slot_id, kind)
);
CREATE INDEX slot_holds_until_idx ON slot_holds (until) WHERE until IS NOT NULL;
COMMENT ON TABLE slot_holds IS 'What people forbid us to do with a physical machine. It changes nothing that is true of it.';
COMMENT ON COLUMN slot_holds.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN slot_holds.slot_id IS 'The physical machine.';
COMMENT ON COLUMN slot_holds.kind IS 'no-start bars agent start, no-recover the ladder, no-allocate creation, preserve reinstall and deprovision, no-serve being a member of a pool.';
COMMENT ON COLUMN slot_holds.set_by IS 'Who.';
COMMENT ON COLUMN slot_holds.reason IS 'Why.';
COMMENT ON COLUMN slot_holds.set_at IS 'Since when.';
COMMENT ON COLUMN slot_holds.until IS 'Ends by itself then; null: never.';
COMMENT ON COLUMN slot_holds.force IS 'Of no-serve: it is taken out though fewer members stay active than the pool is to have.';

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
  permits_granted bigint NOT NULL DEFAULT 0,
  frozen_kind text CHECK (frozen_kind IN ('manual', 'silence', 'probes')),
  calm_since timestamptz CHECK (isfinite(calm_since)),
  thawed_at timestamptz CHECK (isfinite(thawed_at)),
  CHECK ((frozen_at IS NULL) = (frozen_kind IS NULL))
);
INSERT INTO fleet_guard (scope) VALUES ('fleet');
COMMENT ON TABLE fleet_guard IS 'Safety of the fleet as a whole and of each provider.';
COMMENT ON COLUMN fleet_guard.scope IS 'fleet, or a provider.';
COMMENT ON COLUMN fleet_guard.frozen_at IS 'No permit is granted while set.';
COMMENT ON COLUMN fleet_guard.frozen_by IS 'Who froze it.';
COMMENT ON COLUMN fleet_guard.reason IS 'Why it is frozen.';
COMMENT ON COLUMN fleet_guard.ingest_up_since IS 'Of the fleet: heartbeats have been taken in without a break since.';
COMMENT ON COLUMN fleet_guard.permits_granted IS 'Updated by every grant, so that grants happen one after the other.';
COMMENT ON COLUMN fleet_guard.frozen_kind IS 'silence: too many fell silent together. probes: too many cannot be reached. Both end by themselves; manual only by an operator.';
COMMENT ON COLUMN fleet_guard.calm_since IS 'While frozen: since when few enough are silent; null: too many are.';
COMMENT ON COLUMN fleet_guard.thawed_at IS 'An operator thawed it: who was silent before freezes nothing any more.';

CREATE TABLE leases (
  name text PRIMARY KEY,
  session_id uuid NOT NULL,
  epoch bigint NOT NULL
);
COMMENT ON TABLE leases IS 'Jobs that one daemon is to do at a time. A lease counts only while its session lives; whoever writes as the holder locks the row.';
COMMENT ON COLUMN leases.name IS 'The job, such as provisioner/<provider>.';
COMMENT ON COLUMN leases.session_id IS 'Who holds it.';
COMMENT ON COLUMN leases.epoch IS 'Fencing number: new with each holder.';

CREATE TABLE guard_pulse (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  ingest_seen_at timestamptz CHECK (isfinite(ingest_seen_at)),
  ingest_lost_at timestamptz CHECK (isfinite(ingest_lost_at)),
  assessed_at timestamptz CHECK (isfinite(assessed_at)),
  counts jsonb NOT NULL DEFAULT '[]'
);
INSERT INTO guard_pulse DEFAULT VALUES;
COMMENT ON TABLE guard_pulse IS 'What the guard writes all the time, so that nobody is woken for it.';
COMMENT ON COLUMN guard_pulse.single IS 'There is one row.';
COMMENT ON COLUMN guard_pulse.ingest_seen_at IS 'When some daemon last said that it takes heartbeats in.';
COMMENT ON COLUMN guard_pulse.ingest_lost_at IS 'The last time before the latest break that one said so; null: none is known.';
COMMENT ON COLUMN guard_pulse.assessed_at IS 'When the fleet was last looked at.';
COMMENT ON COLUMN guard_pulse.counts IS 'What was counted then.';

CREATE TABLE provider_listings (
  provider text NOT NULL,
  session_id uuid NOT NULL,
  failing_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(failing_since)),
  cause text NOT NULL,
  PRIMARY KEY (provider, session_id)
);
COMMENT ON TABLE provider_listings IS 'Providers that a daemon cannot list now; no row: it can.';
COMMENT ON COLUMN provider_listings.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provider_listings.session_id IS 'The daemon that finds so. No reference: what a session found that is dead since tells its successor since when.';
COMMENT ON COLUMN provider_listings.failing_since IS 'First of the unbroken failures, also of daemons before this one.';
COMMENT ON COLUMN provider_listings.cause IS 'Why the last listing failed.';

CREATE TABLE provider_records (
  provider text NOT NULL,
  key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200),
  value json NOT NULL CHECK (octet_length(value::text) <= 16384),
  version text NOT NULL,
  PRIMARY KEY (provider, key)
);
COMMENT ON TABLE provider_records IS 'Marks and memory of drivers, by configured provider. Stays when the provider is no longer configured: what it tells of is still at the vendor.';
COMMENT ON COLUMN provider_records.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN provider_records.key IS 'Chosen by the driver.';
COMMENT ON COLUMN provider_records.value IS 'The driver''s own; nobody else looks into it.';
COMMENT ON COLUMN provider_records.version IS 'New with each write, chosen by who writes: a change names the one that it read, and is refused when that is not the row''s any more.';

CREATE TABLE controller_resets (
  provider text NOT NULL,
  controller text NOT NULL,
  machine_id uuid NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(asked_at)),
  PRIMARY KEY (provider, controller)
);
COMMENT ON TABLE controller_resets IS 'The last restart of each controller (BMC) that recovery asked for. A controller may switch several machines, and outlives them.';
COMMENT ON COLUMN controller_resets.provider IS 'Configured name of the provider.';
COMMENT ON COLUMN controller_resets.controller IS 'As the provider calls it.';
COMMENT ON COLUMN controller_resets.machine_id IS 'The machine that was to be recovered.';
COMMENT ON COLUMN controller_resets.asked_at IS 'Written before the provider is asked.';

-- Down Migration

DROP TABLE controller_resets, provider_records, provider_listings, guard_pulse, leases,
  fleet_guard, recovery_permits, slot_events, slot_holds, provider_holds, provision_intents;
DROP TYPE intent_state;
