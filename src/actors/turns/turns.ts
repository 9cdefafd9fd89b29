import { fromPromise } from 'xstate';
import type { Work } from '../../adapters/bmdb/port.ts';
import { sleep, type Clock, type Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { ShellSession } from '../../adapters/ssh/port.ts';
import { rankOf } from '../../domain/daemons.ts';
import { bySeniority, seniorityOf, type Seniority } from '../../domain/seniority.ts';
import { Cancelled, NotFound } from '../../domain/errors.ts';
import type { MachineId, SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { NextWork } from '../../domain/view.ts';
import type { RequestInput, TurnInput } from '../../machines/lifecycle.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { PermitQueue } from './permit-queue.ts';

export type WorkKind = Exclude<NextWork, null>;

/** The time in which one task works on one machine. Invisible to the chart. */
export interface Turn {
  readonly slot: Slot;
  readonly kind: WorkKind;
  /** Aborts at the end of the turn, for any reason: crash, retirement, shutdown. */
  readonly signal: AbortSignal;
  /** When a place was requested, and when the task began, monotonic ms. */
  readonly askedAt: number;
  readonly begunAt: number;
  /** Returned at the end of the turn: unfinished work and the last connection. */
  readonly held: { work?: Work; shell?: ShellSession };
}

interface TaskPoolOptions {
  /** Maximum number of simultaneous tasks of each kind. */
  readonly places: Readonly<Record<WorkKind, number>>;
  /** A granted turn that no task begins is withdrawn after this long. */
  readonly unusedMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Grants turns to tasks within the daemon's places, and returns a task's resources at its end. */
export interface TaskPool {
  /**
   * Waits for a place, with the machine's seniority. A granted turn must be begun; otherwise it is
   * withdrawn.
   */
  grant(slot: Slot, kind: WorkKind, signal: AbortSignal, seniority?: Seniority): Promise<void>;
  /** Starts the task. @throws {Cancelled} no turn was granted. */
  begin(slot: Slot): Turn;
  /** @throws {Cancelled} the turn has ended. */
  turn(slot: Slot): Turn;
  /** Whether a turn was granted and has not ended. */
  holds(slot: Slot): boolean;
  /** Frees the place early, for long waits that use nothing. */
  leavePlace(slot: Slot): void;
  /** Ends the turn: aborts its I/O, closes the connection, cancels unfinished work. */
  end(slot: Slot): void;
  /** Aborts when the daemon stops: tasks that only wait end, and continue in another daemon. */
  readonly stopping: AbortSignal;
  /** Stops the intake, lets turns complete for `graceMs`, aborts the rest, awaits all. */
  drain(graceMs: number): Promise<void>;
  readonly busy: number;
  /** Number of busy tasks of a kind. */
  busyOf(kind: WorkKind): number;
}

interface QueuedTurn extends Turn {
  readonly controller: AbortController;
  begunAt: number;
  placed: boolean;
  begun: boolean;
  reclaim: unknown;
}

/** One shared error, because no code continues with a turn that has ended. */
const OVER = new Cancelled('the turn is over');

export function createTaskPool({ places, unusedMs, clock, log }: TaskPoolOptions): TaskPool {
  const pools = {
    agentStart: createPlaces(places.agentStart),
    recovery: createPlaces(places.recovery),
    deprovision: createPlaces(places.deprovision),
  };
  const entries = new Map<Slot, QueuedTurn>();
  const cancellations = new Set<Promise<void>>();
  let onIdle: (() => void) | undefined;
  const stopping = new AbortController();

  const leavePlace = (entry: QueuedTurn) => {
    if (!entry.placed) return;
    entry.placed = false;
    pools[entry.kind].release();
  };

  const cancelWork = (entry: QueuedTurn): void => {
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

  const find = (slot: Slot): QueuedTurn => {
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
          log.warn(
            { busy: entries.size },
            'tasks are cancelled, because their time to end is over',
          );
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

/** A limited number of places, given to the oldest attempt first, else in the order of requests. */
function createPlaces(count: number) {
  /** In the order of requests. */
  const waiting = new Set<Waiter>();
  let taken = 0;
  let isClosed = false;
  const refused = () => new Cancelled('no more turns are granted');
  return {
    /** Resolves when a place is taken; rejects with `Cancelled` if the signal fires first. */
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
    /** Refuses all current and later requests for a place. */
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
 * Releases work rows of our own live session without a turn, after a claim whose answer was lost or
 * a failed cancel. No other process may touch them while we live, so the machine would stay locked.
 * Releases a claim only when it is found a second time, so that the moment between claim and turn
 * is safe. Uses the claim's epoch, because the machine may be claimed again meanwhile.
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
      log.warn({ slot, machine }, 'work without a task is released');
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
  /** A daemon of rank n waits n times this before it requests a machine. */
  readonly headStartMs: number;
  /** Longest pause after consecutive failed tasks; default 30 s. */
  readonly setbackMaxMs?: number;
  /** Facts of all slots, for the order of machines that wait for a place. */
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

/** Lets better ranked daemons go first. */
async function giveHeadStart(
  { clock, headStartMs }: Pick<AwaitTurnDeps, 'clock' | 'headStartMs'>,
  rank: number,
  signal: AbortSignal,
): Promise<void> {
  if (rank > 0) await sleep(clock, rank * headStartMs, signal);
}

/**
 * Resolves when this daemon may work on the machine. Waits for the backoff, a live session, room in
 * the recovery budget if needed, the head start of better ranked daemons, and a free place.
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

export type ApplyRequestDeps = Pick<
  AwaitTurnDeps,
  'keeper' | 'sessions' | 'headStartMs' | 'facts' | 'clock'
> & { readonly log: Log };

/**
 * Applies an operator's request about a slot, with a live session. Better ranked daemons have a
 * head start and may apply it first. One transaction of the BMDB; safe to repeat. Rejects while the
 * request must stay open.
 */
export const applyRequest = (deps: ApplyRequestDeps) =>
  fromPromise<string, RequestInput>(async ({ input: { slot, key }, signal }) => {
    const { keeper, log } = deps;
    const session = await keeper.whenAlive(signal);
    const rank = rankOf(session.sessionId, deps.sessions(), slot);
    await giveHeadStart(deps, rank, signal);
    const known = deps.facts().get(slot);
    if (known && !known.requests.some((each) => each.key === key)) return key;
    try {
      const state = await session.applyRequest(key);
      if (state === null) throw new StaysOpen(key);
      const { verb, by, reason, outcome } = state;
      log.info({ slot, key, verb, by, reason, state: state.state, outcome }, 'request settled');
    } catch (error) {
      // The requester withdrew it, or its retention time is over.
      if (error instanceof NotFound) return key;
      if (error instanceof StaysOpen) throw error;
      log.warn({ err: error, slot, key }, 'a request could not be applied yet');
      throw error;
    }
    return key;
  });

/** Another event must come first; this is no failure. */
class StaysOpen extends Error {
  readonly code = 'stays-open';
  constructor(key: string) {
    super(`the request ${key} stays open for now`);
  }
}
