import type { AcceptanceReport, AcceptanceRequest } from '../../src/domain/acceptance.ts';
import { timingSafeEqual } from 'node:crypto';
import { Unreachable } from '../../src/domain/errors.ts';
import type {
  HeartbeatOutcome,
  HeartbeatRecord,
  HeartbeatStore,
} from '../../src/domain/heartbeat.ts';
import type { MachineId } from '../../src/domain/ids.ts';

/** The store's record of a machine with a started agent. */
export interface StoredMachine {
  readonly key: Uint8Array;
  request: { generation: bigint; raw: Uint8Array } | null;
  report: { generation: bigint; result: 'Success' | 'Error' } | null;
  hardwareReport: Uint8Array | null;
  /** As last reported; undefined: never. */
  conditions?: HeartbeatRecord['conditions'];
  heartbeats: number;
  /** The acceptance that is due. */
  acceptance?: AcceptanceRequest | null;
  /** The last result of one. */
  accepted?: AcceptanceReport;
}

export interface MemHeartbeatStore extends HeartbeatStore {
  /** Records an agent start of the machine. */
  start(machine: MachineId, key: Uint8Array): StoredMachine;
  /** Sizes of all requested batches, including refused ones. */
  readonly batches: number[];
  /** While true, every batch fails. */
  broken: boolean;
  /** Each batch waits for this before it is recorded. */
  gate: Promise<void>;
}

/** Follows the rules of the database's heartbeat ingest, in memory. */
export function createMemHeartbeatStore(): MemHeartbeatStore {
  const machines = new Map<string, StoredMachine>();
  let nowMs = 1_000;
  const store: MemHeartbeatStore = {
    batches: [],
    broken: false,
    gate: Promise.resolve(),
    start(machine, key) {
      const stored: StoredMachine = {
        key,
        request: null,
        report: null,
        hardwareReport: null,
        heartbeats: 0,
      };
      machines.set(machine, stored);
      return stored;
    },
    async recordHeartbeats(batch) {
      store.batches.push(batch.length);
      await store.gate;
      if (store.broken) throw new Unreachable('the database is away');
      nowMs += 1;
      return batch.map((record) => recordOne(machines.get(record.machineId), record, nowMs));
    },
  };
  return store;
}

function recordOne(
  machine: StoredMachine | undefined,
  record: HeartbeatRecord,
  atMs: number,
): HeartbeatOutcome {
  if (!machine || !timingSafeEqual(machine.key, record.publicKey)) {
    return { kind: 'unauthenticated' };
  }
  machine.heartbeats += 1;
  machine.hardwareReport = record.hardwareReport ?? machine.hardwareReport;
  machine.conditions = record.conditions ?? machine.conditions;
  if (record.acceptance) Object.assign(machine, { acceptance: null, accepted: record.acceptance });
  const { installationReport: report } = record;
  const requested = machine.request?.generation ?? null;
  if (report && requested !== null) {
    if (report.generation > requested) return { kind: 'invalid', message: 'a newer generation' };
    if (report.generation === requested) machine.report = report;
  }
  const done = machine.report?.generation === requested && machine.report?.result === 'Success';
  return {
    kind: 'accepted',
    atMs,
    installationRequest: done ? null : (machine.request?.raw ?? null),
    ...(requested !== null && { requestGeneration: requested }),
    ...(done && report?.result === 'Success' && { mayReboot: true }),
    ...(machine.acceptance && { acceptance: machine.acceptance }),
  };
}
