import TinyQueue from 'tinyqueue';
import type { Work } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { ShellSession } from '../../adapters/ssh/port.ts';
import { bySeniority, type Seniority } from '../../domain/eligibility.ts';
import { Cancelled } from '../../domain/errors.ts';
import type { MachineId, SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { NextWork } from '../../domain/view.ts';
import type { SessionKeeper } from '../session-keeper.ts';

export type Kind = Exclude<NextWork, null>;

/** The time in which one task works on one machine. The chart sees none of it. */
export interface Turn {
  readonly slot: Slot;
  readonly kind: Kind;
  /** Aborts when the turn ends, however it ends: crash, retirement, shutdown. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds at which the task began. */
  readonly begunAt: number;
  /** What is given back when the turn ends: work that is not over yet, and the last connection. */
  readonly held: { work?: Work; shell?: ShellSession };
}

interface TaskPoolOptions {
  /** Tasks of each kind at once. */
  readonly places: Readonly<Record<Kind, number>>;
  /** A granted turn that nobody began is taken back after this long. */
  readonly unusedMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Grants turns to tasks within the daemon's places, and gives back what a task held when it ends. */
export interface TaskPool {
  /**
   * Waits for a place, with the seniority of the machine. A turn that is granted must be begun, else
   * it is taken back.
   */
  grant(slot: Slot, kind: Kind, signal: AbortSignal, seniority?: Seniority): Promise<void>;
  /** The task starts. @throws {Cancelled} no turn was granted. */
  begin(slot: Slot): Turn;
  /** @throws {Cancelled} the turn has ended. */
  turn(slot: Slot): Turn;
  /** A turn was granted and has not ended. */
  holds(slot: Slot): boolean;
  /** Gives the place back early; for long waits that occupy nothing. */
  leavePlace(slot: Slot): void;
  /** Ends the turn: aborts its I/O, closes the connection, cancels work that is still held. */
  end(slot: Slot): void;
  /** Aborts when the daemon stops: tasks that only wait end, and go on in another daemon. */
  readonly stopping: AbortSignal;
  /** Stops intake, lets turns end by themselves for `graceMs`, aborts the rest, awaits all. */
  drain(graceMs: number): Promise<void>;
  readonly busy: number;
  /** The same, of each kind. */
  busyOf(kind: Kind): number;
}

interface Entry extends Turn {
  readonly controller: AbortController;
  begunAt: number;
  placed: boolean;
  begun: boolean;
  reclaim: unknown;
}

/** Nobody works on for a turn without work, so that no error of its own has to be made for each. */
const OVER = new Cancelled('the turn is over');

export function createTaskPool({ places, unusedMs, clock, log }: TaskPoolOptions): TaskPool {
  const pools = {
    agentStart: createSemaphore(places.agentStart),
    recovery: createSemaphore(places.recovery),
    deprovision: createSemaphore(places.deprovision),
  };
  const entries = new Map<Slot, Entry>();
  const cancellations = new Set<Promise<void>>();
  let onIdle: (() => void) | undefined;
  const stopping = new AbortController();

  const leavePlace = (entry: Entry) => {
    if (!entry.placed) return;
    entry.placed = false;
    pools[entry.kind].release();
  };

  const cancelWork = (entry: Entry): void => {
    const { work } = entry.held;
    if (!work) return;
    const cancellation = work
      .cancel('the task ended before its time')
      .catch((err: unknown) => log.warn({ err, slot: entry.slot }, 'work could not be cancelled'))
      .finally(() => cancellations.delete(cancellation));
    cancellations.add(cancellation);
  };

  const end = (slot: Slot): void => {
    const entry = entries.get(slot);
    if (!entry) return;
    entries.delete(slot);
    clock.clearTimeout(entry.reclaim);
    entry.controller.abort(entry.held.work ? new Cancelled(`the task on ${slot} was ended`) : OVER);
    entry.held.shell?.close();
    cancelWork(entry);
    leavePlace(entry);
    if (entries.size === 0) onIdle?.();
  };

  const find = (slot: Slot): Entry => {
    const entry = entries.get(slot);
    if (!entry) throw new Cancelled(`no turn is held for ${slot}`);
    return entry;
  };

  return {
    get busy() {
      return entries.size;
    },
    busyOf: (of) => [...entries.values()].filter(({ kind }) => kind === of).length,
    async grant(slot, kind, signal, seniority) {
      await pools[kind].acquire(signal, seniority);
      if (signal.aborted || stopping.signal.aborted) {
        pools[kind].release();
        throw new Cancelled(`${slot} no longer wants its turn`);
      }
      end(slot);
      const controller = new AbortController();
      const reclaim = clock.setTimeout(() => {
        const entry = entries.get(slot);
        if (entry?.controller === controller && !entry.begun) end(slot);
      }, unusedMs);
      const { signal: own } = controller;
      entries.set(slot, {
        slot,
        kind,
        signal: own,
        controller,
        reclaim,
        placed: true,
        begun: false,
        begunAt: 0,
        held: {},
      });
    },
    begin(slot) {
      const entry = find(slot);
      entry.begun = true;
      entry.begunAt = clock.monotonic();
      clock.clearTimeout(entry.reclaim);
      return entry;
    },
    turn: find,
    holds: (slot) => entries.has(slot),
    leavePlace: (slot) => {
      const entry = entries.get(slot);
      if (entry) leavePlace(entry);
    },
    end,
    stopping: stopping.signal,
    async drain(graceMs) {
      stopping.abort(new Cancelled('the daemon stops'));
      for (const pool of Object.values(pools)) pool.close();
      await new Promise<void>((resolve) => {
        if (entries.size === 0) return resolve();
        const timer = clock.setTimeout(() => {
          log.warn({ busy: entries.size }, 'tasks are cancelled, their time to end is over');
          for (const slot of [...entries.keys()]) end(slot);
        }, graceMs);
        onIdle = () => {
          clock.clearTimeout(timer);
          resolve();
        };
      });
      await Promise.all(cancellations);
    },
  };
}

/** A bounded number of places, given to the oldest attempt first, or else in the order of asking. */
interface Semaphore {
  /** Resolves when a place is taken; rejects with `Cancelled` when the signal fires first. */
  acquire(signal: AbortSignal, seniority?: Seniority): Promise<void>;
  release(): void;
  /** From now on nobody gets a place; those who wait are refused. */
  close(): void;
}

interface Waiter {
  readonly seniority: Seniority;
  /** Position in the order of asking. */
  readonly askedAt: number;
  grant(): void;
  refuse(): void;
}

const UNKNOWN: Seniority = { lastAttemptMs: null, machineId: '' };
/** Those that left may stay in the queue until they are so many, and more than those that wait. */
const LEFT_MAX = 64;

const inOrder = (a: Waiter, b: Waiter): number =>
  bySeniority(a.seniority, b.seniority) || a.askedAt - b.askedAt;

function createSemaphore(count: number): Semaphore {
  const waiting = new Set<Waiter>();
  /** Those that wait, and some that left already. */
  let queue = new TinyQueue<Waiter>([], inOrder);
  let asked = 0;
  let taken = 0;
  let closed = false;
  const refused = () => new Cancelled('no turn is given any more');
  const leave = (waiter: Waiter) => {
    waiting.delete(waiter);
    if (queue.length - waiting.size > Math.max(LEFT_MAX, waiting.size)) {
      queue = new TinyQueue([...waiting], inOrder);
    }
  };
  const nextWaiter = (): Waiter | undefined => {
    let next = queue.pop();
    while (next && !waiting.has(next)) next = queue.pop();
    return next;
  };
  return {
    acquire: (signal, seniority = UNKNOWN) =>
      new Promise((resolve, reject) => {
        if (signal.aborted || closed) return reject(refused());
        if (taken < count) {
          taken += 1;
          return resolve();
        }
        const onAbort = () => waiter.refuse();
        const end = () => {
          leave(waiter);
          signal.removeEventListener('abort', onAbort);
        };
        const waiter: Waiter = {
          seniority,
          askedAt: (asked += 1),
          grant: () => (end(), resolve()),
          refuse: () => (end(), reject(refused())),
        };
        waiting.add(waiter);
        queue.push(waiter);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    release: () => {
      const next = nextWaiter();
      if (next) next.grant();
      else taken -= 1;
    },
    close: () => {
      closed = true;
      for (const waiter of waiting) waiter.refuse();
    },
  };
}

interface OrphansDeps {
  readonly keeper: SessionKeeper;
  readonly taskPool: TaskPool;
  readonly log: Log;
}

/**
 * Work rows of our own live session that no turn holds: a claim whose answer was lost, a cancel that
 * did not come through. Nobody else may touch them while we live, so the machine would stay locked.
 * A claim is released the second time it is found so, never in the moment between claim and turn, and
 * by its own epoch: the machine may be claimed anew before the release is carried out.
 */
export function createOrphanWatch({ keeper, taskPool, log }: OrphansDeps) {
  let suspects: ReadonlySet<string> = new Set();
  return async (facts: ReadonlyMap<Slot, SlotFacts>): Promise<void> => {
    const session = keeper.current();
    if (!session) return;
    const found = orphansOf(facts, session.sessionId, taskPool);
    const before = suspects;
    suspects = new Set(found.map(({ epoch }) => epoch));
    for (const { slot, machine, epoch } of found) {
      if (!before.has(epoch) || taskPool.holds(slot)) continue;
      log.warn({ slot, machine }, 'work that nobody holds is released');
      await session.releaseWork(machine, epoch);
    }
  };
}

interface Orphan {
  readonly slot: Slot;
  readonly machine: MachineId;
  readonly epoch: string;
}

function orphansOf(
  facts: ReadonlyMap<Slot, SlotFacts>,
  self: SessionId,
  taskPool: TaskPool,
): readonly Orphan[] {
  const found: Orphan[] = [];
  for (const { slot, row } of facts.values()) {
    if (!row || taskPool.holds(slot)) continue;
    for (const { sessionId, process, epoch } of row.work) {
      const isOurs = sessionId === self && process.startsWith('Shepherd');
      if (isOurs) found.push({ slot, machine: row.machineId, epoch });
    }
  }
  return found;
}
