import { machineId, providerName } from '../../../src/domain/ids.ts';
import type { MachineRow, ProviderMachine } from '../../../src/domain/machine.ts';
import { SET_ID_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { machineRow, providedOf } from '../../contracts/bmdb-rows.ts';
import { judge } from '../../domain/provisioning/judge.ts';
import { device, free } from '../../support/facts.ts';
import { best } from '../measure.ts';

const PROVIDER = providerName('bench');
const NOW = Date.parse('2026-01-01T00:00:00Z');

/**
 * Duration of the in-memory decisions for a fleet: one machine in a thousand is not listed, and
 * free capacity is a tenth of the fleet.
 */
export function measureReconcile(size: number): () => number {
  const input = fleetOf(size);
  return best(() => {
    if (judge(input).summary.bmdb !== size) throw new Error('the fleet was not looked at');
  });
}

function fleetOf(size: number): Parameters<typeof judge>[0] {
  const machines = Array.from({ length: size }, (_, at) => rowOf(at));
  const used = machines.filter((_, at) => at % 1_000 !== 7).map((_, at) => deviceOf(at));
  const free = Array.from({ length: Math.ceil(size / 10) }, (_, at) => freeOf(at));
  return {
    provider: PROVIDER,
    listed: [...used, ...free],
    machines,
    providerHolds: [],
    nowMs: NOW,
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

const deviceOf = (at: number): ProviderMachine =>
  device({
    ...{ ...PLACE, id: uuid('2', at), reservationId: uuid('3', at), hostname: `m-${at}` },
    tags: { [SET_ID_TAG]: 'bench-fleet-000000000000001' },
  });

const PLACE = { plan: 'm3.large.x86', location: 'fr2', observedAtMs: NOW };
const freeOf = (at: number): ProviderMachine => free({ ...PLACE, reservationId: uuid('4', at) });
