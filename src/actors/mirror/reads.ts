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
   * Interval of full scans of the BMDB, longer if scans would take more than 2 % of the time. Scans
   * only heal what the feed of changes cannot tell.
   */
  readonly scanMs: number;
  /** Reads are at least this far apart, and at least as far as the duration of the last read. */
  readonly scanGapMs: number;
  /** Interval of requests for changes, ± 10 %; null: only after wakes. */
  readonly pollMs: number | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The result of a read: everything, or changes since the last read; with its start (monotonic). */
export type FleetRead = { readonly beganAtMs: number } & Found;
type Found =
  | { readonly kind: 'scan'; readonly rows: BmdbSnapshot }
  | { readonly kind: 'changes'; readonly rows: BmdbChanges };

export interface FleetReadsHooks {
  /** Each emission requests another read. */
  readonly nudges$: Observable<unknown>;
  /** Called before each read. */
  readonly onBegin: () => void;
  readonly onFailed: (error: unknown) => void;
  /** See `Bmdb.scan`. */
  readonly keep: KeepRow;
  /** Takes in a read; the next read begins after that. */
  readonly take: (read: FleetRead) => Promise<void>;
}

/** The position where the next read of changes continues, and its time. */
interface Mark {
  readonly cursor: Cursor;
  readonly atMs: number;
}

/** After a longer pause, everything is read. The server keeps changes for longer than this. */
const CURSOR_AGE_MAX_MS = 60_000;
const SCAN_SHARE_MAX = 0.02;
const RETRY_MIN_MS = 250;
/** Longest pause between failed reads: a returned database is read within a few seconds. */
const RETRY_MAX_MS = 3_000;
const JITTER = 0.1;

/**
 * Reads the BMDB forever, one read at a time. Reads all rows at first, periodically, after a loss
 * of the wake connection, and whenever changes are unknown; otherwise reads changes. Repeats a
 * failed read as a scan. Requests during a read lead to exactly one more read.
 */
export function fleetReads(
  options: FleetReadsOptions,
  hooks: FleetReadsHooks,
  { signal, scheduler }: { readonly signal: AbortSignal; readonly scheduler: SchedulerLike },
): Observable<FleetRead> {
  const { bmdb, clock, log, scanMs, scanGapMs, pollMs } = options;
  const jittered = jitterOf(options.random);
  let isScanDue = true;
  /** When the next periodic scan may begin, monotonic. */
  let scanFromMs = -Infinity;
  let mark: Mark | null = null;
  let beganAtMs = 0;

  const read = async (): Promise<FleetRead> => {
    hooks.onBegin();
    beganAtMs = clock.monotonic();
    const from = isScanDue || isStale(mark, beganAtMs) ? null : mark;
    isScanDue = false;
    // A failed read leaves no mark, so that the next read is a scan.
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
  // Subscribed after the read was taken in, so that this time counts too.
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
 * Runs `project` for a request unless it is running. Requests during a run lead to exactly one more
 * run, so that none is lost and none pile up.
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

/** Cuts long work into slices of a few milliseconds, between which other work runs. */
export interface Slices {
  /** The slice has lasted long enough: `pause` is due. */
  isOver(): boolean;
  /** @throws the signal's reason. */
  pause(): Promise<void>;
  /** Runs all steps, with pauses. @throws the signal's reason. */
  run<T>(steps: Steps<T>): Promise<T>;
}

/** Longest delay of heartbeats and session renewals, besides garbage collection. */
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
