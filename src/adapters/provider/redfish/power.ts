import pLimit from 'p-limit';
import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { DriverContext } from '../port.ts';
import type { Bmc } from './client/bmc.ts';
import type { System } from './client/system.ts';
import type { BmcEntry } from './entries.ts';

/** What is compared to tell whether a reset was carried out. */
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

/** Whether the system was reset after it was first read; both are times of the BMC's own clock. */
export function wasReset(before: Before, now: Before): boolean {
  const sinceMs = before.lastResetMs ?? before.readAtMs;
  if (now.lastResetMs !== null && sinceMs !== null && now.lastResetMs > sinceMs) return true;
  const [then, since] = [before.progress, now.progress];
  if (!then?.sinceMs || !since?.sinceMs || since.sinceMs <= then.sinceMs) return false;
  // A boot that was under way anyway only goes forward.
  return then.state === RUNNING || STAGES.indexOf(since.state) < STAGES.indexOf(then.state);
}

/** Whether this BMC tells anything by which a reset could be seen. */
const tellsResets = ({ lastResetMs, progress }: Before): boolean =>
  lastResetMs !== null || (progress !== null && progress.sinceMs !== null);

/** Whether what was asked for by this type of reset has come about. */
export function hasHappened(type: string, before: Before, now: Before): boolean {
  if (type === 'ForceOff') return now.power === 'Off';
  if (['On', 'ForceOn', 'PushPowerButton'].includes(type)) return now.power === 'On';
  return wasReset(before, now);
}

/** How long a change may take to show before the next one is sent: then the first one is lost. */
export const patienceOf = (type: string, before: Before): number =>
  SWITCHING.test(type) || tellsResets(before) ? PATIENCE_MS : BLIND_PATIENCE_MS;
/** A button that is pushed once more undoes what the first push did. */
const SWITCHING = /^(On|ForceOn|ForceOff|PushPowerButton)$/;
const PATIENCE_MS = 60_000;
const BLIND_PATIENCE_MS = 10_000;

/** What is wanted of a machine. */
export type Want =
  | { readonly reboot: 'graceful' | 'force' }
  | {
      readonly power: 'on' | 'off';
      /** The boot override is ours, and stays. */
      readonly isInstalling?: true;
    };

/** Whether it is so already, and nothing need be sent. */
export const isThere = (want: Want, power: string | null): boolean =>
  'power' in want && power === (want.power === 'on' ? 'On' : 'Off');

/**
 * The type of reset to ask for; null: this BMC has none that would do. A graceful shutdown followed by
 * On is not among them: a daemon that dies in between would leave the machine off.
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
  /** At once of those whose last look failed: the others of the rack do not wait for them. */
  readonly asideMax: number;
  /** Looks at one machine. */
  readonly look: (entry: BmcEntry, signal: AbortSignal) => Promise<void>;
  /** A round of a BMC is over. */
  readonly onRound: (bmc: Bmc) => Promise<void>;
}

const JITTER = 0.2;
/** The first looks at a rack are spread over this part of the period. */
const FIRST = 0.2;
/** A BMC that takes longer to show its root, which needs no login, is put aside. */
const GREETING_MS = 5_000;
/** A change takes so long to show. */
const SOON_MS = 30_000;

/** Reads power states from time to time, with nobody waiting for them. */
export function createPowerPoll(
  { periodMs, asideMax, look, onRound }: PowerPollOptions,
  { clock, random, log }: DriverContext,
) {
  const stopping = new AbortController();
  const timers = new Map<Bmc, unknown>();
  const running = new Set<Promise<void>>();
  /** Those whose round is under way. */
  const polled = new Set<Bmc>();
  let machines: ReadonlyMap<Bmc, readonly BmcEntry[]> = new Map();
  /** What was told of a BMC last, so that it is told once. */
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

  /** What kept it from being read; null: nothing did. */
  async function lookAt(bmc: Bmc): Promise<unknown> {
    let failure: unknown = null;
    for (const entry of machines.get(bmc) ?? []) {
      if (bmc.standing.restMs() > 0 || stopping.signal.aborted) break;
      failure = await failureOf(look(entry, stopping.signal));
    }
    return failure;
  }

  /** The first look at a BMC: one that is slow is known for it before it keeps others waiting for long. */
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
      const message = `${bmc.url} takes longer than ${GREETING_MS} ms to show its root`;
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
      if (!stopping.signal.aborted) log.error({ bmc: bmc.url, err }, 'a BMC was not attended to');
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
      log.warn({ ...fields, kind, cause }, 'a BMC gives no power state');
    else log.error({ ...fields, err: failure }, 'a look at a BMC failed');
  }

  return {
    /** These machines from now on, by their BMC. */
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
    /** Something was changed there: it is looked at soon. */
    hurry(bmc: Bmc): void {
      if (stopping.signal.aborted || polled.has(bmc) || !machines.has(bmc)) return;
      clock.clearTimeout(timers.get(bmc));
      schedule(bmc, SOON_MS);
    },
    /** Resolves when no look is under way any more. */
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

/** What was seen of a machine, and when. */
export interface Sighting {
  /** As its BMC said it. */
  readonly power: string | null;
  /** Of the asset tag; null: it carries no mark. */
  readonly setId: string | null;
  /** By the monotonic clock. */
  readonly seenMs: number;
}

/** "off" must be really seen: a power cycle builds on it. */
export const powerOf = (sighting: Sighting | null): 'on' | 'off' | 'unknown' =>
  sighting?.power === 'On' ? 'on' : sighting?.power === 'Off' ? 'off' : 'unknown';

const AT_REST = new Set(['Off', 'PoweringOff', 'PoweringOn', 'Paused']);
export const isAtRest = (sighting: Sighting | null): boolean => AT_REST.has(sighting?.power ?? '');

/** The id as a host name: lower case, letters, digits and hyphens, at most 63. */
export const hostnameOf = (id: string): string =>
  id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .slice(0, 63);
