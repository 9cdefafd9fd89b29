import { fromPromise } from 'xstate';
import type { Work } from '../../adapters/bmdb/port.ts';
import { sleep, type Clock, type Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { ShellSession } from '../../adapters/ssh/port.ts';
import { rankOf } from '../../domain/daemons.ts';
import { bySeniority, seniorityOf, type Seniority } from '../../domain/eligibility.ts';
import { Cancelled, NotFound } from '../../domain/errors.ts';
import type { MachineId, SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { NextWork } from '../../domain/view.ts';
import type { RequestInput, TurnInput } from '../../machines/lifecycle.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { PermitQueue } from './permit-queue.ts';

export type Kind = Exclude<NextWork, null>;

/** The time in which one task works on one machine. The chart sees none of it. */
export interface Turn {
  readonly slot: Slot;
  readonly kind: Kind;
  /** Aborts when the turn ends, however it ends: crash, retirement, shutdown. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds at which a place was asked for, and at which the task began. */
  readonly askedAt: number;
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
    agentStart: createPlaces(places.agentStart),
    recovery: createPlaces(places.recovery),
    deprovision: createPlaces(places.deprovision),
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
      const askedAt = clock.monotonic();
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
        askedAt,
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

const UNKNOWN: Seniority = { lastAttemptMs: null, machineId: '' };

interface Waiter {
  readonly seniority: Seniority;
  grant(): void;
  refuse(): void;
}

/** A bounded number of places, given to the oldest attempt first, or else in the order of asking. */
function createPlaces(count: number) {
  /** In the order of asking. */
  const waiting = new Set<Waiter>();
  let taken = 0;
  let isClosed = false;
  const refused = () => new Cancelled('no turn is given any more');
  return {
    /** Resolves when a place is taken; rejects with `Cancelled` when the signal fires first. */
    acquire: (signal: AbortSignal, seniority = UNKNOWN) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted || isClosed) return reject(refused());
        if (taken < count) {
          taken += 1;
          return resolve();
        }
        const leave = () => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', waiter.refuse);
        };
        const waiter: Waiter = {
          seniority,
          grant: () => (leave(), resolve()),
          refuse: () => (leave(), reject(refused())),
        };
        waiting.add(waiter);
        signal.addEventListener('abort', waiter.refuse, { once: true });
      }),
    release() {
      let next: Waiter | undefined;
      for (const each of waiting) {
        if (!next || bySeniority(each.seniority, next.seniority) < 0) next = each;
      }
      if (next) next.grant();
      else taken -= 1;
    },
    /** From now on nobody gets a place; those who wait are refused. */
    close() {
      isClosed = true;
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

export interface AwaitTurnDeps {
  readonly taskPool: TaskPool;
  readonly keeper: SessionKeeper;
  readonly permits: PermitQueue;
  /** Live sessions that run the loops. */
  readonly sessions: () => readonly SessionId[];
  /** A daemon of rank n waits n times this before it asks for a machine. */
  readonly headStartMs: number;
  /** Longest pause after tasks that went wrong in a row; 30 s when absent. */
  readonly setbackMaxMs?: number;
  /** What is known of all slots, for the order of those that wait for a place. */
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly clock: Clock;
  readonly random: Random;
}

const PROCESS = {
  agentStart: 'ShepherdAgentStart',
  recovery: 'ShepherdRecovery',
  deprovision: 'ShepherdDeprovision',
} as const;
const SETBACK_FIRST_MS = 250;
const SETBACK_MAX_MS = 30_000;

/** Better ranked daemons come first. */
async function giveHeadStart(
  { clock, headStartMs }: Pick<AwaitTurnDeps, 'clock' | 'headStartMs'>,
  rank: number,
  signal: AbortSignal,
): Promise<void> {
  if (rank > 0) await sleep(clock, rank * headStartMs, signal);
}

/**
 * Resolves when this daemon may work on the machine: after a pause for what went wrong before, with
 * a live session, with room in the recovery budget if it is about that, after the head start of
 * better ranked daemons, and with a place in the pool.
 */
export const awaitTurn = (deps: AwaitTurnDeps) =>
  fromPromise<void, TurnInput>(async ({ input: { slot, next, setbacks }, signal }) => {
    const { clock, random, taskPool, keeper } = deps;
    if (setbacks > 0) {
      const longestMs = deps.setbackMaxMs ?? SETBACK_MAX_MS;
      const pauseMs = Math.min(longestMs, SETBACK_FIRST_MS * 2 ** setbacks);
      await sleep(clock, pauseMs * (0.5 + random.next()), signal);
    }
    const session = await keeper.whenAlive(signal);
    const rank = rankOf(session.sessionId, deps.sessions(), slot);
    if (next === 'recovery') await deps.permits.wait(slot, signal);
    await giveHeadStart(deps, rank, signal);
    const row = deps.facts().get(slot)?.row;
    await taskPool.grant(slot, next, signal, row ? seniorityOf(PROCESS[next], row) : undefined);
  });

export type SettleRequestDeps = Pick<
  AwaitTurnDeps,
  'keeper' | 'sessions' | 'headStartMs' | 'facts' | 'clock'
> & { readonly log: Log };

/**
 * Carries out what an operator asked about a slot: with a live session, and after the head start of
 * better ranked daemons, unless one of them has done it meanwhile. What it does is one transaction
 * of the BMDB, and safe to repeat. Rejects while the request has to stay open.
 */
export const settleRequest = (deps: SettleRequestDeps) =>
  fromPromise<string, RequestInput>(async ({ input: { slot, key }, signal }) => {
    const { keeper, log } = deps;
    const session = await keeper.whenAlive(signal);
    const rank = rankOf(session.sessionId, deps.sessions(), slot);
    await giveHeadStart(deps, rank, signal);
    const known = deps.facts().get(slot);
    if (known && !known.requests.some((each) => each.key === key)) return key;
    try {
      const state = await session.settle(key);
      if (state === null) throw new StaysOpen(key);
      const { verb, by, reason, outcome } = state;
      log.info({ slot, key, verb, by, reason, state: state.state, outcome }, 'request settled');
    } catch (error) {
      // Whoever filed it took it back, or its time to be remembered is over.
      if (error instanceof NotFound) return key;
      if (error instanceof StaysOpen) throw error;
      log.warn({ err: error, slot, key }, 'a request could not be settled yet');
      throw error;
    }
    return key;
  });

/** Something else has to happen first; nothing went wrong. */
class StaysOpen extends Error {
  readonly code = 'stays-open';
  constructor(key: string) {
    super(`the request ${key} stays open for now`);
  }
}
