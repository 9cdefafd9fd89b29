import pLimit from 'p-limit';
import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { DriverContext } from '../port.ts';
import type { Bmc } from './client/bmc.ts';
import type { BmcEntry } from './entries.ts';

export interface PowerPollOptions {
  readonly periodMs: number;
  /** At once of those whose last look failed: the others of the rack do not wait for them. */
  readonly asideMax: number;
  /** Looks at one machine. */
  readonly look: (entry: BmcEntry, signal: AbortSignal) => Promise<void>;
  /** A round of a BMC is over. */
  readonly onRound: (bmc: Bmc) => Promise<void>;
}

/** Reads power states from time to time, with nobody waiting for them. */
export interface PowerPoll {
  /** These machines from now on, by their BMC. */
  keep(machines: ReadonlyMap<Bmc, readonly BmcEntry[]>): void;
  /** Something was changed there: it is looked at soon. */
  hurry(bmc: Bmc): void;
  /** Resolves when no look is under way any more. */
  stop(): Promise<void>;
}

const JITTER = 0.2;
/** The first looks at a rack are spread over this part of the period. */
const FIRST = 0.2;
/** A BMC that takes longer to show its root, which needs no login, is put aside. */
const GREETING_MS = 5_000;
/** A change takes so long to show. */
const SOON_MS = 30_000;

export function createPowerPoll(
  { periodMs, asideMax, look, onRound }: PowerPollOptions,
  { clock, random, log, name }: DriverContext,
): PowerPoll {
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
      if (!stopping.signal.aborted)
        log.error({ provider: name, bmc: bmc.url, err }, 'a BMC was not attended to');
    });
    if (stopping.signal.aborted || !machines.has(bmc)) return;
    const jitteredMs = periodMs * (1 - JITTER + 2 * JITTER * random.next());
    const restMs = bmc.standing.restMs();
    schedule(bmc, restMs > 0 ? restMs : jitteredMs);
  }

  function tell(bmc: Bmc, failure: unknown) {
    const fields = { provider: name, bmc: bmc.url };
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
    keep(kept) {
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
    hurry(bmc) {
      if (stopping.signal.aborted || polled.has(bmc) || !machines.has(bmc)) return;
      clock.clearTimeout(timers.get(bmc));
      schedule(bmc, SOON_MS);
    },
    async stop() {
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
