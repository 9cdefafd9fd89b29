-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Machines to which a load balancer may be sending traffic, so that nobody interrupts one before
-- the balancer has drained it.

CREATE TABLE pool_members ( -- Machines as members of a pool at a balancer. Written before traffic is let in, and drained only after the balancer let go: while a row may serve, its machine is not interrupted.
  pool text NOT NULL, -- Configured name of the pool.
  balancer text NOT NULL, -- Configured name of the balancer.
  machine_id uuid NOT NULL REFERENCES machines ON DELETE CASCADE, -- The machine; the row goes with it.
  state text NOT NULL CHECK (state IN ('joining', 'warming', 'active', 'draining', 'drained')), -- joining: its servers are being made. warming: they are checked. active: it gets traffic. draining: it gets no new connections. drained: the balancer let it go.
  since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(since)), -- In this state since.
  deadline timestamptz CHECK (isfinite(deadline)), -- While draining: connections that are left then are cut. Else null.
  how text CHECK (how IN ('no-sessions', 'grace', 'forced', 'gone')), -- Once drained: how it came to it. Else null.
  waived boolean NOT NULL DEFAULT false, -- It may be interrupted though it was not drained: its balancer cannot be reached, and the pool does not insist.
  refused boolean NOT NULL DEFAULT false, -- It is not let go, for the reason that the note gives: an order that waits for it is refused.
  note text, -- Why it is not let go, or what is wrong with it, for people; null: nothing.
  sessions bigint CHECK (sessions >= 0), -- Connections that it had when the row was written last; null: not known.
  PRIMARY KEY (pool, balancer, machine_id),
  CONSTRAINT pool_members_draining_check CHECK ((state = 'draining') = (deadline IS NOT NULL)),
  CONSTRAINT pool_members_drained_check CHECK ((state = 'drained') = (how IS NOT NULL))
);
CREATE INDEX pool_members_machine_id_idx ON pool_members (machine_id);

CREATE TABLE pools ( -- How each pool stands at each balancer, for whoever tends it next and for people.
  pool text NOT NULL, -- Configured name of the pool.
  balancer text NOT NULL, -- Configured name of the balancer.
  state text NOT NULL DEFAULT 'retrieving', -- What the daemon that tends it was doing when it wrote last.
  generation bigint NOT NULL DEFAULT 0 CHECK (generation >= 0), -- Of what is desired: one more with each change of it.
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0), -- Runs in a row that failed.
  retry_at timestamptz CHECK (isfinite(retry_at)), -- Nothing is asked of the balancer for it before; null: at once.
  reason text, -- Why it is in that state, for people; null: nothing to say.
  settled_at timestamptz CHECK (isfinite(settled_at)), -- When all of it was last seen to be as desired; null: never yet.
  observed_at timestamptz CHECK (isfinite(observed_at)), -- When it was last read from the balancer; null: never yet.
  frozen_at timestamptz CHECK (isfinite(frozen_at)), -- Since when the panic guard keeps members from being dropped; null: it does not.
  frozen_reason text, -- Why, for people.
  frozen_snapshot text, -- What the panic guard saw, in its own words.
  accepted_at timestamptz CHECK (isfinite(accepted_at)), -- When an operator accepted what the panic guard saw; null: nobody did.
  accepted_by text, -- Who accepted it.
  paused_at timestamptz CHECK (isfinite(paused_at)), -- Since when nothing is changed at the balancer, because somebody asked for that; null: it is.
  paused_by text, -- Who asked for the pause.
  pause_reason text, -- Why.
  torn_down_at timestamptz CHECK (isfinite(torn_down_at)), -- Since when all of it is to be removed from the balancer; null: it is to be there.
  torn_down_by text, -- Who asked for that.
  tear_down_reason text, -- Why.
  made_as text, -- The uid and the last part of the names that its objects have there; null: it was not tended yet.
  PRIMARY KEY (pool, balancer),
  CONSTRAINT pools_frozen_check CHECK (num_nulls(frozen_at, frozen_reason, frozen_snapshot) IN (0, 3)),
  CONSTRAINT pools_accepted_check CHECK (num_nulls(accepted_at, accepted_by) IN (0, 2)
    AND (accepted_at IS NULL OR frozen_at IS NOT NULL)),
  CONSTRAINT pools_paused_check CHECK (num_nulls(paused_at, paused_by, pause_reason) IN (0, 3)),
  CONSTRAINT pools_torn_down_check CHECK (num_nulls(torn_down_at, torn_down_by, tear_down_reason) IN (0, 3))
);

-- Down Migration

DROP TABLE pools, pool_members;
