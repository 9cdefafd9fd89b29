import pg from 'pg';
import type { MemberState } from '../../../src/domain/balancing/members.ts';
import { Unreachable } from '../../../src/domain/errors.ts';

/**
 * An audit of the database, which no daemon can evade: every permit that was given
 * and taken, every freeze, every cool-down; and reads the logs that daemons write. Triggers write
 * it down in the transaction that causes it.
 */
export interface Audit {
  /** Where the logs are now: what comes later is what the fault brought about. */
  mark(): Promise<Mark>;
  /** What was asked of machines since, by rung. */
  asked(since: Mark): Promise<Readonly<Record<string, number>>>;
  /** The same of each machine, by device id, in order. */
  askedOf(since: Mark): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Device ids of machines of which any log has a line since, each with the first such line. */
  noticed(since: Mark): Promise<ReadonlyMap<string, string>>;
  /** Agents whose start was recorded since. */
  agentStarts(since: Mark): Promise<number>;
  /** Permits held at once, at most: in the fleet, and in each location. */
  permits(since: Mark): Promise<PermitPeaks>;
  frozenSeconds(since: Mark): Promise<number>;
  /** Cool-downs without their jitter, seconds, in order; by device id. */
  coolDowns(since: Mark): Promise<ReadonlyMap<string, readonly number[]>>;
  /** What machines were to balancers, from the beginning on, in order; by device id. */
  memberships(): Promise<ReadonlyMap<string, readonly Membership[]>>;
  /** Device ids under quarantine, by kind. */
  quarantined(kind: string): Promise<ReadonlySet<string>>;
  close(): Promise<void>;
}

/** A machine became this to a pool at a balancer; null: nothing. */
export interface Membership {
  readonly pool: string;
  readonly balancer: string;
  readonly state: MemberState | null;
  /** Epoch ms with fractions; before the transaction that did it was committed. */
  readonly atMs: number;
}

export interface Mark {
  readonly event: string;
  readonly work: string;
  readonly permit: string;
  readonly coolDown: string;
  readonly at: string;
}
export interface PermitPeaks {
  readonly fleet: number;
  readonly byLocation: ReadonlyMap<string, number>;
}

const SCHEMA = `
  CREATE SCHEMA audit;
  CREATE TABLE audit.permits (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    machine_id uuid NOT NULL, location text, change int NOT NULL);
  CREATE TABLE audit.freezes (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope text NOT NULL, frozen boolean NOT NULL, at timestamptz DEFAULT clock_timestamp());
  CREATE TABLE audit.cool_downs (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    machine_id uuid NOT NULL, seconds bigint NOT NULL);
  CREATE FUNCTION audit.permit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO audit.permits (machine_id, location, change)
      VALUES (NEW.machine_id, NEW.location, 1);
    ELSE
      INSERT INTO audit.permits (machine_id, location, change)
      VALUES (OLD.machine_id, OLD.location, -1);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit AFTER INSERT OR DELETE ON recovery_permits
    FOR EACH ROW EXECUTE FUNCTION audit.permit();
  CREATE FUNCTION audit.freeze() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.freezes (scope, frozen) VALUES (NEW.scope, NEW.frozen_at IS NOT NULL);
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit AFTER INSERT OR UPDATE OF frozen_at ON fleet_guard
    FOR EACH ROW EXECUTE FUNCTION audit.freeze();
  CREATE FUNCTION audit.cool_down() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    IF NEW.cool_down_seconds IS NOT NULL THEN
      INSERT INTO audit.cool_downs (machine_id, seconds)
      VALUES (NEW.machine_id, NEW.cool_down_seconds);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit AFTER UPDATE OF cool_down_seconds ON machine_recovery
    FOR EACH ROW EXECUTE FUNCTION audit.cool_down();
  CREATE TABLE audit.members (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool text NOT NULL, balancer text NOT NULL, machine_id uuid NOT NULL, state text,
    at timestamptz DEFAULT clock_timestamp());
  CREATE FUNCTION audit.member() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
      INSERT INTO audit.members (pool, balancer, machine_id)
      VALUES (OLD.pool, OLD.balancer, OLD.machine_id);
    ELSE
      INSERT INTO audit.members (pool, balancer, machine_id, state)
      VALUES (NEW.pool, NEW.balancer, NEW.machine_id, NEW.state);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER audit AFTER INSERT OR UPDATE OF state OR DELETE ON pool_members
    FOR EACH ROW EXECUTE FUNCTION audit.member();`;

const MARK = `
  SELECT (SELECT coalesce(max(seq), 0) FROM slot_events)::text AS event,
    (SELECT coalesce(max(seq), 0) FROM work_history)::text AS work,
    (SELECT coalesce(max(seq), 0) FROM audit.permits)::text AS permit,
    (SELECT coalesce(max(seq), 0) FROM audit.cool_downs)::text AS "coolDown",
    clock_timestamp()::text AS at`;
/** Running sums in the order of writing; grants wait for each other, so none is ahead of its time. */
const PEAKS = (scope: string) => `
  SELECT ${scope} AS scope, max(held)::int AS most FROM (
    SELECT location, seq, sum(change) OVER (${scope === 'location' ? 'PARTITION BY location ' : ''}
      ORDER BY seq) AS held FROM audit.permits) tally
  WHERE seq > $1 GROUP BY 1`;
/** Moments at which some scope is frozen, put together. */
const FROZEN = `
  SELECT coalesce(extract(epoch FROM sum(upper(r) - lower(r))), 0)::float8 AS seconds
  FROM unnest((SELECT range_agg(tstzrange(greatest(f.at, $1::timestamptz), f.until))
    FROM (SELECT at, frozen, coalesce(lead(at) OVER (PARTITION BY scope ORDER BY seq),
      clock_timestamp()) AS until FROM audit.freezes) f
    WHERE f.frozen AND f.until > $1::timestamptz)) AS r`;
/** What was done to devices; that one falls silent, or is heard again, is done by nobody. */
const NOTICED = `
  SELECT p.provider_id AS device, min(line) AS line FROM (
    SELECT machine_id, kind || ' ' || reason AS line FROM slot_events
      WHERE seq > $1 AND kind NOT IN ('fellSilent', 'heardAgain')
    UNION ALL
    SELECT machine_id, process || ' ' || event FROM work_history WHERE seq > $2) lines
  JOIN machine_provided p USING (machine_id) GROUP BY 1`;
/** Where somebody ordered it, the rung is followed by who, and why. */
const ASKED = `
  SELECT p.provider_id AS device, substring(e.reason FROM '^[a-zA-Z]+') AS rung FROM slot_events e
    JOIN machine_provided p USING (machine_id)
  WHERE e.seq > $1 AND e.kind = 'recoveryAsked' ORDER BY e.seq`;

/** @param url of the owner of the tables. @throws {Unreachable} */
export async function openAudit(url: string): Promise<Audit> {
  const client = new pg.Client({ connectionString: url });
  const broken = new Promise<never>((_resolve, reject) => client.on('error', reject));
  broken.catch(() => undefined);
  const rows = async <Row extends pg.QueryResultRow>(text: string, ...values: string[]) => {
    const asked = client.query<Row>(text, values);
    return (await Promise.race([asked, broken])).rows;
  };
  try {
    await client.connect();
    await client.query(SCHEMA);
  } catch (cause) {
    await client.end();
    throw new Unreachable('the database cannot be watched', { cause });
  }
  const askedOf = async ({ event }: Mark) =>
    grouped(await rows<Asked>(ASKED, event), ({ rung }) => rung);
  return {
    mark: async () => (await rows<{ [Key in keyof Mark]: string }>(MARK))[0]!,
    askedOf,
    async asked(since) {
      const rungs = [...(await askedOf(since)).values()].flat();
      const counts: Record<string, number> = {};
      for (const rung of rungs) counts[rung] = (counts[rung] ?? 0) + 1;
      return counts;
    },
    async noticed({ event, work }) {
      const found = await rows<{ device: string; line: string }>(NOTICED, event, work);
      return new Map(found.map(({ device, line }) => [device, line]));
    },
    async agentStarts({ work }) {
      const [row] = await rows<{ count: number }>(
        `SELECT count(*)::int AS count FROM work_history WHERE seq > $1
         AND process = 'ShepherdAgentStart' AND event = 'Finished'`,
        work,
      );
      return row!.count;
    },
    async permits({ permit }) {
      const [all] = await rows<Peak>(PEAKS(`'fleet'`), permit);
      const each = await rows<Peak>(PEAKS('location'), permit);
      return {
        fleet: all?.most ?? 0,
        byLocation: new Map(each.map(({ scope, most }) => [scope ?? '', most])),
      };
    },
    frozenSeconds: async ({ at }) => (await rows<{ seconds: number }>(FROZEN, at))[0]!.seconds,
    async coolDowns({ coolDown }) {
      const found = await rows<{ device: string; seconds: number }>(
        `SELECT p.provider_id AS device, c.seconds::float8 AS seconds FROM audit.cool_downs c
           JOIN machine_provided p USING (machine_id) WHERE c.seq > $1 ORDER BY c.seq`,
        coolDown,
      );
      return grouped(found, ({ seconds }) => seconds);
    },
    async memberships() {
      const found = await rows<Membership & { device: string }>(
        `SELECT p.provider_id AS device, pool, balancer, state,
           extract(epoch FROM at)::float8 * 1000 AS "atMs"
         FROM audit.members JOIN machine_provided p USING (machine_id) ORDER BY seq`,
      );
      return grouped(found, ({ device: _, ...membership }) => membership);
    },
    async quarantined(kind) {
      const found = await rows<{ device: string }>(
        `SELECT p.provider_id AS device FROM machine_quarantined q
           JOIN machine_provided p USING (machine_id) WHERE q.kind::text = $1`,
        kind,
      );
      return new Set(found.map(({ device }) => device));
    },
    close: () => client.end(),
  };
}

interface Asked {
  readonly device: string;
  readonly rung: string;
}
interface Peak {
  readonly scope: string | null;
  readonly most: number;
}

/** What rows tell, by device, in their order. */
function grouped<Row extends { readonly device: string }, Value>(
  rows: readonly Row[],
  told: (row: Row) => Value,
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>();
  for (const row of rows) {
    const group = groups.get(row.device);
    if (group) group.push(told(row));
    else groups.set(row.device, [told(row)]);
  }
  return groups;
}
