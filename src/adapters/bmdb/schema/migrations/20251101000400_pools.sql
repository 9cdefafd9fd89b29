-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Which machines a load balancer may be sending traffic to, so that nobody interrupts one of them
-- before the balancer let it go.

CREATE TABLE pool_members (
  pool text NOT NULL,
  balancer text NOT NULL,
  machine_id uuid NOT NULL REFERENCES machines ON DELETE CASCADE,
  state text NOT NULL CHECK (state IN ('joining', 'warming', 'active', 'draining', 'drained')),
  since timestamptz NOT NULL DEFAULT now() CHECK (isfinite(since)),
  deadline timestamptz CHECK (isfinite(deadline)),
  how text CHECK (how IN ('no-sessions', 'grace', 'forced', 'gone')),
  waived boolean NOT NULL DEFAULT false,
  refused boolean NOT NULL DEFAULT false,
  note text,
  sessions bigint CHECK (sessions >= 0),
  PRIMARY KEY (pool, balancer, machine_id),
  CONSTRAINT pool_members_draining_check CHECK ((state = 'draining') = (deadline IS NOT NULL)),
  CONSTRAINT pool_members_drained_check CHECK ((state = 'drained') = (how IS NOT NULL))
);
CREATE INDEX pool_members_machine_id_idx ON pool_members (machine_id);
COMMENT ON TABLE pool_members IS 'Machines as members of a pool at a balancer. Written before traffic is let in, and drained only after the balancer let go: while a row may serve, its machine is not interrupted.';
COMMENT ON COLUMN pool_members.pool IS 'Configured name of the pool.';
COMMENT ON COLUMN pool_members.balancer IS 'Configured name of the balancer.';
COMMENT ON COLUMN pool_members.machine_id IS 'The machine; the row goes with it.';
COMMENT ON COLUMN pool_members.state IS 'joining: its servers are being made. warming: they are checked. active: it gets traffic. draining: it gets no new connections. drained: the balancer let it go.';
COMMENT ON COLUMN pool_members.since IS 'In this state since.';
COMMENT ON COLUMN pool_members.deadline IS 'While draining: connections that are left then are cut. Else null.';
COMMENT ON COLUMN pool_members.how IS 'Once drained: how it came to it. Else null.';
COMMENT ON COLUMN pool_members.waived IS 'It may be interrupted though it was not drained: its balancer cannot be reached, and the pool does not insist.';
COMMENT ON COLUMN pool_members.refused IS 'It is not let go, for the reason that the note gives: an order that waits for it is refused.';
COMMENT ON COLUMN pool_members.note IS 'Why it is not let go, or what is wrong with it, for people; null: nothing.';
COMMENT ON COLUMN pool_members.sessions IS 'Connections that it had when the row was written last; null: not known.';

CREATE TABLE pools (
  pool text NOT NULL,
  balancer text NOT NULL,
  state text NOT NULL DEFAULT 'retrieving',
  generation bigint NOT NULL DEFAULT 0 CHECK (generation >= 0),
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0),
  retry_at timestamptz CHECK (isfinite(retry_at)),
  reason text,
  settled_at timestamptz CHECK (isfinite(settled_at)),
  observed_at timestamptz CHECK (isfinite(observed_at)),
  frozen_at timestamptz CHECK (isfinite(frozen_at)),
  frozen_reason text,
  frozen_snapshot text,
  accepted_at timestamptz CHECK (isfinite(accepted_at)),
  accepted_by text,
  paused_at timestamptz CHECK (isfinite(paused_at)),
  paused_by text,
  pause_reason text,
  torn_down_at timestamptz CHECK (isfinite(torn_down_at)),
  torn_down_by text,
  tear_down_reason text,
  made_as text,
  PRIMARY KEY (pool, balancer),
  CONSTRAINT pools_frozen_check CHECK (num_nulls(frozen_at, frozen_reason, frozen_snapshot) IN (0, 3)),
  CONSTRAINT pools_accepted_check CHECK (num_nulls(accepted_at, accepted_by) IN (0, 2)
    AND (accepted_at IS NULL OR frozen_at IS NOT NULL)),
  CONSTRAINT pools_paused_check CHECK (num_nulls(paused_at, paused_by, pause_reason) IN (0, 3)),
  CONSTRAINT pools_torn_down_check CHECK (num_nulls(torn_down_at, torn_down_by, tear_down_reason) IN (0, 3))
);
COMMENT ON TABLE pools IS 'How each pool stands at each balancer, for whoever tends it next and for people.';
COMMENT ON COLUMN pools.pool IS 'Configured name of the pool.';
COMMENT ON COLUMN pools.balancer IS 'Configured name of the balancer.';
COMMENT ON COLUMN pools.state IS 'What the daemon that tends it was doing when it wrote last.';
COMMENT ON COLUMN pools.generation IS 'Of what is desired: one more with each change of it.';
COMMENT ON COLUMN pools.failures IS 'Runs in a row that failed.';
COMMENT ON COLUMN pools.retry_at IS 'Nothing is asked of the balancer for it before; null: at once.';
COMMENT ON COLUMN pools.reason IS 'Why it is in that state, for people; null: nothing to say.';
COMMENT ON COLUMN pools.settled_at IS 'When all of it was last seen to be as desired; null: never yet.';
COMMENT ON COLUMN pools.observed_at IS 'When it was last read from the balancer; null: never yet.';
COMMENT ON COLUMN pools.frozen_at IS 'Since when the panic guard keeps members from being dropped; null: it does not.';
COMMENT ON COLUMN pools.frozen_reason IS 'Why, for people.';
COMMENT ON COLUMN pools.frozen_snapshot IS 'What the panic guard saw, in its own words.';
COMMENT ON COLUMN pools.accepted_at IS 'When an operator accepted what the panic guard saw; null: nobody did.';
COMMENT ON COLUMN pools.accepted_by IS 'Who accepted it.';
COMMENT ON COLUMN pools.paused_at IS 'Since when nothing is changed at the balancer, because somebody asked for that; null: it is.';
COMMENT ON COLUMN pools.paused_by IS 'Who asked for the pause.';
COMMENT ON COLUMN pools.pause_reason IS 'Why.';
COMMENT ON COLUMN pools.torn_down_at IS 'Since when all of it is to be removed from the balancer; null: it is to be there.';
COMMENT ON COLUMN pools.torn_down_by IS 'Who asked for that.';
COMMENT ON COLUMN pools.tear_down_reason IS 'Why.';
COMMENT ON COLUMN pools.made_as IS 'The uid and the last part of the names that its objects have there; null: it was not tended yet.';

-- Down Migration

DROP TABLE pools, pool_members;
