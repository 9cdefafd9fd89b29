-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Slots (physical machines, whatever runs on them), providers, and the fleet guard.

CREATE TYPE intent_state AS ENUM ('open', 'adopted', 'failed', 'unresolved', 'abandoned');
CREATE TABLE provision_intents ( -- Committed before a device is created, so that after any crash the device is found and adopted, and never leaked.
  witness uuid PRIMARY KEY, -- Creation key: also a tag of the device at the provider.
  machine_id uuid NOT NULL UNIQUE, -- Id of the future machine.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The slot; at most one unsettled intent each.
  hostname text NOT NULL, -- Requested host name.
  state intent_state NOT NULL DEFAULT 'open', -- open: in work or interrupted. unresolved: the outcome at the provider is unknown. The others are final.
  ambiguous boolean NOT NULL DEFAULT false, -- At least one attempt ended with an unknown outcome.
  attempts bigint NOT NULL DEFAULT 0, -- Number of calls to the provider.
  session_id uuid NOT NULL, -- Session that works on the intent. Not a foreign key: intents outlive sessions.
  created_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(created_at)), -- Time of the commit.
  updated_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(updated_at)), -- Last change.
  last_error text, -- Last error.
  empty_since timestamptz CHECK (isfinite(empty_since)) -- Since when complete listings and searches have not found the device; null: no search yet, or found since.
);
CREATE UNIQUE INDEX provision_intents_unsettled_key
  ON provision_intents (provider, slot_id) WHERE state IN ('open', 'unresolved');
CREATE INDEX provision_intents_settled_idx ON provision_intents (updated_at, witness)
  WHERE state NOT IN ('open', 'unresolved');

CREATE TABLE provider_holds ( -- Limits on requests to a provider for a while.
  provider text NOT NULL, -- Configured name of the provider.
  kind text NOT NULL CHECK (kind IN ('throttle', 'quota', 'capacity', 'penalty')), -- throttle: a kind of call. quota: creations beyond a number of machines. capacity: creations of a plan, a group of plans, or all. penalty: creations on a slot after a failed one.
  key text NOT NULL, -- throttle: the kind of call. quota: machines. capacity: all, group … or plan …. penalty: the slot id.
  until timestamptz CHECK (isfinite(until)), -- End of the hold; null: none. The row stays for another day (a penalty: until its slot proves itself), so that the next hold of its kind is longer.
  level bigint NOT NULL DEFAULT 1, -- Consecutive holds; each doubles the wait.
  cause text NOT NULL, -- Reason.
  amount bigint, -- Quota: no creation while the provider has this many machines.
  PRIMARY KEY (provider, kind, key)
);

CREATE TABLE slot_holds ( -- What operators forbid Shepherd to do with a physical machine. A hold changes no facts about the machine.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  kind text NOT NULL CHECK (kind IN ('no-start', 'no-recover', 'no-allocate', 'preserve', 'no-serve')), -- no-start bars agent start, no-recover the ladder, no-allocate creation, preserve reinstallation and deprovision, no-serve membership in pools.
  set_by text NOT NULL, -- Person that set it.
  reason text NOT NULL, -- Reason.
  set_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(set_at)), -- Time of the hold.
  until timestamptz CHECK (isfinite(until)), -- When the hold ends by itself; null: never.
  force boolean NOT NULL DEFAULT false, -- For no-serve: drain the machine even if fewer active members stay than the pool requires.
  PRIMARY KEY (provider, slot_id, kind)
);
CREATE INDEX slot_holds_until_idx ON slot_holds (until) WHERE until IS NOT NULL;

CREATE TABLE slot_events ( -- Append-only log of what happened to a physical machine, written in the transaction of the cause.
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Order of writing.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  machine_id uuid, -- Machine on the slot at that time; null: none.
  at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(at)), -- By the database clock.
  kind text NOT NULL, -- For example agentStarted, recovered, workFailed, adopted, quarantined.
  "from" text, -- State before, if it changed.
  "to" text, -- State after, if it changed.
  actor text NOT NULL, -- Component or person that caused it.
  reason text NOT NULL DEFAULT '', -- Reason.
  session_id uuid -- Session that wrote it.
);
CREATE INDEX slot_events_slot_idx ON slot_events (provider, slot_id, seq);
CREATE INDEX slot_events_machine_idx ON slot_events (machine_id, seq);

CREATE TABLE recovery_permits ( -- Machines under recovery, as the guard's budget counts them over all daemons.
  machine_id uuid PRIMARY KEY REFERENCES machines ON DELETE CASCADE, -- The machine.
  provider text NOT NULL, -- Counted against this provider.
  location text, -- Counted against this location; null: none.
  granted_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(granted_at)) -- Time of the grant.
);

CREATE TABLE fleet_guard ( -- Recovery safety of the fleet as a whole and of each provider.
  scope text PRIMARY KEY, -- fleet, or a provider's name.
  frozen_at timestamptz CHECK (isfinite(frozen_at)), -- Time of the freeze; while set, no permit is granted.
  frozen_by text, -- Component or person that froze it.
  reason text, -- Reason of the freeze.
  ingest_up_since timestamptz CHECK (isfinite(ingest_up_since)), -- Fleet only: since when heartbeats have arrived without a break.
  permits_granted bigint NOT NULL DEFAULT 0, -- Every grant updates it, which serializes grants.
  frozen_kind text CHECK (frozen_kind IN ('manual', 'silence', 'probes')), -- silence: too many machines fell silent together. probes: too many cannot be reached. Both end by themselves; manual ends only by an operator.
  calm_since timestamptz CHECK (isfinite(calm_since)), -- While frozen: since when few enough machines are silent; null: too many are.
  thawed_at timestamptz CHECK (isfinite(thawed_at)), -- Time at which an operator thawed it; silence from before causes no further freeze.
  CHECK ((frozen_at IS NULL) = (frozen_kind IS NULL))
);
INSERT INTO fleet_guard (scope) VALUES ('fleet');

CREATE TABLE leases ( -- Jobs that only one daemon may do at a time. A lease counts only while its session is alive; a holder locks the row before it writes.
  name text PRIMARY KEY, -- Name of the job, for example provisioner/<provider>.
  session_id uuid NOT NULL, -- Session that holds the job.
  epoch bigint NOT NULL -- Fencing number: new for each holder.
);

CREATE TABLE guard_pulse ( -- What the guard writes continuously; separate, so that it wakes nobody.
  single boolean PRIMARY KEY DEFAULT true CHECK (single), -- Always true: one row only.
  ingest_seen_at timestamptz CHECK (isfinite(ingest_seen_at)), -- Last time at which a daemon recorded that heartbeats arrive.
  ingest_lost_at timestamptz CHECK (isfinite(ingest_lost_at)), -- Last such time before the latest break; null: no break is known.
  assessed_at timestamptz CHECK (isfinite(assessed_at)), -- Time of the last assessment of the fleet.
  counts jsonb NOT NULL DEFAULT '[]' -- Counts of that assessment.
);
INSERT INTO guard_pulse DEFAULT VALUES;

CREATE TABLE provider_listings ( -- Providers that a daemon cannot list now; no row: it can.
  provider text NOT NULL, -- Configured name of the provider.
  session_id uuid NOT NULL, -- Session of the failing daemon. Not a foreign key: the row of a dead session tells its successor since when listings fail.
  failing_since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(failing_since)), -- First of the unbroken failures, including those of earlier daemons.
  cause text NOT NULL, -- Why the last listing failed.
  PRIMARY KEY (provider, session_id)
);

CREATE TABLE provider_records ( -- Marks and memory of drivers, by configured provider. Rows stay when the provider is no longer configured, because the devices are still at the vendor.
  provider text NOT NULL, -- Configured name of the provider.
  key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200), -- Chosen by the driver.
  value json NOT NULL CHECK (octet_length(value::text) <= 16384), -- Opaque except to the driver.
  version text NOT NULL, -- New with each write, chosen by the writer. A change names the version that it read, and is refused if the row has another one.
  PRIMARY KEY (provider, key)
);

CREATE TABLE controller_resets ( -- The last reset of each controller (BMC) for recovery. A controller may serve several machines, and outlives them.
  provider text NOT NULL, -- Configured name of the provider.
  controller text NOT NULL, -- The provider's name for the controller.
  machine_id uuid NOT NULL, -- The machine under recovery.
  asked_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(asked_at)), -- Written before the request to the provider.
  PRIMARY KEY (provider, controller)
);

-- Down Migration

DROP TABLE controller_resets, provider_records, provider_listings, guard_pulse, leases,
  fleet_guard, recovery_permits, slot_events, slot_holds, provider_holds, provision_intents;
DROP TYPE intent_state;
