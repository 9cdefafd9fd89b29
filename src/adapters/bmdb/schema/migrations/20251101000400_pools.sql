-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Machines to which a load balancer may be sending traffic, so that nobody interrupts one before
-- the balancer has drained it.

CREATE TABLE pool_members ( -- Machines as members of a pool at a balancer. A row is written before traffic starts, and becomes drained only after the balancer has drained the member: a machine with a row that may serve is not interrupted.
  pool text NOT NULL, -- Configured name of the pool.
  balancer text NOT NULL, -- Configured name of the balancer.
  machine_id uuid NOT NULL REFERENCES machines ON DELETE CASCADE, -- The machine.
  state text NOT NULL CHECK (state IN ('joining', 'warming', 'active', 'draining', 'drained')), -- joining: the balancer's servers are being created. warming: they are being checked. active: gets traffic. draining: gets no new connections. drained: the balancer has drained it.
  since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(since)), -- Start of this state.
  deadline timestamptz CHECK (isfinite(deadline)), -- While draining: when the remaining connections are cut. Otherwise null.
  how text CHECK (how IN ('no-sessions', 'grace', 'forced', 'gone')), -- How it was drained. Null unless drained.
  waived boolean NOT NULL DEFAULT false, -- The machine may be interrupted without a drain: its balancer cannot be reached, and the pool's drain policy is best-effort.
  refused boolean NOT NULL DEFAULT false, -- The member cannot be drained for the reason in the note; an order that waits for the drain is refused.
  note text, -- Why it cannot be drained, or what is wrong with it, for people; null: nothing.
  sessions bigint CHECK (sessions >= 0), -- Connections at the last write; null: unknown.
  PRIMARY KEY (pool, balancer, machine_id),
  CONSTRAINT pool_members_draining_check CHECK ((state = 'draining') = (deadline IS NOT NULL)),
  CONSTRAINT pool_members_drained_check CHECK ((state = 'drained') = (how IS NOT NULL))
);
CREATE INDEX pool_members_machine_id_idx ON pool_members (machine_id);

CREATE TABLE pools ( -- State of each pool at each balancer, for the next daemon with the balancer's job and for people.
  pool text NOT NULL, -- Configured name of the pool.
  balancer text NOT NULL, -- Configured name of the balancer.
  state text NOT NULL DEFAULT 'retrieving', -- What the daemon with the balancer's job was doing at its last write.
  generation bigint NOT NULL DEFAULT 0 CHECK (generation >= 0), -- Number of changes of the desired state.
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0), -- Consecutive failed runs.
  retry_at timestamptz CHECK (isfinite(retry_at)), -- No request to the balancer for this pool before this time; null: at once.
  reason text, -- Reason of the state, for people; null: none.
  settled_at timestamptz CHECK (isfinite(settled_at)), -- When the whole pool was last seen in its desired state; null: never.
  observed_at timestamptz CHECK (isfinite(observed_at)), -- When the pool was last read from the balancer; null: never.
  frozen_at timestamptz CHECK (isfinite(frozen_at)), -- Since when the panic guard prevents the removal of members; null: it does not.
  frozen_reason text, -- Reason of the freeze, for people.
  frozen_snapshot text, -- Observation of the panic guard, in its own words.
  accepted_at timestamptz CHECK (isfinite(accepted_at)), -- When an operator accepted that observation; null: never.
  accepted_by text, -- Operator that accepted it.
  paused_at timestamptz CHECK (isfinite(paused_at)), -- Since when an operator's pause forbids changes at the balancer; null: no pause.
  paused_by text, -- Operator that paused it.
  pause_reason text, -- Reason of the pause.
  torn_down_at timestamptz CHECK (isfinite(torn_down_at)), -- Since when the pool is to be removed from the balancer; null: it is to exist.
  torn_down_by text, -- Operator that requested the removal.
  tear_down_reason text, -- Reason of the removal.
  made_as text, -- The uid and the last part of the names of its objects at the balancer; null: none were created yet.
  PRIMARY KEY (pool, balancer),
  CONSTRAINT pools_frozen_check CHECK (num_nulls(frozen_at, frozen_reason, frozen_snapshot) IN (0, 3)),
  CONSTRAINT pools_accepted_check CHECK (num_nulls(accepted_at, accepted_by) IN (0, 2)
    AND (accepted_at IS NULL OR frozen_at IS NOT NULL)),
  CONSTRAINT pools_paused_check CHECK (num_nulls(paused_at, paused_by, pause_reason) IN (0, 3)),
  CONSTRAINT pools_torn_down_check CHECK (num_nulls(torn_down_at, torn_down_by, tear_down_reason) IN (0, 3))
);

-- Down Migration

DROP TABLE pools, pool_members;
