import { performance } from 'node:perf_hooks';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import type { MachineRow, ProviderMachine } from '../../../src/domain/machine.ts';
import { SET_ID_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { reconcile } from '../../../src/domain/provisioning/reconcile.ts';
import { machineRow, providedOf } from '../../contracts/bmdb-rows.ts';
import { NO_TRAITS } from '../../../src/domain/traits.ts';

const PROVIDER = providerName('bench');
const NOW = Date.parse('2026-01-01T00:00:00Z');
/** As many runs as make one measurement; the first ones warm up. */
const WARM_UP = 3;
const RUNS = 9;

/**
 * How long the decisions for a fleet take, in memory: every machine is listed but one in a thousand,
 * and there is a tenth as much free capacity.
 * @returns measures the best of some runs, milliseconds: what the others add is the neighbours'.
 */
export function measureReconcile(size: number): () => number {
  const input = fleetOf(size);
  return () => {
    const times: number[] = [];
    for (let run = 0; run < WARM_UP + RUNS; run += 1) {
      const beganMs = performance.now();
      const { summary } = reconcile(input);
      if (run >= WARM_UP) times.push(performance.now() - beganMs);
      if (summary.bmdb !== size) throw new Error('the fleet was not looked at');
    }
    return Math.min(...times);
  };
}

function fleetOf(size: number): Parameters<typeof reconcile>[0] {
  const machines = Array.from({ length: size }, (_, at) => rowOf(at));
  const used = machines.filter((_, at) => at % 1_000 !== 7).map((_, at) => deviceOf(at));
  const free = Array.from({ length: Math.ceil(size / 10) }, (_, at) => freeOf(at));
  return {
    provider: PROVIDER,
    listed: [...used, ...free],
    listingComplete: true,
    machines,
    intents: [],
    holds: [],
    penalties: [],
    providerHolds: [],
    nowMs: NOW,
    machinesMax: 0,
    chunkSize: 20,
  };
}

const uuid = (kind: string, at: number) =>
  `${kind.padStart(8, '0')}-0000-4000-8000-${String(at).padStart(12, '0')}`;

const rowOf = (at: number): MachineRow =>
  machineRow(NOW - 86_400_000, {
    machineId: machineId(uuid('1', at)),
    provided: {
      ...providedOf(uuid('2', at)),
      provider: PROVIDER,
      providerId: uuid('2', at),
      reservationId: uuid('3', at),
    },
  });

const deviceOf = (at: number): ProviderMachine => ({
  ...freeOf(at),
  id: uuid('2', at),
  reservationId: uuid('3', at),
  availability: 'KnownUsed',
  hostname: `m-${at}`,
  status: 'Running',
  power: 'on',
  address: '192.0.2.1',
  tags: { [SET_ID_TAG]: 'bench-fleet-000000000000001' },
});

const freeOf = (at: number): ProviderMachine => ({
  id: null,
  reservationId: uuid('4', at),
  hostname: null,
  plan: 'm3.large.x86',
  ...NO_TRAITS,
  location: 'fr2',
  address: null,
  remoteUser: 'root',
  availability: 'KnownUnused',
  failed: false,
  status: null,
  power: 'unknown',
  tags: {},
  ownership: 'ours',
  observedAtMs: NOW,
});
