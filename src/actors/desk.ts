import type { FailureEffects, Work } from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { ShellSession } from '../adapters/ssh/port.ts';
import type { Seniority } from '../domain/eligibility.ts';
import { Cancelled } from '../domain/errors.ts';
import type { Slot } from '../domain/ids.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import type { LadderStep } from '../domain/recovery/ladder.ts';
import type { NextWork } from '../domain/view.ts';
import type { HostKeyEvidence } from './tasks/host-key-proof.ts';
import { createPlaces } from './places.ts';

export type Kind = Exclude<NextWork, null>;

/** What a task of one machine holds while it runs. The chart sees none of it. */
export interface Turn {
  readonly slot: Slot;
  readonly kind: Kind;
  /** Aborts when the turn ends, however it ends: crash, retirement, shutdown. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds at which the task began. */
  readonly begunAt: number;
  work?: Work;
  workEnded?: boolean;
  shell?: ShellSession;
  machine?: ProviderMachine;
  bootId?: string | null;
  /** How often the provider was asked to take the machine back. */
  asked?: number;
  /** What became of its agent, of a machine that is given back; for the history. */
  farewell?: string;
  agent?: { readonly publicKey: Uint8Array; readonly warnings: readonly string[] };
  attempt?: Attempt;
  /** Which part of an agent start is under way. */
  stage?: StartStage;
}

/** What an agent start is doing, for telling what it failed at. */
export type StartStage =
  'locating' | 'connecting' | 'verifying' | 'uploading' | 'executing' | 'reading' | 'recording';

/** What a recovery knows of its attempt. */
export interface Attempt {
  step: LadderStep;
  /** What is waited for was asked for then, by the database clock. */
  askedAtMs?: number;
  /** Something was asked for in this attempt, and not refused for certain by an outage. */
  asked?: boolean;
  /** Its host let us in. */
  reached?: boolean;
  /** It failed before anything was asked for. */
  unasked?: NonNullable<FailureEffects['unasked']>;
  /** What was asked of the power last, and perhaps done. */
  power?: 'off' | 'on';
  /** The host key that was believed last, and what for. */
  believed?: { readonly hostKey: string; readonly evidence: HostKeyEvidence };
  proof?: Proof;
}

/** What tells that the machine booted. */
export interface Proof {
  readonly what: string;
  /** From the request to the proof, by the database clock; null: not known, or not a boot. */
  readonly bootSeconds: number | null;
}

export interface DeskOptions {
  /** Tasks of each kind at once. */
  readonly places: Readonly<Record<Kind, number>>;
  /** A granted turn that nobody began is taken back after this long. */
  readonly unusedMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Turns at work: who may work now, and what must be given back when a task ends. */
export interface Desk {
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
  /** Aborts when the intake stops: whoever can only wait ends then, and is taken up again elsewhere. */
  readonly stopping: AbortSignal;
  /** Stops intake, lets turns end by themselves for `graceMs`, aborts the rest, awaits all. */
  drain(graceMs: number): Promise<void>;
  readonly busy: number;
}

interface Entry extends Turn {
  readonly controller: AbortController;
  begunAt: number;
  placed: boolean;
  begun: boolean;
  reclaim: unknown;
}

export function createDesk({ places, unusedMs, clock, log }: DeskOptions): Desk {
  const pools = {
    agentStart: createPlaces(places.agentStart),
    recovery: createPlaces(places.recovery),
    deprovision: createPlaces(places.deprovision),
  };
  const entries = new Map<Slot, Entry>();
  const farewells = new Set<Promise<void>>();
  let onIdle: (() => void) | undefined;
  const stopping = new AbortController();

  const leavePlace = (entry: Entry) => {
    if (!entry.placed) return;
    entry.placed = false;
    pools[entry.kind].give();
  };

  const cancelWork = (entry: Entry): void => {
    if (!entry.work || entry.workEnded) return;
    const farewell = entry.work
      .cancel('the task ended before its time')
      .catch((err: unknown) => log.warn({ err, slot: entry.slot }, 'work could not be cancelled'))
      .finally(() => farewells.delete(farewell));
    farewells.add(farewell);
  };

  const end = (slot: Slot): void => {
    const entry = entries.get(slot);
    if (!entry) return;
    entries.delete(slot);
    clock.clearTimeout(entry.reclaim);
    entry.controller.abort(new Cancelled(`the task on ${slot} was ended`));
    entry.shell?.close();
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
    async grant(slot, kind, signal, seniority) {
      await pools[kind].take(signal, seniority);
      if (signal.aborted || stopping.signal.aborted) {
        pools[kind].give();
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
      await Promise.all(farewells);
    },
  };
}
