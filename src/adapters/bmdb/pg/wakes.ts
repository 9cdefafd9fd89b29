import pg from 'pg';
import { Observable, retry, share, takeUntil } from 'rxjs';
import type { Subject } from 'rxjs';
import { Unreachable } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';

export interface WakesDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ends the connection for good. */
  readonly stopped$: Subject<void>;
}

const CHANNEL = 'shepherd_wake';
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 15_000;

/**
 * Notifications of the triggers, over a connection of their own that is shared by all readers and
 * reconnects by itself. Also fires at each connect: changes before it were not heard.
 */
export const createWakes = (deps: WakesDeps): Observable<void> =>
  listen(deps).pipe(
    retry({ delay: (error, attempts) => pause(deps, error, attempts), resetOnSuccess: true }),
    takeUntil(deps.stopped$),
    share(),
  );

function listen({ url }: WakesDeps): Observable<void> {
  return new Observable<void>((subscriber) => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      application_name: 'shepherd wakes',
    });
    const onBreak = (cause?: unknown) =>
      subscriber.error(new Unreachable('the connection for wakes broke', { cause }));
    client.on('error', onBreak);
    client.on('end', () => onBreak());
    client.on('notification', () => subscriber.next());
    client
      .connect()
      .then(() => client.query(`LISTEN ${CHANNEL}`))
      .then(() => subscriber.next())
      .catch(onBreak);
    return () => {
      // Nobody listens any more, so it does not matter how the goodbye goes.
      client.end().catch(() => undefined);
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
