import { beforeEach } from 'vitest';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { silentMetrics, type Metrics } from '../../../../src/adapters/metrics/port.ts';
import type { HeartbeatRecord, HeartbeatStore } from '../../../../src/domain/heartbeat.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { KEY, startedAt } from '../../../contracts/bmdb-rows.ts';
import { addMachine, claimStand, transactionOn, untilBlocked } from './claim-stand.ts';
import type { ClaimStand, HeldOpen } from './claim-stand.ts';
import type { PgServer } from './pg-harness.ts';

/** Two agent servers on one database, empty for each test. */
export interface BeatStand extends ClaimStand {
  /** Of both: `executed`, `retried` or `failed` transactions of heartbeats since the test began. */
  readonly transactions: string[];
  /** Ends of installations that were counted since the test began. */
  readonly installations: string[];
  begin(): Promise<HeldOpen>;
  /** Until so many statements wait for a lock. */
  untilBlocked(count?: number): Promise<unknown>;
  /** With an agent that was started a minute ago, unless something else is said. */
  add(change?: Partial<MachineRow>): Promise<MachineId>;
  /** One row of heartbeats, as it is stored. */
  stored(id: MachineId): Promise<StoredBeat | undefined>;
}
interface StoredBeat {
  readonly at: number;
  readonly boot_id: string | null;
  readonly count: number;
}

/** See `claimStand`. */
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
  const stand = claimStand(lockTimeoutMs, { metrics, ...(start && { start }) });
  beforeEach(() => {
    transactions.length = 0;
    installations.length = 0;
  });
  return Object.assign(stand, {
    transactions,
    installations,
    begin: () => transactionOn(stand),
    untilBlocked: (count = 1) => untilBlocked(stand, count),
    add: (change = startedAt(Date.now() - 60_000)) => addMachine(stand, change),
    stored: async (id: MachineId) =>
      (await stand.server.sql.query<StoredBeat>(STORED, [id])).rows[0],
  });
}

const STORED = `
  SELECT extract(epoch FROM agent_heartbeat_at)::float8 * 1000 AS at, boot_id,
    unbroken_count::int AS count
  FROM machine_agent_heartbeat WHERE machine_id = $1`;

/** What an agent of the machine says. */
export const recordOf = (
  id: MachineId,
  change: Partial<HeartbeatRecord> = {},
): HeartbeatRecord => ({ machineId: id, publicKey: KEY, bootId: null, ...change });

/** Of one heartbeat by itself. */
export const beatOn = async (
  bmdb: Bmdb,
  record: HeartbeatRecord,
): Promise<Awaited<ReturnType<HeartbeatStore['recordHeartbeats']>>[number]> =>
  (await bmdb.heartbeats.recordHeartbeats([record]))[0]!;
