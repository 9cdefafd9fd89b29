-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Slots (physical machines, whatever runs on them), providers, and the fleet guard.

CREATE TYPE intent_state AS ENUM ('open', 'adopted', 'failed', 'unresolved', 'abandoned');
CREATE TABLE provision_intents ( -- Committed before a device is created, so that after any crash the device is found and adopted, never leaked.
  witness uuid PRIMARY KEY, -- Tag of the device at the provider.
  machine_id uuid NOT NULL UNIQUE, -- The machine it becomes.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The slot used; at most one unsettled intent each.
  hostname text NOT NULL, -- Host name asked for.
  state intent_state NOT NULL DEFAULT 'open', -- open: being worked on or interrupted. unresolved: the outcome at the provider is not known. The others are final.
  ambiguous boolean NOT NULL DEFAULT false, -- At least one attempt ended without a known outcome.
  attempts bigint NOT NULL DEFAULT 0, -- Calls made to the provider.
  session_id uuid NOT NULL, -- Who works on it. No reference: intents outlive sessions.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- When it was committed.
  updated_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(updated_at)), -- Last change.
  last_error text, -- What went wrong last.
  empty_since timestamptz CHECK (isfinite(empty_since)) -- Since when complete listings and searches have not found its device; null: not looked yet, or seen since.
);
CREATE UNIQUE INDEX provision_intents_unsettled_key
  ON provision_intents (provider, slot_id) WHERE state IN ('open', 'unresolved');
CREATE INDEX provision_intents_settled_idx ON provision_intents (updated_at, witness)
  WHERE state NOT IN ('open', 'unresolved');

CREATE TABLE provider_holds ( -- What must not be asked of a provider for a while.
  provider text NOT NULL, -- Configured name of the provider.
  kind text NOT NULL CHECK (kind IN ('throttle', 'quota', 'capacity', 'penalty')), -- throttle: a kind of call. quota: creations beyond an amount of machines. capacity: creations of a plan, a group of plans, or all. penalty: a slot on the shelf after a failed creation.
  key text NOT NULL, -- The kind of call; machines; all, group … or plan …; or the slot id.
  until timestamptz CHECK (isfinite(until)), -- Ends then; null: never. Kept for a day more (a penalty: until its slot proves itself), so that the next one of its kind is longer.
  level bigint NOT NULL DEFAULT 1, -- How often in a row; each time doubles the wait.
  cause text NOT NULL, -- Why.
  amount bigint, -- Of a quota: no creation while there are so many machines.
  PRIMARY KEY (provider, kind, key)
);

CREATE TABLE slot_holds ( -- What people forbid us to do with a physical machine. It changes nothing that is true of it.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  kind text NOT NULL CHECK (kind IN ('no-start', 'no-recover', 'no-allocate', 'preserve', 'no-serve')), -- no-start bars agent start, no-recover the ladder, no-allocate creation, preserve reinstall and deprovision, no-serve being a member of a pool.
  set_by text NOT NULL, -- Who.
  reason text NOT NULL, -- Why.
  set_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(set_at)), -- Since when.
  until timestamptz CHECK (isfinite(until)), -- Ends by itself then; null: never.
  force boolean NOT NULL DEFAULT false, -- Of no-serve: it is taken out though fewer members stay active than the pool is to have.
  PRIMARY KEY (provider, slot_id, kind)
);
CREATE INDEX slot_holds_until_idx ON slot_holds (until) WHERE until IS NOT NULL;

CREATE TABLE slot_events ( -- Append-only log of what happened to a physical machine, written in the transaction that causes it.
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Order of writing.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  machine_id uuid, -- Its tenancy, if it had one.
  at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(at)), -- When, by the database clock.
  kind text NOT NULL, -- Such as agentStarted, recovered, workFailed, adopted, quarantined.
  "from" text, -- State before, where one changed.
  "to" text, -- State after, where one changed.
  actor text NOT NULL, -- Who: a component or a person.
  reason text NOT NULL DEFAULT '', -- Why.
  session_id uuid -- The session that wrote it.
);
CREATE INDEX slot_events_slot_idx ON slot_events (provider, slot_id, seq);
CREATE INDEX slot_events_machine_idx ON slot_events (machine_id, seq);

CREATE TABLE recovery_permits ( -- Machines that are being recovered; what the guard's budget counts, over all daemons.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE, -- The machine.
  provider text NOT NULL, -- Counted against this provider.
  location text, -- Counted against this location; null: against none.
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at)) -- When it was granted.
);

CREATE TABLE fleet_guard ( -- Safety of the fleet as a whole and of each provider.
  scope text PRIMARY KEY, -- fleet, or a provider.
  frozen_at timestamptz CHECK (isfinite(frozen_at)), -- No permit is granted while set.
  frozen_by text, -- Who froze it.
  reason text, -- Why it is frozen.
  ingest_up_since timestamptz CHECK (isfinite(ingest_up_since)), -- Of the fleet: heartbeats have been taken in without a break since.
  permits_granted bigint NOT NULL DEFAULT 0, -- Updated by every grant, so that grants happen one after the other.
  frozen_kind text CHECK (frozen_kind IN ('manual', 'silence', 'probes')), -- silence: too many fell silent together. probes: too many cannot be reached. Both end by themselves; manual only by an operator.
  calm_since timestamptz CHECK (isfinite(calm_since)), -- While frozen: since when few enough are silent; null: too many are.
  thawed_at timestamptz CHECK (isfinite(thawed_at)), -- An operator thawed it: who was silent before freezes nothing any more.
  CHECK ((frozen_at IS NULL) = (frozen_kind IS NULL))
);
INSERT INTO fleet_guard (scope) VALUES ('fleet');

CREATE TABLE leases ( -- Jobs that one daemon is to do at a time. A lease counts only while its session lives; whoever writes as the holder locks the row.
  name text PRIMARY KEY, -- The job, such as provisioner/<provider>.
  session_id uuid NOT NULL, -- Who holds it.
  epoch bigint NOT NULL -- Fencing number: new with each holder.
);

CREATE TABLE guard_pulse ( -- What the guard writes all the time, so that nobody is woken for it.
  single boolean PRIMARY KEY DEFAULT true CHECK (single), -- There is one row.
  ingest_seen_at timestamptz CHECK (isfinite(ingest_seen_at)), -- When some daemon last said that it takes heartbeats in.
  ingest_lost_at timestamptz CHECK (isfinite(ingest_lost_at)), -- The last time before the latest break that one said so; null: none is known.
  assessed_at timestamptz CHECK (isfinite(assessed_at)), -- When the fleet was last looked at.
  counts jsonb NOT NULL DEFAULT '[]' -- What was counted then.
);
INSERT INTO guard_pulse DEFAULT VALUES;

CREATE TABLE provider_listings ( -- Providers that a daemon cannot list now; no row: it can.
  provider text NOT NULL, -- Configured name of the provider.
  session_id uuid NOT NULL, -- The daemon that finds so. No reference: what a session found that is dead since tells its successor since when.
  failing_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(failing_since)), -- First of the unbroken failures, also of daemons before this one.
  cause text NOT NULL, -- Why the last listing failed.
  PRIMARY KEY (provider, session_id)
);

CREATE TABLE provider_records ( -- Marks and memory of drivers, by configured provider. Stays when the provider is no longer configured: what it tells of is still at the vendor.
  provider text NOT NULL, -- Configured name of the provider.
  key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200), -- Chosen by the driver.
  value json NOT NULL CHECK (octet_length(value::text) <= 16384), -- The driver's own; nobody else looks into it.
  version text NOT NULL, -- New with each write, chosen by who writes: a change names the one that it read, and is refused when that is not the row's any more.
  PRIMARY KEY (provider, key)
);

CREATE TABLE controller_resets ( -- The last restart of each controller (BMC) that recovery asked for. A controller may switch several machines, and outlives them.
  provider text NOT NULL, -- Configured name of the provider.
  controller text NOT NULL, -- As the provider calls it.
  machine_id uuid NOT NULL, -- The machine that was to be recovered.
  asked_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(asked_at)), -- Written before the provider is asked.
  PRIMARY KEY (provider, controller)
);

-- Down Migration

DROP TABLE controller_resets, provider_records, provider_listings, guard_pulse, leases,
  fleet_guard, recovery_permits, slot_events, slot_holds, provider_holds, provision_intents;
DROP TYPE intent_state;
