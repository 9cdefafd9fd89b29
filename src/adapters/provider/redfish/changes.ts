import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { sleep } from '../../clock/port.ts';
import { asUnknown } from '../../driver-kit/errors.ts';
import type { CallOptions, DriverContext, DriverMachine, OperationRef } from '../port.ts';
import type { Wire, Bmc } from './client/bmc.ts';
import {
  isNotNow,
  refusalIn,
  isObject,
  etagOf,
  isNever,
  type BmcJson,
  type RedfishRefusal,
  type Reply,
} from './client/errors.ts';
import { followTask, taskOf } from './client/session.ts';
import {
  patch,
  bootOf,
  systemOf,
  allowedResets,
  resetKey,
  readSystem,
  type BootOverride,
  type System,
} from './client/system.ts';
import type { BmcEntry } from './entries.ts';
import { hasHappened, patienceOf, isThere, resetFor, type Want } from './power.ts';
import { checkIdentity } from './rack.ts';

/** All others lead elsewhere: vendors have their own names, such as `CD/DVD` and `UefiUsbKey`. */
const HARMLESS = /^(None|Hdd|BiosSetup)$/i;

/** Whether the next boot would not use the disk: then a reboot would become a reinstallation. */
export const leadsElsewhere = ({ enabled, target }: BootOverride): boolean =>
  enabled !== null && enabled !== 'Disabled' && target !== null && !HARMLESS.test(target);

/**
 * Changes boot settings where the BMC keeps them: at the system, or at its settings resource. A BMC
 * that reports a missing field gets target, kind and mode together.
 */
export async function patchBoot(wire: Wire, system: System, boot: BmcJson): Promise<void> {
  const { target, enabled, mode } = system.boot;
  const whole = {
    BootSourceOverrideTarget: target ?? 'None',
    BootSourceOverrideEnabled: enabled ?? 'Disabled',
    BootSourceOverrideMode: mode ?? 'UEFI',
  };
  try {
    await patch(wire, await placeOf(wire, system), { Boot: boot });
  } catch (error) {
    const { status = 0, ids = [] } = refusalIn(error) ?? {};
    if (status !== 400 || !ids.includes('PropertyMissing')) throw error;
    await patch(wire, await placeOf(wire, system), { Boot: { ...whole, ...boot } });
  }
}

/** Where boot settings are changed, with their current values. */
type BootSettings = Pick<System, 'path' | 'etag' | 'boot'>;
const placeOf = async (wire: Wire, system: System): Promise<BootSettings> =>
  (await pendingOf(wire, system)) ?? system;

/**
 * Next boot according to a settings resource, which the system itself may not show yet; null if
 * none holds boot settings.
 */
export async function pendingOf(
  wire: Wire,
  { settingsPath }: System,
): Promise<BootSettings | null> {
  if (settingsPath === null) return null;
  try {
    const found = await wire.get(settingsPath);
    const { path, json = {} } = found;
    if (!isObject(json['Boot']) || !('BootSourceOverrideEnabled' in json['Boot'])) return null;
    return { path, etag: etagOf(found), boot: bootOf(json) };
  } catch (error) {
    if (isProviderError(error, 'not-implemented')) return null;
    throw error;
  }
}

/**
 * Clears a boot override left by somebody, at the system and in its settings resource, and reads
 * the system again if there was one.
 * @param beforeSending awaited just before each change.
 * @throws {ProviderError} `conflict`: the override stays, for one boot or for all, and that boot
 *   could erase the disk. `transient`: not now.
 */
export async function clearOverride(
  wire: Wire,
  system: System,
  beforeSending: () => Promise<void>,
): Promise<System> {
  const left = await leftIn(wire, system);
  if (left === null) return system;
  let now = system;
  let reason: unknown;
  for (const boot of waysToClear(left)) {
    await beforeSending();
    try {
      await changeEverywhere(wire, now, boot);
    } catch (error) {
      const refusal = refusalIn(error);
      const isRefused = refusal !== null && refusal.status !== 401 && !isNotNow(refusal);
      if (!isRefused || isProviderError(error, 'transient')) throw error;
      reason = error;
      if (refusal.status === 403) break;
    }
    now = systemOf(await wire.get(system.path));
    if ((await leftIn(wire, now)) === null) return now;
  }
  throw stays(left, reason);
}

/**
 * Bodies to send until the disk boots next. Some BMCs refuse `Disabled` without a target;
 * sushy-tools accepts only a target, for every boot, and does not know `None`.
 */
function waysToClear({ target, mode }: BootOverride): readonly BmcJson[] {
  const whole = (to: string | null, enabled: string) => ({
    BootSourceOverrideTarget: to,
    BootSourceOverrideEnabled: enabled,
    ...(mode !== null && { BootSourceOverrideMode: mode }),
  });
  return [
    { BootSourceOverrideEnabled: 'Disabled' },
    whole(target, 'Disabled'),
    whole('None', 'Disabled'),
    whole('Hdd', 'Once'),
  ];
}

/** With a separate settings resource, the system may still keep its own value. */
async function changeEverywhere(wire: Wire, system: System, boot: BmcJson): Promise<void> {
  await patch(wire, await placeOf(wire, system), { Boot: boot });
  if (system.settingsPath === null) return;
  const between = systemOf(await wire.get(system.path));
  if (leadsElsewhere(between.boot)) await patch(wire, between, { Boot: boot });
}

/** The override of the next boot; null if that boots the disk. */
async function leftIn(wire: Wire, system: System): Promise<BootOverride | null> {
  if (leadsElsewhere(system.boot)) return system.boot;
  const pending = await pendingOf(wire, system);
  return pending && leadsElsewhere(pending.boot) ? pending.boot : null;
}

/** A single-boot override is as harmful: that boot may start an installer. */
const stays = ({ enabled, target }: BootOverride, cause?: unknown) =>
  new ProviderError(
    'conflict',
    `its boot override to ${target} (${enabled}) cannot be cleared, and booting into it may erase the ` +
      'disk: no reset was sent; set it to Disabled at the BMC itself, or boot the machine there manually',
    { cause },
  );

export interface ChangesDeps extends Pick<DriverContext, 'clock'> {
  readonly bmcOf: (entry: BmcEntry) => Bmc;
  /** Records what was read. @returns the machine afterwards. */
  readonly see: (entry: BmcEntry, system: System) => DriverMachine;
  readonly allowFullPowerCycle: boolean;
}

/** A change that was sent, whose effect has not been seen yet. */
interface Sent {
  readonly type: string;
  readonly before: System;
  readonly atMs: number;
}

type ChangeStep =
  | { readonly next: 'done'; readonly ref: string }
  /** Accepted, perhaps as a task; or lost, with the error to throw if it had no effect. */
  | { readonly next: 'look'; readonly sent: Sent; readonly reply?: Reply; readonly error?: unknown }
  | { readonly next: 'again'; readonly reason: Reason; readonly error: unknown };
type Reason = 'at once' | 'not now' | 'passing' | 'unproved';

/** Waits between attempts, by reason; after the last one the error is final. */
const WAITS_MS: Readonly<Record<Reason, readonly number[]>> = {
  'at once': Array.from({ length: 10 }, () => 0),
  'not now': Array.from({ length: 6 }, () => 10_000),
  passing: [5_000, 10_000, 20_000, 30_000, 30_000],
  unproved: Array.from({ length: 40 }, () => 2_000),
};
/** Delays of checks whether a request without an answer had an effect. */
const LOOKS_MS = [0, 2_000, 3_000, 5_000, 10_000, 10_000];
const LAST_LOOKS_MS = 10_000;
const IN_MOTION = /^Powering(On|Off)$/;

/** Reboots machines and switches their power. */
export function createChanges(deps: ChangesDeps) {
  const { clock, bmcOf, see, allowFullPowerCycle: mayCycleAll } = deps;
  /** By entry id: the next change waits until this one's effect is seen. */
  const underWay = new Map<string, Sent>();

  /** Reads the system and verifies that it is the entry's and ours. */
  async function look(entry: BmcEntry, wire: Wire, call: CallOptions): Promise<System> {
    const system = await readSystem(bmcOf(entry), wire, entry.system, clock.monotonic());
    requireOurs(entry, system, call);
    return system;
  }
  function requireOurs(entry: BmcEntry, system: System, call: CallOptions): void {
    checkIdentity(entry, system);
    call.requireOurs(see(entry, system));
  }

  /** The last request, if it may still take effect, perhaps after a newer one. */
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
  ): Promise<ChangeStep> {
    const bmc = bmcOf(entry);
    const before = async () => call.beforeSending?.();
    const found = await look(entry, wire, call);
    const earlier = unproved(entry, found);
    if (isThere(want, found.power) && !earlier) return { next: 'done', ref: 'already' };
    if (earlier) {
      const message = `${earlier.type} of ${entry.id} has not taken effect yet`;
      return { next: 'again', reason: 'unproved', error: new ProviderError('transient', message) };
    }
    const isMoving = 'reboot' in want && IN_MOTION.test(found.power ?? '');
    if (isMoving && (tried.get('not now') ?? 0) < WAITS_MS['not now'].length) {
      const message = `${entry.id} is ${found.power} at present`;
      return { next: 'again', reason: 'not now', error: new ProviderError('transient', message) };
    }
    const { reset } = found;
    const allowed = reset && (await allowedResets(bmc, wire, reset));
    const type = allowed && resetFor(want, found.power, { allowed, mayCycleAll });
    if (!reset || !type) {
      const can = allowed?.join(', ') || 'nothing';
      throw new ProviderError('not-implemented', `its BMC does not support that; it allows ${can}`);
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

  /** What to do after a request that was not accepted. */
  async function judge(
    entry: BmcEntry,
    wire: Wire,
    { want, call, error, sent }: { want: Want; call: CallOptions; error: unknown; sent: Sent },
  ): Promise<ChangeStep> {
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

  /** Whether the request had an effect; a reboot is never repeated blindly. */
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
        if (!isProviderError(error, 'transient', 'permanent'))
          throw asUnknown(error, 'the effect of a request cannot be checked');
      }
    }
    return false;
  }

  /** Whether time is left for the work after a wait. */
  const hasTime = ({ deadline }: CallOptions, waitMs: number) =>
    clock.now() + waitMs + 2_000 < deadline.getTime();

  const pause = (waitMs: number, { signal }: CallOptions) =>
    waitMs === 0
      ? Promise.resolve()
      : sleep(clock, waitMs, signal).catch((cause: unknown) => {
          throw new ProviderError('aborted', 'aborted between two requests', { cause });
        });

  /** Follows an accepted, or possibly accepted, request to its end. */
  async function seeThrough(
    entry: BmcEntry,
    { sent, reply, error }: Extract<ChangeStep, { next: 'look' }>,
    call: CallOptions,
  ): Promise<string> {
    const bmc = bmcOf(entry);
    const task = reply ? taskOf(reply, bmc.url) : null;
    const { signal } = call;
    // Then the state decides; some time is reserved for that.
    const deadline = new Date(call.deadline.getTime() - LAST_LOOKS_MS);
    const isAccepted =
      reply !== undefined &&
      (task === null || (await followTask(bmc, reply, { signal, deadline }, clock)) === 'done');
    const path = task === null ? '' : ` ${task}`;
    if (isAccepted || (await provesItself(entry, sent, call))) return `${sent.type}${path}`;
    throw new ProviderError('transient', `the result of ${sent.type} is unknown`, {
      cause: error,
      outcome: 'unknown',
    });
  }

  return {
    async carryOut(entry: BmcEntry, want: Want, call: CallOptions): Promise<OperationRef> {
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
export type Changes = ReturnType<typeof createChanges>;

/** A power-off boots nothing; an installation boots what it prepared. */
const bootsDisk = (want: Want): boolean =>
  'reboot' in want || (want.power === 'on' && want.isInstalling !== true);

/** Some BMCs refuse On for a while after a power-off. */
const isEarlyOn = ({ status, ids }: RedfishRefusal, type: string): boolean =>
  status === 409 && type === 'On' && ids.includes('ActionParameterValueConflict');

/** Adds the operation and the machine to the error. */
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
