import type { MachineId } from '../ids.ts';
import { familyOf, type Pool } from './pools.ts';
import type { Desired, PoolRef } from './objects.ts';

/** A member and its address in canonical form; null: the address is unknown. */
export interface PlacedMember {
  readonly machineId: MachineId;
  readonly address: string | null;
}

/** The objects that a balancer should have for a pool, parents before children. */
export interface DesiredPool {
  readonly objects: readonly Desired[];
  /** Members without a server, each with the reason. */
  readonly leftOut: ReadonlyMap<MachineId, string>;
}

/** The parts of a pool that determine its objects. */
export type PoolShape = PoolRef & Pick<Pool, 'addresses' | 'ports'>;

export const NO_ADDRESS = 'it has no address that a balancer could use';

/**
 * Computes a pool's desired objects. If members share an address, the lowest machine id gets the
 * server.
 * @param hashHex SHA-256 of a text, in hex digits: names a family's second and further addresses.
 */
export function desiredOf(
  pool: PoolShape,
  members: readonly PlacedMember[],
  hashHex: (text: string) => string,
): DesiredPool {
  const { ports, suffix } = pool;
  const labels = bindLabels(pool.addresses, hashHex);
  const { served, leftOut } = oneForEachAddress(members);
  const objects: Desired[] = [];
  for (const { name: port, check } of ports) {
    objects.push({ port, spec: { kind: 'backend', name: `${port}.${suffix}`, check } });
  }
  for (const { name: port } of ports) {
    objects.push({ port, spec: { kind: 'frontend', name: `${port}.${suffix}` } });
  }
  for (const { name: port, external: number } of ports) {
    for (const [address, label] of labels) {
      const name = `${label}.${port}.${suffix}`;
      objects.push({ port, spec: { kind: 'bind', name, address, number } });
    }
  }
  for (const { name: port, internal: number } of ports) {
    for (const [machineId, address] of served) {
      const name = serverName(machineId, port, pool);
      objects.push({ port, machineId, spec: { kind: 'server', name, address, number } });
    }
  }
  return { objects, leftOut };
}

export const serverName = (
  machineId: MachineId,
  port: string,
  { suffix }: Pick<PoolRef, 'suffix'>,
): string => `${machineId}.${port}.${suffix}`;

/** The machine of a server. A server's name begins with the machine's id. */
export const machineOf = (serverNamed: string): MachineId =>
  serverNamed.slice(0, serverNamed.indexOf('.')) as MachineId;

/** The first part of the name of each address's binds: `v4`, `v6`, then `v4-…` for more. */
export function bindLabels(
  addresses: readonly string[],
  hashHex: (text: string) => string,
): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const seen = new Set<string>();
  for (const address of addresses) {
    if (labels.has(address)) continue;
    const family = familyOf(address) === 'ipv6' ? 'v6' : 'v4';
    labels.set(address, seen.has(family) ? `${family}-${hashHex(address).slice(0, 8)}` : family);
    seen.add(family);
  }
  return labels;
}

/** Why a machine has no server. */
export const sameAddress = (holder: MachineId, address: string): string =>
  `machine ${holder} has the same address, ${address}`;

/** Chooses the member to serve at each address. Gives the reason for each member left out. */
export function oneForEachAddress(members: readonly PlacedMember[]): {
  readonly served: ReadonlyMap<MachineId, string>;
  readonly leftOut: ReadonlyMap<MachineId, string>;
} {
  const holders = new Map<string, MachineId>();
  const leftOut = new Map<MachineId, string>();
  for (const { machineId, address } of members) {
    if (address === null) continue;
    const before = holders.get(address);
    if (before === undefined || machineId < before) holders.set(address, machineId);
  }
  const served = new Map<MachineId, string>();
  for (const { machineId, address } of members) {
    const holder = address === null ? undefined : holders.get(address);
    if (address === null) leftOut.set(machineId, NO_ADDRESS);
    else if (holder === machineId) served.set(machineId, address);
    else leftOut.set(machineId, sameAddress(holder!, address));
  }
  return { served, leftOut };
}
