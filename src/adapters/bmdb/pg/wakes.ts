import type pg from 'pg';
import { NEVER, Observable, retry, share, takeUntil } from 'rxjs';
import type { Subject } from 'rxjs';
import { Unreachable } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Wake } from '../port.ts';
import { connectClient, createHosts, type Hosts } from './hosts.ts';

/** `poll`: the database, or what stands before it, has no notifications; wakes never come. */
export type WakesMode = 'listen' | 'poll';

export interface WakesDeps {
  readonly url: string;
  readonly mode: WakesMode;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** For connecting, and for each answer. */
  readonly timeoutMs: number;
  /** Ends the connection for good. */
  readonly stopped$: Subject<void>;
}

const CHANNEL = 'shepherd_wake';
const RETRY_MIN_MS = 250;
/** A connection may break without a word: then nothing but asking tells. */
const PROBE_MS = 10_000;
/** So that wakes come again soon after the database does. */
const RETRY_MAX_MS = 3_000;

/**
 * Notifications of the triggers, over a connection of their own that is shared by all readers and
 * reconnects by itself. Also fires at each connect: changes before it were not heard. What a
 * notification says is never read.
 */
export function createWakes(deps: WakesDeps): Observable<Wake> {
  if (deps.mode === 'poll') return NEVER.pipe(takeUntil(deps.stopped$));
  const hosts = createHosts(deps.url);
  return new Observable<Wake>((subscriber) => {
    let connects = 0;
    const onConnect = (): Wake => (++connects === 1 ? 'changed' : 'reconnected');
    return listen(deps, hosts, onConnect)
      .pipe(
        retry({ delay: (error, attempts) => pause(deps, error, attempts), resetOnSuccess: true }),
        takeUntil(deps.stopped$),
      )
      .subscribe(subscriber);
  }).pipe(share());
}

function listen(
  { clock, timeoutMs }: WakesDeps,
  hosts: Hosts,
  onConnect: () => Wake,
): Observable<Wake> {
  const options = {
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: PROBE_MS,
    application_name: 'shepherd wakes',
  };
  return new Observable<Wake>((subscriber) => {
    const controller = new AbortController();
    let client: pg.Client | undefined;
    let probe: unknown;
    const onBreak = (cause?: unknown) =>
      subscriber.error(new Unreachable('the connection for wakes broke', { cause }));
    /** Doing it again changes nothing, but is answered. */
    const ask = async () => {
      await client!.query(`LISTEN ${CHANNEL}`);
      if (!subscriber.closed) probe = clock.setTimeout(() => void ask().catch(onBreak), PROBE_MS);
    };
    const open = async () => {
      client = await connectClient(hosts, options, { timeoutMs, signal: controller.signal });
      client.on('error', onBreak);
      client.on('end', () => onBreak());
      client.on('notification', () => subscriber.next('changed'));
      await ask();
      subscriber.next(onConnect());
    };
    open().catch(onBreak);
    return () => {
      clock.clearTimeout(probe);
      controller.abort();
      // Nobody listens any more, so it does not matter how the goodbye goes.
      client?.end().catch(() => undefined);
    };
  });
}

function pause({ clock, random, log }: WakesDeps, error: unknown, attempts: number) {
  const limitMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (attempts - 1));
  const delayMs = limitMs * (0.5 + random.next() / 2);
  log.debug({ err: error, delayMs }, 'no wakes from the database for now');
  return new Observable<void>((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
