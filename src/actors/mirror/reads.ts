import {
  EMPTY,
  Subject,
  concat,
  concatMap,
  defer,
  exhaustMap,
  finalize,
  ignoreElements,
  map,
  merge,
  repeat,
  retry,
  tap,
  throttle,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { Bmdb, BmdbChanges, BmdbSnapshot, KeepRow } from '../../adapters/bmdb/port.ts';
import { sleep, type Clock, type Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Cursor } from '../../domain/ids.ts';
import type { Steps } from '../../lib/steps.ts';

export interface FleetReadsOptions {
  readonly bmdb: Pick<Bmdb, 'scan' | 'changesSince' | 'wakes$'>;
  /**
   * Full scan of the BMDB so often; less often where it takes so long that scans would be more than
   * 2 % of the time: it only heals what the feed of changes cannot tell.
   */
  readonly scanMs: number;
  /** Reads are at least this far apart, and at least as far as the last one took. */
  readonly scanGapMs: number;
  /** Asks for changes this often, ± 10 %; null: only when woken. */
  readonly pollMs: number | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** What was read: everything, or what changed since the last read; and when (monotonic) it began. */
export type FleetRead = { readonly beganAtMs: number } & Found;
type Found =
  | { readonly kind: 'scan'; readonly rows: BmdbSnapshot }
  | { readonly kind: 'changes'; readonly rows: BmdbChanges };

export interface FleetReadsHooks {
  /** Asks for another read. */
  readonly nudges$: Observable<unknown>;
  /** Called before each read. */
  readonly onBegin: () => void;
  readonly onFailed: (error: unknown) => void;
  /** See `Bmdb.scan`. */
  readonly keep: KeepRow;
  /** Takes a read in; the next one begins after that. */
  readonly take: (read: FleetRead) => Promise<void>;
}

/** The point from which the next read of changes goes on, and when it was reached. */
interface Mark {
  readonly cursor: Cursor;
  readonly atMs: number;
}

/** After a longer pause everything is read. The server keeps changes longer than this. */
const CURSOR_AGE_MAX_MS = 60_000;
const SCAN_SHARE_MAX = 0.02;
const RETRY_MIN_MS = 250;
/** Longest pause between failed reads: a database that came back is read within a few seconds. */
const RETRY_MAX_MS = 3_000;
const JITTER = 0.1;

/**
 * Reads of the BMDB, one at a time, for ever: all rows at first, by period, after the connection
 * for wakes was lost and whenever changes cannot be told; else what changed. A failed read is
 * repeated as a scan. Asks that come during a read lead to exactly one more.
 */
export function fleetReads(
  options: FleetReadsOptions,
  hooks: FleetReadsHooks,
  { signal, scheduler }: { readonly signal: AbortSignal; readonly scheduler: SchedulerLike },
): Observable<FleetRead> {
  const { bmdb, clock, log, scanMs, scanGapMs, pollMs } = options;
  const jittered = jitterOf(options.random);
  let isScanDue = true;
  /** When the next scan by period may begin, monotonic. */
  let scanFromMs = -Infinity;
  let mark: Mark | null = null;
  let beganAtMs = 0;

  const read = async (): Promise<FleetRead> => {
    hooks.onBegin();
    beganAtMs = clock.monotonic();
    const from = isScanDue || isStale(mark, beganAtMs) ? null : mark;
    isScanDue = false;
    // A read that fails leaves no mark, so the next one is a scan.
    mark = null;
    const found = await changesOrScan(bmdb, from, hooks.keep, signal);
    const { cursor } = found.rows;
    mark = cursor === null ? null : { cursor, atMs: beganAtMs };
    if (found.kind === 'scan') {
      const nowMs = clock.monotonic();
      scanFromMs = nowMs + (nowMs - beganAtMs) / SCAN_SHARE_MAX;
    }
    return { ...found, beganAtMs };
  };
  const read$ = defer(read).pipe(
    tap({
      error: (err: unknown) => {
        hooks.onFailed(err);
        log.warn({ err }, 'the BMDB could not be read');
      },
    }),
    retry({ delay: (_, count) => timer(jittered(retryMs(count)), scheduler) }),
    concatMap(async (found) => {
      await hooks.take(found);
      return found;
    }),
  );
  // Subscribed to after the read was taken in, so that this counts too.
  const gap$ = defer(() =>
    timer(Math.max(scanGapMs, clock.monotonic() - beganAtMs), scheduler).pipe(ignoreElements()),
  );
  const poll$ = defer(() => timer(jittered(pollMs ?? 0), scheduler)).pipe(repeat());
  const asks$ = merge(
    timer(0, scanMs, scheduler).pipe(
      map(() => (clock.monotonic() < scanFromMs ? 'changes' : 'scan')),
    ),
    bmdb.wakes$.pipe(map((wake) => (wake === 'reconnected' ? 'scan' : 'changes'))),
    hooks.nudges$.pipe(map(() => 'changes')),
    pollMs === null ? EMPTY : poll$.pipe(map(() => 'changes')),
  );
  return asks$.pipe(
    tap((ask) => (isScanDue ||= ask === 'scan')),
    oneAtATime(() => concat(read$, gap$)),
  );
}

const isStale = (mark: Mark | null, nowMs: number): boolean =>
  mark !== null && nowMs - mark.atMs > CURSOR_AGE_MAX_MS;

async function changesOrScan(
  bmdb: FleetReadsOptions['bmdb'],
  from: Mark | null,
  keep: KeepRow,
  signal: AbortSignal,
): Promise<Found> {
  const changes = from && (await bmdb.changesSince(from.cursor, signal));
  if (changes) return { kind: 'changes', rows: changes };
  return { kind: 'scan', rows: await bmdb.scan(signal, keep) };
}

const retryMs = (count: number): number => Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** count);

const jitterOf =
  (random: Random) =>
  (ms: number): number =>
    ms * (1 - JITTER + 2 * JITTER * random.next());

/**
 * Runs `project` for an ask unless it is running; asks that come meanwhile lead to exactly one more
 * run, so the last one is never dropped and none pile up.
 */
const oneAtATime =
  <In, Out>(project: () => Observable<Out>) =>
  (source: Observable<In>): Observable<Out> =>
    defer(() => {
      const done = new Subject<void>();
      return source.pipe(
        throttle(() => done, { leading: true, trailing: true }),
        exhaustMap(() => project().pipe(finalize(() => done.next()))),
      );
    });

/** Long work, cut into slices of a few milliseconds between which everything else has its turn. */
export interface Slices {
  /** The slice has lasted long enough: `pause` is due. */
  isOver(): boolean;
  /** @throws the signal's reason. */
  pause(): Promise<void>;
  /** Takes all steps, with pauses. @throws the signal's reason. */
  run<T>(steps: Steps<T>): Promise<T>;
}

/** Heartbeats and pokes wait no longer than this, and what the garbage collector adds. */
const SLICE_MS = 2;

/** The first slice begins now. */
export function createSlices(clock: Clock, signal?: AbortSignal): Slices {
  let beganAtMs = clock.monotonic();
  const isOver = () => clock.monotonic() - beganAtMs >= SLICE_MS;
  const pause = async () => {
    await sleep(clock, 0, signal);
    beganAtMs = clock.monotonic();
  };
  return {
    isOver,
    pause,
    async run(steps) {
      for (;;) {
        const step = steps.next();
        if (step.done) return step.value;
        if (isOver()) await pause();
      }
    },
  };
}
