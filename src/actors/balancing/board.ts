import type { Addresses } from '../../domain/balancing/pools.ts';
import type { Plan } from '../../domain/balancing/plan.ts';
import type { Sight } from '../../domain/balancing/sights.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { PoolDesk } from './desk.ts';

/** What this daemon itself knows of a pool that it tends at a balancer; the rest is in rows. */
export interface TendedPool {
  readonly pool: string;
  readonly balancer: string;
  /** State of its chart, or of its objects while it is tended; in it since, epoch ms of the database. */
  readonly state: string;
  readonly sinceMs: number;
  readonly generation: number;
  /** Why it failed last, until it is settled again; null: it did not. */
  readonly lastError: string | null;
  /** The last plan; null: there was none yet. */
  readonly plan: Plan | null;
  /** As seen last; empty: it was not looked at yet. */
  readonly members: ReadonlyMap<MachineId, Pick<Sight, 'health' | 'sessions'>>;
  /** External addresses, each with the ports under which it is there, whatever their state. */
  readonly addresses: Addresses;
}

/** The pools that this daemon tends. */
export interface PoolsBoard {
  /** By pool and balancer. */
  tended(): readonly TendedPool[];
  /**
   * Calls back when a look shows other health or connections than the one that was told of before,
   * for each pool every few seconds at most; returns how to end that.
   */
  onSights(callback: () => void): () => void;
}

export interface OpenPoolsBoard extends PoolsBoard {
  /** Everything that is known of the pools that this daemon tends. */
  desks(): Iterable<PoolDesk>;
  put(desk: PoolDesk): void;
  remove(desk: PoolDesk): void;
  /** The pool was perhaps looked at. @param nowMs database clock. */
  looked(desk: PoolDesk, nowMs: number): void;
}

/** Connections change with every look, and whoever reads of them is told of whole pools. */
const TELL_MS = 5_000;

type Sights = ReadonlyMap<MachineId, Pick<Sight, 'health' | 'sessions'>>;

const isSameSights = (one: Sights, other: Sights): boolean =>
  one.size === other.size &&
  [...one].every(([machine, { health, sessions }]) => {
    const found = other.get(machine);
    return found?.health === health && found.sessions === sessions;
  });

export function createPoolsBoard(): OpenPoolsBoard {
  const desks = new Set<PoolDesk>();
  const callbacks = new Set<() => void>();
  const told = new Map<PoolDesk, { readonly sights: Sights; readonly atMs: number }>();
  const tended = () => [...desks].map(tendedOf);
  return {
    put: (desk) => void desks.add(desk),
    remove(desk) {
      desks.delete(desk);
      told.delete(desk);
    },
    looked(desk, nowMs) {
      const sights = desk.seen()?.sights;
      const before = told.get(desk);
      if (!sights || sights === before?.sights) return;
      if (before && (nowMs < before.atMs + TELL_MS || isSameSights(before.sights, sights))) return;
      told.set(desk, { sights, atMs: nowMs });
      for (const callback of callbacks) callback();
    },
    onSights(callback) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
    tended,
    desks: () => desks.values(),
  };
}

function tendedOf({ name, shown, lastError, plan, seen }: PoolDesk): TendedPool {
  const { objects = [], sights = new Map<MachineId, Sight>() } = seen() ?? {};
  const addresses = new Map<string, number[]>();
  for (const { spec } of objects) {
    if (spec.kind !== 'bind') continue;
    const ports = addresses.get(spec.address) ?? [];
    addresses.set(
      spec.address,
      [...ports, spec.number].toSorted((a, b) => a - b),
    );
  }
  return { ...name, ...shown, lastError, plan, members: sights, addresses };
}
