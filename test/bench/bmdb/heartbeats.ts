import pg from 'pg';
import { BATCHES_IN_FLIGHT } from '../../../src/adapters/agents/heartbeat-service.ts';
import type { Bmdb } from '../../../src/adapters/bmdb/port.ts';
import type { HeartbeatRecord } from '../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { measureRate, shares, shuffled } from '../measure.ts';
import { publicKeyOf } from './fleet.ts';

/** As the agent server batches them (`src/daemon/tuning.ts`). */
const BATCH = 500;

interface BeatOptions {
  readonly machines: readonly MachineId[];
  readonly warmMs: number;
  readonly spanMs: number;
}

/**
 * Heartbeats per second through the store, in batches of agents that report in random order, with
 * as many in flight as the agent server's intake allows.
 */
export async function measureHeartbeats(
  options: BeatOptions & { readonly bmdb: Bmdb },
): Promise<number> {
  const records = options.machines.map((id): HeartbeatRecord => ({
    machineId: id,
    publicKey: publicKeyOf(id),
    bootId: id,
  }));
  return measureBatches(options, BATCHES_IN_FLIGHT, records, async (batch) => {
    const outcomes = await options.bmdb.heartbeats.recordHeartbeats(batch);
    const refused = outcomes.find((outcome) => outcome.kind !== 'accepted');
    if (refused) throw new Error(`a heartbeat was ${refused.kind}`);
  });
}

const TABLE = 'bench_heartbeat';
const UPSERT = `
  INSERT INTO ${TABLE} AS h (machine_id, agent_heartbeat_at, boot_id)
  SELECT b.machine_id, now(), b.boot_id FROM unnest($1::uuid[], $2::text[]) AS b (machine_id, boot_id)
  ON CONFLICT (machine_id) DO UPDATE
  SET agent_heartbeat_at = excluded.agent_heartbeat_at, boot_id = excluded.boot_id`;

/**
 * Rows per second of the same write by hand: one prepared statement without checks, into a table
 * like that of the heartbeats. The better result of one and two in flight.
 */
export async function measureUpsertFloor(
  options: BeatOptions & { readonly url: string; readonly sql: pg.Pool },
): Promise<number> {
  const { sql, machines } = options;
  await sql.query(`DROP TABLE IF EXISTS ${TABLE}`);
  await sql.query(`CREATE TABLE ${TABLE} (LIKE machine_agent_heartbeat INCLUDING ALL)`);
  await sql.query(
    `INSERT INTO ${TABLE} (machine_id, agent_heartbeat_at) SELECT id, now()
     FROM unnest($1::uuid[]) id`,
    [machines],
  );
  await sql.query(`VACUUM (ANALYZE) ${TABLE}`);
  const clients = [1, 2].map(() => new pg.Client({ connectionString: options.url }));
  try {
    await Promise.all(clients.map((client) => client.connect()));
    const rates: number[] = [];
    for (const inFlight of [1, 2]) {
      const rate = await measureBatches(options, inFlight, machines, (batch, caller) =>
        clients[caller]!.query({ name: 'upsert', text: UPSERT, values: [batch, batch] }),
      );
      rates.push(rate);
    }
    return Math.max(...rates);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** Each caller cycles through its items, in random order each time. @returns items per second. */
async function measureBatches<Item>(
  { warmMs, spanMs }: BeatOptions,
  callers: number,
  items: readonly Item[],
  write: (batch: readonly Item[], caller: number) => Promise<unknown>,
): Promise<number> {
  const mine = shares(items, callers);
  const waiting: Item[][][] = mine.map(() => []);
  const { perSecond } = await measureRate({
    callers,
    warmMs,
    spanMs,
    once: async (caller) => {
      const queue = waiting[caller]!;
      if (queue.length === 0) queue.push(...batchesOf(shuffled(mine[caller]!)));
      await write(queue.pop()!, caller);
      return true;
    },
  });
  return perSecond * BATCH;
}

const batchesOf = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.floor(items.length / BATCH) }, (_, at) =>
    items.slice(at * BATCH, (at + 1) * BATCH),
  );
