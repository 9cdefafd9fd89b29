import type { Work } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { ShellSession } from '../../adapters/ssh/port.ts';
import type { Seniority } from '../../domain/eligibility.ts';
import { Cancelled } from '../../domain/errors.ts';
import type { Slot } from '../../domain/ids.ts';
import type { NextWork } from '../../domain/view.ts';
import { createSemaphore } from './semaphore.ts';

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

export interface TaskPoolOptions {
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
