import { createHash } from 'node:crypto';
import { desiredOf, serverName, type PlacedMember } from '../../../src/domain/balancing/desired.ts';
import type {
  Desired,
  Observed,
  ObjectKind,
  Phase,
} from '../../../src/domain/balancing/objects.ts';
import { PARENT_KIND } from '../../../src/domain/balancing/objects.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import { machineId, type MachineId } from '../../../src/domain/ids.ts';

/** The pool of the published vectors and the objects at its balancer. */

export const M1 = machineId('aaaaaaaa-0000-4000-8000-000000000001');
export const M2 = machineId('aaaaaaaa-0000-4000-8000-000000000002');
export const M3 = machineId('aaaaaaaa-0000-4000-8000-000000000003');
export const IP: Readonly<Record<string, string>> = {
  [M1]: '10.0.0.1',
  [M2]: '10.0.0.2',
  [M3]: '10.0.0.3',
};

export const pool = (change: Partial<Pool> = {}): Pool => ({
  pool: 'api',
  uid: 'pool-uid-1',
  suffix: 'api.eu',
  balancers: ['edge'],
  addresses: ['192.0.2.10', '2001:db8::10'],
  ports: [
    { name: 'http', external: 80, internal: 42_037, check: { by: 'tcp' } },
    { name: 'https', external: 443, internal: 37_042, check: { by: 'tcp' } },
  ],
  select: { providers: null, locations: null, plans: null, labels: {} },
  memberStates: ['Running'],
  drain: { graceMs: 30_000, policy: 'require', waitMs: 600_000, atOnce: 1 },
  minActive: 1,
  warmUpMs: 120_000,
  ...change,
});

export const hashHex = (text: string): string => createHash('sha256').update(text).digest('hex');

export const placed = (...ids: readonly MachineId[]): PlacedMember[] =>
  ids.map((id) => ({ machineId: id, address: IP[id] ?? null }));

export const desired = (ids: readonly MachineId[] = [M1, M2], change: Partial<Pool> = {}) =>
  desiredOf(pool(change), placed(...ids), hashHex).objects;

/** What a balancer shows when all of these objects are ready. Ids are kind and name. */
export function observedOf(
  objects: readonly Desired[],
  change: (object: Observed) => Partial<Observed> | null = () => ({}),
): Observed[] {
  return objects.flatMap(({ spec, port }) => {
    const parentKind = PARENT_KIND[spec.kind];
    const object: Observed = {
      ref: { kind: spec.kind, id: `${spec.kind} ${spec.name}` },
      spec,
      parentId: parentKind && `${parentKind} ${port}.api.eu`,
      phase: 'ready',
      tagged: true,
    };
    const changed = change(object);
    return changed === null ? [] : [{ ...object, ...changed }];
  });
}

/** Only objects of this kind whose names begin so. */
export const inPhase =
  (phase: Phase, kind: ObjectKind, name = '') =>
  ({ spec }: Observed): Partial<Observed> =>
    spec.kind === kind && spec.name.startsWith(name) ? { phase } : {};

export const nameOf = (machine: MachineId, port: string): string =>
  serverName(machine, port, { suffix: 'api.eu' });
