import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { newMachine } from '../doubles/mem-bmdb/tables.ts';
import type { BmdbSession } from '../../src/adapters/bmdb/port.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import type { Means, Told } from '../../src/commands/machine/command.ts';
import { runVerb, type VerbOptions } from '../../src/commands/machine/verb.ts';
import type { Wish } from '../../src/domain/filing/verbs.ts';
import type { Selector } from '../../src/domain/filing/selection.ts';
import { machineId, type MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_LADDER } from '../../src/domain/recovery/ladder.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { emptyRow } from '../doubles/mem-bmdb/tables.ts';
import { KEY_HEX, PROVIDER, providedOf } from '../contracts/bmdb-rows.ts';

export const idOf = (at: number): MachineId =>
  machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);

/** The commands about machines over a BMDB in memory, in virtual time. */
export interface MachineStand {
  readonly bmdb: MemBmdb;
  readonly clock: VirtualClock;
  readonly means: Means;
  /** Puts machine `at` on slot `metal/slot-<at>`, with an agent that was just heard. */
  add(at: number, change?: Partial<MachineRow>): MachineId;
  /** From now on somebody settles whatever can be settled. */
  daemon(): Promise<BmdbSession>;
  /** Lets time pass until it ends. */
  driven<T>(task: Promise<T>): Promise<T>;
  /** Runs a verb by Ann, on what is named. */
  verb(wish: Wish, selector: Selector | string, change?: Partial<VerbOptions>): Promise<Told>;
}

/** What happens in a BMDB in memory while something is asked of it. */
export function fleetIn(
  bmdb: MemBmdb,
  clock: VirtualClock,
): Pick<MachineStand, 'add' | 'daemon' | 'driven'> {
  return {
    add: (at, change = {}) => {
      const id = idOf(at);
      const nowMs = clock.now();
      const row: MachineRow = {
        ...emptyRow(id, nowMs),
        provided: providedOf(String(at), { reservationId: `slot-${at}` }),
        agentStarted: { atMs: nowMs - 60_000, publicKey: KEY_HEX, bootId: 'boot-1' },
        heartbeat: { atMs: nowMs, bootId: 'boot-1' },
        ...change,
      };
      bmdb.tables.machines.set(id, newMachine(row));
      bmdb.tables.touch(id);
      return id;
    },
    daemon: async () => {
      const session = await bmdb.openSession({
        component: 'shepherd',
        runtimeInfo: 'host test',
        intervalMs: 86_400_000,
      });
      const settleAll = async () => {
        const { requests } = await bmdb.scan(new AbortController().signal);
        for (const { key } of requests) await session.settle(key);
      };
      bmdb.wakes$.subscribe(() => void settleAll());
      return session;
    },
    driven: async (task) => {
      let ended = false;
      const end = () => (ended = true);
      task.then(end, end);
      for (let steps = 0; !ended; steps++) {
        if (steps > 100_000) throw new Error('it never ends');
        await new Promise(setImmediate);
        if (!ended) clock.increment(50);
      }
      return task;
    },
  };
}

export function machineStand(): MachineStand {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const means: Means = {
    bmdb,
    clock,
    random,
    width: 80,
    signal: new AbortController().signal,
    config: {
      agent: {
        heartbeatPeriod: DEFAULT_LOSS.periodMs,
        heartbeatDeadline: DEFAULT_LOSS.heartbeatMs,
        needsHumanAfter: DEFAULT_LOSS.needsHumanAfterMs,
        firstHeartbeatDeadline: DEFAULT_LOSS.firstHeartbeatMs,
      },
      mirror: { scanInterval: 60_000 },
      providers: {
        metal: {
          ...{ driver: 'memory', instanceSetId: 'zzzzz-zzzzz-zzzzzzzzzzzzzzz', sharedTags: {} },
        },
      },
      guard: DEFAULT_BUDGET,
      recoverer: { ladder: DEFAULT_LADDER },
    } as unknown as Means['config'],
  };
  const fleet = fleetIn(bmdb, clock);
  return {
    bmdb,
    clock,
    means,
    ...fleet,
    verb: (wish, selector, change = {}) =>
      fleet.driven(
        runVerb(
          {
            wish: () => wish,
            reason: 'because',
            by: 'ann',
            json: false,
            selector: typeof selector === 'string' ? { name: selector } : selector,
            dryRun: false,
            yes: false,
            ...change,
          },
          means,
        ),
      ),
  };
}

/** Slot of the machine with this number. */
export const slotName = (at: number): string => `${PROVIDER}/slot-${at}`;
