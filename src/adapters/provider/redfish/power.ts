import pLimit from 'p-limit';
import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ReportedConditions } from '../../../domain/conditions.ts';
import type { DriverContext } from '../port.ts';
import type { Bmc } from './client/bmc.ts';
import type { System } from './client/system.ts';
import type { BmcEntry } from './entries.ts';

/** Values whose comparison shows whether a reset was carried out. */
export type Before = Pick<System, 'power' | 'lastResetMs' | 'progress' | 'readAtMs'>;

const RUNNING = 'OSRunning';
const STAGES = [
  'None',
  'PrimaryProcessorInitializationStarted',
  'BusInitializationStarted',
  'MemoryInitializationStarted',
  'SecondaryProcessorInitializationStarted',
  'PCIResourceConfigStarted',
  'SystemHardwareInitializationComplete',
  'SetupEntered',
  'OSBootStarted',
  RUNNING,
];

/** Whether the system was reset after its first read; both times are by the BMC's own clock. */
export function wasReset(before: Before, now: Before): boolean {
  const sinceMs = before.lastResetMs ?? before.readAtMs;
  if (now.lastResetMs !== null && sinceMs !== null && now.lastResetMs > sinceMs) return true;
  const [then, since] = [before.progress, now.progress];
  if (!then?.sinceMs || !since?.sinceMs || since.sinceMs <= then.sinceMs) return false;
  // A boot already in progress only moves forward.
  return then.state === RUNNING || STAGES.indexOf(since.state) < STAGES.indexOf(then.state);
}

/** Whether the BMC reports anything that would show a reset. */
const tellsResets = ({ lastResetMs, progress }: Before): boolean =>
  lastResetMs !== null || (progress !== null && progress.sinceMs !== null);

/** Whether the requested reset type has taken effect. */
export function hasHappened(type: string, before: Before, now: Before): boolean {
  if (type === 'ForceOff') return now.power === 'Off';
  if (['On', 'ForceOn', 'PushPowerButton'].includes(type)) return now.power === 'On';
  return wasReset(before, now);
}

/** How long a change may take to show; afterwards it counts as lost, and the next may be sent. */
export const patienceOf = (type: string, before: Before): number =>
  SWITCHING.test(type) || tellsResets(before) ? PATIENCE_MS : BLIND_PATIENCE_MS;
/** A second push of the button undoes the first. */
const SWITCHING = /^(On|ForceOn|ForceOff|PushPowerButton)$/;
const PATIENCE_MS = 60_000;
const BLIND_PATIENCE_MS = 10_000;

/** Requested change of a machine. */
export type Want =
  | { readonly reboot: 'graceful' | 'force' }
  | {
      readonly power: 'on' | 'off';
      /** Keeps the boot override, which is ours. */
      readonly isInstalling?: true;
    };

/** Whether the machine already has this state, so that no request is needed. */
export const isThere = (want: Want, power: string | null): boolean =>
  'power' in want && power === (want.power === 'on' ? 'On' : 'Off');

/**
 * Reset type to request; null if the BMC has no suitable one. GracefulShutdown followed by On is
 * not used: if the daemon died in between, the machine would stay off.
 */
export function resetFor(
  want: Want,
  power: string | null,
  { allowed, mayCycleAll }: { readonly allowed: readonly string[]; readonly mayCycleAll: boolean },
): string | null {
  return candidates(want, power, mayCycleAll).find((type) => allowed.includes(type)) ?? null;
}

function candidates(want: Want, power: string | null, mayCycleAll: boolean): readonly string[] {
  const isOff = power === 'Off';
  if ('power' in want && want.power === 'off') return ['ForceOff'];
  if ('power' in want) return ['On', 'ForceOn', ...(isOff ? ['PushPowerButton'] : [])];
  if (isOff) return ['On', 'ForceOn', 'PushPowerButton'];
  if (want.reboot === 'graceful') return ['GracefulRestart', 'ForceRestart'];
  return ['ForceRestart', 'PowerCycle', ...(mayCycleAll ? ['FullPowerCycle'] : [])];
}

export interface PowerPollOptions {
  readonly periodMs: number;
  /** Maximum concurrent BMCs that failed last, so that the others do not wait for them. */
  readonly asideMax: number;
  /** Reads one machine. */
  readonly look: (entry: BmcEntry, signal: AbortSignal) => Promise<void>;
  /** Called at the end of a BMC's round. */
  readonly onRound: (bmc: Bmc) => Promise<void>;
}

const JITTER = 0.2;
/** Share of the period over which the first reads of a rack are spread. */
const FIRST = 0.2;
/** A BMC whose root, which needs no login, takes longer is set aside. */
const GREETING_MS = 5_000;
/** Time that a change takes to show. */
const SOON_MS = 30_000;

/** Reads power states periodically in the background. */
export function createPowerPoll(
  { periodMs, asideMax, look, onRound }: PowerPollOptions,
  { clock, random, log }: DriverContext,
) {
  const stopping = new AbortController();
  const timers = new Map<Bmc, unknown>();
  const running = new Set<Promise<void>>();
  /** BMCs with a round in progress. */
  const polled = new Set<Bmc>();
  let machines: ReadonlyMap<Bmc, readonly BmcEntry[]> = new Map();
  /** Last logged complaint of each BMC, so that it is logged once. */
  const complaints = new Map<Bmc, string>();
  const aside = pLimit(asideMax);
  const greeted = new WeakSet<Bmc>();

  function schedule(bmc: Bmc, delayMs: number) {
    timers.set(
      bmc,
      clock.setTimeout(() => {
        const round = poll(bmc).finally(() => running.delete(round));
        running.add(round);
      }, delayMs),
    );
  }

  /** Returns the error that prevented the read; null if none did. */
  async function lookAt(bmc: Bmc): Promise<unknown> {
    let failure: unknown = null;
    for (const entry of machines.get(bmc) ?? []) {
      if (bmc.standing.restMs() > 0 || stopping.signal.aborted) break;
      failure = await failureOf(look(entry, stopping.signal));
    }
    return failure;
  }

  /** First contact with a BMC: a slow one is noticed before it delays others for long. */
  async function greet(bmc: Bmc): Promise<void> {
    greeted.add(bmc);
    const late = new AbortController();
    let timer: unknown;
    const signal = AbortSignal.any([stopping.signal, late.signal]);
    try {
      await bmc.inTurn({ signal, beside: true }, (wire) => {
        timer = clock.setTimeout(() => late.abort(new Error('it is slow')), GREETING_MS);
        return wire.root();
      });
    } catch (cause) {
      if (!late.signal.aborted || stopping.signal.aborted) throw cause;
      bmc.standing.failed({ silent: false });
      const message = `${bmc.url} takes longer than ${GREETING_MS} ms to return its root`;
      throw new ProviderError('transient', message, { cause });
    } finally {
      clock.clearTimeout(timer);
    }
  }

  async function poll(bmc: Bmc): Promise<void> {
    polled.add(bmc);
    const isAside = complaints.has(bmc);
    const unwelcome = greeted.has(bmc) ? null : await failureOf(greet(bmc));
    const failure = unwelcome ?? (await (isAside ? aside(() => lookAt(bmc)) : lookAt(bmc)));
    polled.delete(bmc);
    if (stopping.signal.aborted || !machines.has(bmc)) return;
    tell(bmc, failure);
    await onRound(bmc).catch((err: unknown) => {
      if (!stopping.signal.aborted) log.error({ bmc: bmc.url, err }, 'the care of a BMC failed');
    });
    if (stopping.signal.aborted || !machines.has(bmc)) return;
    const jitteredMs = periodMs * (1 - JITTER + 2 * JITTER * random.next());
    const restMs = bmc.standing.restMs();
    schedule(bmc, restMs > 0 ? restMs : jitteredMs);
  }

  function tell(bmc: Bmc, failure: unknown) {
    const fields = { bmc: bmc.url };
    if (failure === null) {
      if (complaints.delete(bmc)) log.info(fields, 'a BMC answers again');
      return;
    }
    const kind = isProviderError(failure) ? failure.kind : 'internal';
    if (complaints.get(bmc) === kind) return;
    complaints.set(bmc, kind);
    const cause = explain(failure);
    if (isProviderError(failure))
      log.warn({ ...fields, kind, cause }, 'a BMC reports no power state');
    else log.error({ ...fields, err: failure }, 'a BMC could not be read');
  }

  return {
    /** Sets the machines, by BMC. */
    keep(kept: ReadonlyMap<Bmc, readonly BmcEntry[]>): void {
      machines = kept;
      for (const [bmc, timer] of timers) {
        if (kept.has(bmc)) continue;
        clock.clearTimeout(timer);
        timers.delete(bmc);
        complaints.delete(bmc);
      }
      for (const bmc of kept.keys()) {
        if (!timers.has(bmc)) schedule(bmc, FIRST * periodMs * random.next());
      }
    },
    /** Something was changed there: read soon. */
    hurry(bmc: Bmc): void {
      if (stopping.signal.aborted || polled.has(bmc) || !machines.has(bmc)) return;
      clock.clearTimeout(timers.get(bmc));
      schedule(bmc, SOON_MS);
    },
    /** Resolves when no read is in progress. */
    async stop(): Promise<void> {
      stopping.abort(new Error('the provider was stopped'));
      for (const timer of timers.values()) clock.clearTimeout(timer);
      timers.clear();
      await Promise.allSettled(running);
    },
  };
}
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** Last sighting of a machine. */
export interface Sighting extends ReportedConditions {
  /** The BMC's own value. */
  readonly power: string | null;
  /** Set id of the asset tag's mark; null if there is none. */
  readonly setId: string | null;
  /** By the monotonic clock. */
  readonly seenMs: number;
}

/** "off" must be a fresh observation, because a power cycle relies on it. */
export const powerOf = (sighting: Sighting | null): 'on' | 'off' | 'unknown' =>
  sighting?.power === 'On' ? 'on' : sighting?.power === 'Off' ? 'off' : 'unknown';

const AT_REST = new Set(['Off', 'PoweringOff', 'PoweringOn', 'Paused']);
export const isAtRest = (sighting: Sighting | null): boolean => AT_REST.has(sighting?.power ?? '');
