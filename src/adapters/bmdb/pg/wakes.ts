import type pg from 'pg';
import { NEVER, Observable, retry, share, takeUntil } from 'rxjs';
import type { Subject } from 'rxjs';
import { Unreachable } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Wake } from '../port.ts';
import { connectClient, createHosts, type Hosts } from './hosts.ts';

/** `poll`: the database, or a pooler in front of it, has no notifications; wakes never come. */
export type WakesMode = 'listen' | 'poll';

export interface WakesDeps {
  readonly url: string;
  readonly mode: WakesMode;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Limit for connecting, and for each answer. */
  readonly timeoutMs: number;
  /** Closes the connection for good. */
  readonly stopped$: Subject<void>;
}

const CHANNEL = 'shepherd_wake';
const RETRY_MIN_MS = 250;
/** A connection may break silently, so it is probed at this interval. */
const PROBE_MS = 10_000;
/** Short, so that wakes resume soon after the database is back. */
const RETRY_MAX_MS = 3_000;

/**
 * Notifications of the triggers, over one connection that all readers share and that reconnects by
 * itself. Also emits at each connect, because earlier changes were missed. The payload is never
 * read.
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
    /** Repeating LISTEN changes nothing, but is answered. */
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
      // Nobody listens any more, so a failed goodbye does not matter.
      client?.end().catch(() => undefined);
    };
  });
}

function pause({ clock, random, log }: WakesDeps, error: unknown, attempts: number) {
  const limitMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** (attempts - 1));
  const delayMs = limitMs * (0.5 + random.next() / 2);
  log.debug({ err: error, delayMs }, 'no wakes from the database at present');
  return new Observable<void>((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(), delayMs);
    return () => clock.clearTimeout(timer);
  });
}
