import { beforeEach } from 'vitest';
import { silentMetrics, type Metrics } from '../../../../src/adapters/metrics/port.ts';
import type { HeartbeatRecord, HeartbeatStore } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { KEY, startedAt } from '../../../contracts/bmdb-rows.ts';
import { claimStand } from './claim-stand.ts';
import type { ClaimStand } from './claim-stand.ts';
import type { PgServer } from './pg-harness.ts';

/** Two agent servers on one database, empty for each test. */
export interface BeatStand extends ClaimStand {
  /**
   * For both servers: `executed`, `retried` or `failed` heartbeat transactions since the test
   * began.
   */
  readonly transactions: string[];
  /** Counted ends of installations since the test began. */
  readonly installations: string[];
  send(records: readonly HeartbeatRecord[]): Promise<HeartbeatOutcome[]>;
  /** The result of a single heartbeat. */
  beat(id: MachineId, change?: Partial<HeartbeatRecord>): Promise<HeartbeatOutcome>;
  /** One stored heartbeat row. */
  stored(id: MachineId): Promise<StoredBeat | undefined>;
}
type HeartbeatOutcome = Awaited<ReturnType<HeartbeatStore['recordHeartbeats']>>[number];
interface StoredBeat {
  readonly at: number;
  readonly boot_id: string | null;
  readonly count: number;
}

/** See `claimStand`. Agents were started a minute ago, unless the test states otherwise. */
export function beatStand(lockTimeoutMs?: number, start?: () => Promise<PgServer>): BeatStand {
  const transactions: string[] = [];
  const installations: string[] = [];
  const metrics: Metrics = {
    ...silentMetrics,
    count: (name, labels: Readonly<Record<string, string>>) => {
      const [, outcome] = /^bmdb_transaction_(\w+)$/.exec(name) ?? [];
      if (outcome !== undefined && labels['processor'] === 'bmsrv') transactions.push(outcome);
      if (name === 'shepherd_installations_total') installations.push(labels['result']!);
    },
  };
  const usual = () => startedAt(Date.now() - 60_000);
  const stand = claimStand(lockTimeoutMs, { metrics, usual, ...(start && { start }) });
  beforeEach(() => {
    transactions.length = 0;
    installations.length = 0;
  });
  const send = (records: readonly HeartbeatRecord[]) =>
    stand.bmdb.heartbeats.recordHeartbeats(records);
  return Object.assign(stand, {
    transactions,
    installations,
    send,
    beat: async (id: MachineId, change: Partial<HeartbeatRecord> = {}) =>
      (await send([recordOf(id, change)]))[0]!,
    stored: async (id: MachineId) => (await stand.sql<StoredBeat & object>(STORED, [id]))[0],
  });
}
const STORED = `
  SELECT extract(epoch FROM agent_heartbeat_at)::float8 * 1000 AS at, boot_id,
    unbroken_count::int AS count
  FROM machine_agent_heartbeat WHERE machine_id = $1`;

/** The report of the machine's agent. */
export const recordOf = (
  id: MachineId,
  change: Partial<HeartbeatRecord> = {},
): HeartbeatRecord => ({ machineId: id, publicKey: KEY, bootId: null, ...change });
