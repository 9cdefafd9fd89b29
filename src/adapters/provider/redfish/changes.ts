import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { sleep } from '../../clock/port.ts';
import type { CallOptions, DriverContext, DriverMachine, OperationRef } from '../port.ts';
import { clearOverride } from './boot-override.ts';
import type { Bmc, Wire } from './client/bmc.ts';
import { isNever, isNotNow, type Refusal, refusalIn } from './client/errors.ts';
import type { Reply } from './client/replies.ts';
import { allowedResets, resetKey } from './client/resets.ts';
import { readSystem, type System } from './client/system.ts';
import { followTask, taskOf } from './client/tasks.ts';
import type { BmcEntry } from './entries.ts';
import { hasHappened, patienceOf } from './evidence.ts';
import { checkIdentity } from './identity.ts';
import { isThere, resetFor, type Want } from './reset-choice.ts';

export interface ChangesDeps extends Pick<DriverContext, 'clock'> {
  readonly bmcOf: (entry: BmcEntry) => Bmc;
  /** Hears what was read. @returns the machine as it is then. */
  readonly see: (entry: BmcEntry, system: System) => DriverMachine;
  readonly allowFullPowerCycle: boolean;
}

/** Reboots and switches machines. */
export interface Changes {
  carryOut(entry: BmcEntry, want: Want, call: CallOptions): Promise<OperationRef>;
}

/** A change that was sent and has not been seen to happen yet. */
interface Sent {
  readonly type: string;
  readonly before: System;
  readonly atMs: number;
}

type Step =
  | { readonly next: 'done'; readonly ref: string }
  /** Accepted, perhaps as a task; or lost, with the error that it ends with if it did not happen. */
  | { readonly next: 'look'; readonly sent: Sent; readonly reply?: Reply; readonly error?: unknown }
  | { readonly next: 'again'; readonly reason: Reason; readonly error: unknown };
type Reason = 'at once' | 'not now' | 'passing' | 'unproved';

/** Waits between attempts, by reason; after the last one the error stands. */
const WAITS_MS: Readonly<Record<Reason, readonly number[]>> = {
  'at once': Array.from({ length: 10 }, () => 0),
  'not now': Array.from({ length: 6 }, () => 10_000),
  passing: [5_000, 10_000, 20_000, 30_000, 30_000],
  unproved: Array.from({ length: 40 }, () => 2_000),
};
/** When it is looked whether a request without an answer was carried out. */
const LOOKS_MS = [0, 2_000, 3_000, 5_000, 10_000, 10_000];
const LAST_LOOKS_MS = 10_000;
const IN_MOTION = /^Powering(On|Off)$/;

export function createChanges(deps: ChangesDeps): Changes {
  const { clock, bmcOf, see, allowFullPowerCycle } = deps;
  /** By the entry's id: the next change waits until this one has shown. */
  const underWay = new Map<string, Sent>();

  /** Reads the system, and is sure that it is the right one and ours. */
  async function look(entry: BmcEntry, wire: Wire, call: CallOptions): Promise<System> {
    const system = await readSystem(bmcOf(entry), wire, entry.system, clock.monotonic());
    requireOurs(entry, system, call);
    return system;
  }
  function requireOurs(entry: BmcEntry, system: System, call: CallOptions): void {
    checkIdentity(entry, system);
    call.requireOurs(see(entry, system));
  }

  /** What was sent last and may still come about; a BMC may carry out an old order after a newer one. */
  function unproved({ id }: BmcEntry, now: System): Sent | null {
    const sent = underWay.get(id);
    if (!sent) return null;
    const ageMs = clock.monotonic() - sent.atMs;
    const isOver = hasHappened(sent.type, sent.before, now) || ageMs >= patienceOf(sent.type, now);
    if (isOver) underWay.delete(id);
    return isOver ? null : sent;
  }

  async function attempt(
    entry: BmcEntry,
    wire: Wire,
    { want, call, tried }: { want: Want; call: CallOptions; tried: ReadonlyMap<Reason, number> },
  ): Promise<Step> {
    const bmc = bmcOf(entry);
    const before = async () => call.beforeSending?.();
    const found = await look(entry, wire, call);
    const earlier = unproved(entry, found);
    if (isThere(want, found.power) && !earlier) return { next: 'done', ref: 'already' };
    if (earlier) {
      const message = `${earlier.type} of ${entry.id} has not shown yet`;
      return { next: 'again', reason: 'unproved', error: new ProviderError('transient', message) };
    }
    const isMoving = 'reboot' in want && IN_MOTION.test(found.power ?? '');
    if (isMoving && (tried.get('not now') ?? 0) < WAITS_MS['not now'].length) {
      const message = `${entry.id} is ${found.power} just now`;
      return { next: 'again', reason: 'not now', error: new ProviderError('transient', message) };
    }
    const { reset } = found;
    const allowed = reset && (await allowedResets(bmc, wire, reset));
    const type = allowed && resetFor({ want, power: found.power, allowed, allowFullPowerCycle });
    if (!reset || !type) {
      const can = allowed?.join(', ') || 'nothing';
      throw new ProviderError('not-implemented', `its BMC cannot do that; it allows ${can}`);
    }
    const system = bootsDisk(want) ? await clearOverride(wire, found, before) : found;
    if (system !== found) requireOurs(entry, system, call);
    await before();
    const sent = { type, before: system, atMs: clock.monotonic() };
    try {
      const reply = await wire.send('POST', reset.target, { ResetType: type });
      underWay.set(entry.id, sent);
      return { next: 'look', sent, reply };
    } catch (error) {
      return judge(entry, wire, { want, call, error, sent });
    }
  }

  /** What follows from a request that was not accepted. */
  async function judge(
    entry: BmcEntry,
    wire: Wire,
    { want, call, error, sent }: { want: Want; call: CallOptions; error: unknown; sent: Sent },
  ): Promise<Step> {
    if (!isProviderError(error)) throw error;
    if (error.outcome === 'unknown') {
      underWay.set(entry.id, sent);
      return { next: 'look', sent, error };
    }
    const refusal = refusalIn(error);
    if (!refusal) throw error;
    if (isNever(refusal)) {
      bmcOf(entry).cannot.add(resetKey(sent.before.reset!.target, sent.type));
      return { next: 'again', reason: 'at once', error };
    }
    if (![400, 409].includes(refusal.status)) throw error;
    const now = await look(entry, wire, call);
    if (isThere(want, now.power)) return { next: 'done', ref: sent.type };
    const wentOff = 'reboot' in want && sent.before.power !== 'Off' && now.power === 'Off';
    if (wentOff) return { next: 'again', reason: 'at once', error };
    if (isNotNow(refusal) || isEarlyOn(refusal, sent.type)) {
      return { next: 'again', reason: 'not now', error };
    }
    throw error;
  }

  /** Whether what was sent has come about; a reboot is never sent a second time blindly. */
  async function provesItself(
    entry: BmcEntry,
    { type, before }: Sent,
    call: CallOptions,
  ): Promise<boolean> {
    for (const waitMs of LOOKS_MS) {
      if (!hasTime(call, waitMs)) return false;
      await pause(waitMs, call);
      try {
        const now = await bmcOf(entry).inTurn({ signal: call.signal, urgent: true }, (wire) =>
          look(entry, wire, call),
        );
        if (hasHappened(type, before, now)) return true;
      } catch (error) {
        if (!isProviderError(error, 'transient', 'permanent')) throw unknownAfter(error);
      }
    }
    return false;
  }

  /** Room for what has to be done after a wait. */
  const hasTime = ({ deadline }: CallOptions, waitMs: number) =>
    clock.now() + waitMs + 2_000 < deadline.getTime();

  const pause = (waitMs: number, { signal }: CallOptions) =>
    waitMs === 0
      ? Promise.resolve()
      : sleep(clock, waitMs, signal).catch((cause: unknown) => {
          throw new ProviderError('aborted', 'aborted between two requests', { cause });
        });

  /** What was accepted, or may have been, up to its end. */
  async function seeThrough(
    entry: BmcEntry,
    { sent, reply, error }: Extract<Step, { next: 'look' }>,
    call: CallOptions,
  ): Promise<string> {
    const bmc = bmcOf(entry);
    const task = reply ? taskOf(reply, bmc.url) : null;
    const { signal } = call;
    // Then the state has the last word, for which some time is left.
    const deadline = new Date(call.deadline.getTime() - LAST_LOOKS_MS);
    const isAccepted =
      reply !== undefined &&
      (task === null || (await followTask(bmc, reply, { signal, deadline }, clock)) === 'done');
    const path = task === null ? '' : ` ${task}`;
    if (isAccepted || (await provesItself(entry, sent, call))) return `${sent.type}${path}`;
    throw new ProviderError('transient', `nobody knows what became of ${sent.type}`, {
      cause: error,
      outcome: 'unknown',
    });
  }

  return {
    async carryOut(entry, want, call) {
      const tried = new Map<Reason, number>();
      try {
        for (;;) {
          const how = { signal: call.signal, urgent: true };
          const step = await bmcOf(entry).inTurn(how, (wire) =>
            attempt(entry, wire, { want, call, tried }).catch((error: unknown) => {
              const refusal = refusalIn(error);
              if (!refusal || !isNotNow(refusal)) throw error;
              return { next: 'again', reason: 'passing', error } as const;
            }),
          );
          if (step.next === 'done') return refOf(step.ref, entry);
          if (step.next === 'look') return refOf(await seeThrough(entry, step, call), entry);
          const count = tried.get(step.reason) ?? 0;
          const waitMs = WAITS_MS[step.reason][count];
          if (waitMs === undefined || !hasTime(call, waitMs)) throw step.error;
          tried.set(step.reason, count + 1);
          await pause(waitMs, call);
        }
      } catch (error) {
        throw told(error, entry, want);
      }
    },
  };

  function refOf(what: string, { id }: BmcEntry): OperationRef {
    const [type = '', task] = what.split(' ');
    const parts = [type, id, new Date(clock.now()).toISOString(), ...(task ? [task] : [])];
    const isGraceful = type.startsWith('Graceful');
    return { operationRef: parts.join(' '), ...(isGraceful && { isGraceful }) };
  }
}

/** Nothing boots where the power goes off; an installation boots what it prepared. */
const bootsDisk = (want: Want): boolean =>
  'reboot' in want || (want.power === 'on' && want.isInstalling !== true);

/** Some BMCs refuse On for a while after the power went off. */
const isEarlyOn = ({ status, ids }: Refusal, type: string): boolean =>
  status === 409 && type === 'On' && ids.includes('ActionParameterValueConflict');

const unknownAfter = (error: unknown): unknown =>
  isProviderError(error)
    ? new ProviderError(error.kind, 'what was sent cannot be looked at', {
        cause: error,
        outcome: 'unknown',
      })
    : error;

/** The same, saying what was being done to which machine. */
function told(error: unknown, { id }: BmcEntry, want: Want): unknown {
  if (!isProviderError(error)) return error;
  const doing = 'reboot' in want ? `reboot ${id}` : `switch ${id} ${want.power}`;
  const { kind, outcome, rateLimit } = error;
  return new ProviderError(kind, `cannot ${doing}`, {
    cause: error,
    outcome,
    ...(rateLimit && { rateLimit }),
  });
}
