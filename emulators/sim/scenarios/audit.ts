import pg from 'pg';
import type { MemberState } from '../../../src/domain/balancing/members.ts';
import { Unreachable } from '../../../src/domain/errors.ts';

export type Audit = Awaited<ReturnType<typeof openAudit>>;

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
  readonly change: string;
  readonly at: string;
}
export interface PermitPeaks {
  readonly fleet: number;
  readonly byLocation: ReadonlyMap<string, number>;
}

/** Every change of these tables is kept, by the events that their triggers wait for. */
const WATCHED = [
  ['recovery_permits', 'INSERT OR DELETE'],
  ['fleet_guard', 'INSERT OR UPDATE OF frozen_at'],
  ['machine_recovery', 'UPDATE OF cool_down_seconds'],
  ['pool_members', 'INSERT OR UPDATE OF state OR DELETE'],
] as const;

const SCHEMA = `
  CREATE SCHEMA audit;
  CREATE TABLE audit.changes (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL, gone boolean NOT NULL, changed jsonb NOT NULL,
    at timestamptz DEFAULT clock_timestamp());
  CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.changes (source, gone, changed) VALUES (TG_TABLE_NAME, TG_OP = 'DELETE',
      CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END);
    RETURN NULL;
  END $$;
  ${WATCHED.map(
    ([table, events]) =>
      `CREATE TRIGGER audit AFTER ${events} ON ${table} FOR EACH ROW EXECUTE FUNCTION audit.note();`,
  ).join('\n')}`;

const MARK = `
  SELECT (SELECT coalesce(max(seq), 0) FROM slot_events)::text AS event,
    (SELECT coalesce(max(seq), 0) FROM work_history)::text AS work,
    (SELECT coalesce(max(seq), 0) FROM audit.changes)::text AS change,
    clock_timestamp()::text AS at`;
/** Running sums in the order of writing; grants wait for each other, so none is ahead of its time. */
const PEAKS = (scope: string) => `
  SELECT ${scope} AS scope, max(held)::int AS most FROM (
    SELECT location, seq, sum(change) OVER (${scope === 'location' ? 'PARTITION BY location ' : ''}
      ORDER BY seq) AS held FROM (
        SELECT seq, changed->>'location' AS location, CASE WHEN gone THEN -1 ELSE 1 END AS change
        FROM audit.changes WHERE source = 'recovery_permits') permits) tally
  WHERE seq > $1 GROUP BY 1`;
/** Moments at which some scope is frozen, put together. */
const FROZEN = `
  SELECT coalesce(extract(epoch FROM sum(upper(r) - lower(r))), 0)::float8 AS seconds
  FROM unnest((SELECT range_agg(tstzrange(greatest(f.at, $1::timestamptz), f.until))
    FROM (SELECT at, changed->>'frozen_at' AS frozen, coalesce(
        lead(at) OVER (PARTITION BY changed->>'scope' ORDER BY seq), clock_timestamp()) AS until
      FROM audit.changes WHERE source = 'fleet_guard') f
    WHERE f.frozen IS NOT NULL AND f.until > $1::timestamptz)) AS r`;
const COOL_DOWNS = `
  SELECT p.provider_id AS device, (changed->>'cool_down_seconds')::float8 AS seconds
  FROM audit.changes JOIN machine_provided p ON p.machine_id = (changed->>'machine_id')::uuid
  WHERE seq > $1 AND source = 'machine_recovery' AND changed->>'cool_down_seconds' IS NOT NULL
  ORDER BY seq`;
const MEMBERSHIPS = `
  SELECT p.provider_id AS device, changed->>'pool' AS pool, changed->>'balancer' AS balancer,
    CASE WHEN NOT gone THEN changed->>'state' END AS state,
    extract(epoch FROM at)::float8 * 1000 AS "atMs"
  FROM audit.changes JOIN machine_provided p ON p.machine_id = (changed->>'machine_id')::uuid
  WHERE source = 'pool_members' ORDER BY seq`;
const QUARANTINED = `
  SELECT p.provider_id AS device FROM machine_quarantined q
    JOIN machine_provided p USING (machine_id) WHERE q.kind::text = $1`;
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

/**
 * An audit of the database, which no daemon can evade: every permit that was given and taken, every freeze, every
 * cool-down; and reads the logs that daemons write. Triggers write it down in the transaction that causes it.
 * @param url of the owner of the tables. @throws {Unreachable}
 */
export async function openAudit(url: string) {
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
    grouped(await rows<RecoveryRequest>(ASKED, event), ({ rung }) => rung);
  return {
    /** Where the logs are now: what comes later is what the fault brought about. */
    mark: async (): Promise<Mark> => (await rows<{ [Key in keyof Mark]: string }>(MARK))[0]!,
    /** What was asked of each machine since, by device id, in order. */
    askedOf,
    /** What was asked of machines since, by rung. */
    async asked(since: Mark): Promise<Readonly<Record<string, number>>> {
      const rungs = [...(await askedOf(since)).values()].flat();
      const counts: Record<string, number> = {};
      for (const rung of rungs) counts[rung] = (counts[rung] ?? 0) + 1;
      return counts;
    },
    /** Device ids of machines of which any log has a line since, each with the first such line. */
    async noticed({ event, work }: Mark): Promise<ReadonlyMap<string, string>> {
      const found = await rows<{ device: string; line: string }>(NOTICED, event, work);
      return new Map(found.map(({ device, line }) => [device, line]));
    },
    /** Agents whose start was recorded since. */
    async agentStarts({ work }: Mark): Promise<number> {
      const [row] = await rows<{ count: number }>(
        `SELECT count(*)::int AS count FROM work_history WHERE seq > $1
         AND process = 'ShepherdAgentStart' AND event = 'Finished'`,
        work,
      );
      return row!.count;
    },
    /** Permits held at once, at most: in the fleet, and in each location. */
    async permits({ change }: Mark): Promise<PermitPeaks> {
      const [all] = await rows<Peak>(PEAKS(`'fleet'`), change);
      const each = await rows<Peak>(PEAKS('location'), change);
      return {
        fleet: all?.most ?? 0,
        byLocation: new Map(each.map(({ scope, most }) => [scope ?? '', most])),
      };
    },
    frozenSeconds: async ({ at }: Mark) =>
      (await rows<{ seconds: number }>(FROZEN, at))[0]!.seconds,
    /** Cool-downs without their jitter, seconds, in order; by device id. */
    coolDowns: async ({ change }: Mark) =>
      grouped(
        await rows<{ device: string; seconds: number }>(COOL_DOWNS, change),
        ({ seconds }) => seconds,
      ),
    /** What machines were to balancers, from the beginning on, in order; by device id. */
    memberships: async (): Promise<ReadonlyMap<string, readonly Membership[]>> =>
      grouped(
        await rows<Membership & { device: string }>(MEMBERSHIPS),
        ({ device: _, ...membership }) => membership,
      ),
    /** Device ids under quarantine, by kind. */
    async quarantined(kind: string): Promise<ReadonlySet<string>> {
      const found = await rows<{ device: string }>(QUARANTINED, kind);
      return new Set(found.map(({ device }) => device));
    },
    close: () => client.end(),
  };
}

interface RecoveryRequest {
  readonly device: string;
  readonly rung: string;
}
interface Peak {
  readonly scope: string | null;
  readonly most: number;
}

/** What rows tell, by device, in their order. */
const grouped = <Row extends { readonly device: string }, Value>(
  rows: readonly Row[],
  told: (row: Row) => Value,
): ReadonlyMap<string, readonly Value[]> =>
  new Map(
    [...Map.groupBy(rows, ({ device }) => device)].map(([device, own]) => [device, own.map(told)]),
  );
