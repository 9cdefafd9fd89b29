import pg from 'pg';
import type { MemberState } from '../../../src/domain/balancing/members.ts';
import { Unreachable } from '../../../src/domain/errors.ts';

export type Audit = Awaited<ReturnType<typeof openAudit>>;

/** A machine's new state in a pool at a balancer; null: no member. */
export interface Membership {
  readonly pool: string;
  readonly balancer: string;
  readonly state: MemberState | null;
  /** Epoch ms with fractions, before its transaction's commit. */
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

/** Records every change of these tables, by their triggers' events. */
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
/** Running sums in the order of writing. Grants wait for each other, so none is early. */
const PEAKS = (scope: string) => `
  SELECT ${scope} AS scope, max(held)::int AS most FROM (
    SELECT location, seq, sum(change) OVER (${scope === 'location' ? 'PARTITION BY location ' : ''}
      ORDER BY seq) AS held FROM (
        SELECT seq, changed->>'location' AS location, CASE WHEN gone THEN -1 ELSE 1 END AS change
        FROM audit.changes WHERE source = 'recovery_permits') permits) tally
  WHERE seq > $1 GROUP BY 1`;
/** Times at which some scope is frozen, merged. */
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
/** Actions on devices, without silence and return of machines, which nobody causes. */
const NOTICED = `
  SELECT p.provider_id AS device, min(line) AS line FROM (
    SELECT machine_id, kind || ' ' || reason AS line FROM slot_events
      WHERE seq > $1 AND kind NOT IN ('fellSilent', 'heardAgain')
    UNION ALL
    SELECT machine_id, process || ' ' || event FROM work_history WHERE seq > $2) lines
  JOIN machine_provided p USING (machine_id) GROUP BY 1`;
/** For an operator's order, the requester and reason follow the rung. */
const ASKED = `
  SELECT p.provider_id AS device, substring(e.reason FROM '^[a-zA-Z]+') AS rung FROM slot_events e
    JOIN machine_provided p USING (machine_id)
  WHERE e.seq > $1 AND e.kind = 'recoveryAsked' ORDER BY e.seq`;

/**
 * An audit of the database that no daemon can evade: every granted and returned permit, every
 * freeze, every cool-down. It also reads the daemons' logs. Triggers write it in the causing
 * transaction.
 * @param url of the tables' owner. @throws {Unreachable}
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
    /** The logs' present end: later lines are effects of the fault. */
    mark: async (): Promise<Mark> => (await rows<{ [Key in keyof Mark]: string }>(MARK))[0]!,
    /** Requests per machine since the mark, by device id, in order. */
    askedOf,
    /** Number of requests to machines since the mark, by rung. */
    async asked(since: Mark): Promise<Readonly<Record<string, number>>> {
      const rungs = [...(await askedOf(since)).values()].flat();
      const counts: Record<string, number> = {};
      for (const rung of rungs) counts[rung] = (counts[rung] ?? 0) + 1;
      return counts;
    },
    /** Device ids with a log line since the mark, each with its first line. */
    async noticed({ event, work }: Mark): Promise<ReadonlyMap<string, string>> {
      const found = await rows<{ device: string; line: string }>(NOTICED, event, work);
      return new Map(found.map(({ device, line }) => [device, line]));
    },
    /** Recorded agent starts since the mark. */
    async agentStarts({ work }: Mark): Promise<number> {
      const [row] = await rows<{ count: number }>(
        `SELECT count(*)::int AS count FROM work_history WHERE seq > $1
         AND process = 'ShepherdAgentStart' AND event = 'Finished'`,
        work,
      );
      return row!.count;
    },
    /** Maximum number of simultaneous permits: in the fleet, and in each location. */
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
    /** Cool-downs without jitter, seconds, in order; by device id. */
    coolDowns: async ({ change }: Mark) =>
      grouped(
        await rows<{ device: string; seconds: number }>(COOL_DOWNS, change),
        ({ seconds }) => seconds,
      ),
    /** Machines' states at balancers from the start, in order; by device id. */
    memberships: async (): Promise<ReadonlyMap<string, readonly Membership[]>> =>
      grouped(
        await rows<Membership & { device: string }>(MEMBERSHIPS),
        ({ device: _, ...membership }) => membership,
      ),
    /** Device ids of quarantined machines, by kind. */
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

/** The rows' values by device, in order. */
const grouped = <Row extends { readonly device: string }, Value>(
  rows: readonly Row[],
  told: (row: Row) => Value,
): ReadonlyMap<string, readonly Value[]> =>
  new Map(
    [...Map.groupBy(rows, ({ device }) => device)].map(([device, own]) => [device, own.map(told)]),
  );
