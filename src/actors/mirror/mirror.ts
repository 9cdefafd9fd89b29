import {
  catchError,
  defer,
  EMPTY,
  exhaustMap,
  filter,
  map,
  merge,
  Subject,
  tap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { fromCallback } from 'xstate';
import type { Heard } from '../../adapters/agents/port.ts';
import type { Bmdb, FleetRows } from '../../adapters/bmdb/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import type { PoolRow } from '../../domain/balancing/pool-row.ts';
import type { KnownListing } from '../../domain/assemble.ts';
import type { ProviderName, SessionId, Slot } from '../../domain/ids.ts';
import type {
  GuardRow,
  IntentRow,
  PenaltyRow,
  ProviderHoldRow,
  RequestRow,
  SlotFacts,
} from '../../domain/machine.ts';
import type { LeaseRow } from '../../domain/daemons.ts';
import type { MachineView } from '../../domain/view.ts';
import type { FleetEvent, SlotNews } from '../../machines/fleet.ts';
import type { Job } from '../../machines/task.ts';
import { fleetReads, type FleetReadsHooks, type FleetReadsOptions } from './reads.ts';
import { createMirrorState, type MirrorState, type MirrorStateOptions } from './state.ts';

export interface MirrorOptions extends FleetReadsOptions, MirrorStateOptions {
  readonly bmdb: Bmdb;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly heard$: Observable<Heard>;
  /** Interval between listings of a provider. */
  readonly listMs: number;
  /** Scheduler of all timed parts of the streams. */
  readonly scheduler: SchedulerLike;
}

/** The daemon's picture of every slot, kept up to date with BMDB and providers. */
export interface Mirror {
  /** The `mirror` service of the fleet. */
  readonly service: ReturnType<typeof fromCallback<FleetEvent, void>>;
  /** Reads one machine's rows now; null: their slot is unknown. */
  reread(job: Job, signal: AbortSignal): Promise<MachineView | null>;
  /**
   * All rows from a read that begins after the call, or only changes if the BMDB can tell.
   * @throws the error of a failed read. The signal's reason.
   */
  readFleet(signal: AbortSignal): Promise<FleetRows>;
  facts(): ReadonlyMap<Slot, SlotFacts>;
  /** All rows, as of the last read; null before the first. */
  known(): FleetRows | null;
  /** Slots under a penalty after a failed creation, as of the last read. */
  penalties(): readonly PenaltyRow[];
  /** Types of conditions that too many machines have; see `isSuspicious`. */
  suspicious(): ReadonlySet<string>;
  /** Holders of jobs, as of the last read. */
  leases(): readonly LeaseRow[];
  /** Open and unresolved intents, as of the last read; null before the first. */
  intents(): readonly IntentRow[] | null;
  /** Live sessions that run the loops, as of the last read. */
  sessions(): readonly SessionId[];
  /** Calls of providers that must wait, including ended holds, as of the last read. */
  providerHolds(): readonly ProviderHoldRow[];
  /** Rows of the guard, as of the last read. */
  guard(): readonly GuardRow[];
  /** Operators' requests that are not applied yet, as of the last read. */
  requests(): readonly RequestRow[];
  /** Pool rows as of the last read. */
  pools(): readonly PoolRow[];
  /** Estimate of the database clock, epoch ms. */
  nowMs(): number;
  /** Milliseconds (monotonic) of the last successful read of the fleet; null before the first. */
  lastScanAt(): number | null;
  /** All results of the first scan have been delivered. */
  isWhole(): boolean;
}

/**
 * Level-triggered: a wake only says that something changed, and a periodic scan reads everything,
 * so that a lost wake does no harm. Everything that differs from the last delivery is delivered, so
 * that lost news are repeated. A failing stream is retried forever; it never ends the mirror.
 */
export function createMirror(options: MirrorOptions): Mirror {
  const state = createMirrorState(options);
  const asks = createAsks();
  return {
    service: fromCallback<FleetEvent, void>(({ sendBack }) =>
      run(options, state, asks, {
        onNews: (news) => sendBack({ type: 'slots.changed', news }),
        onGuardNews: () => sendBack({ type: 'guard.nudged' }),
        onCrash: (error) => sendBack({ type: 'service.crashed', error }),
      }),
    ),
    async reread(job, signal) {
      const beganAtMs = options.clock.monotonic();
      const reading = await options.bmdb.readMachine(job.machineId, signal);
      return state.patch(job, reading, beganAtMs);
    },
    async readFleet(signal) {
      await asks.next(signal);
      return state.fleet();
    },
    facts: () => state.facts,
    known: () => (state.readAt === null ? null : state.fleet()),
    penalties: () => state.penalties,
    suspicious: () => state.suspicious,
    sessions: () => state.known.sessions,
    leases: () => state.known.leases,
    intents: () => (state.readAt === null ? null : state.intents),
    providerHolds: () => state.known.providerHolds,
    guard: () => state.known.guard,
    requests: () => state.known.requests,
    pools: () => state.known.pools,
    nowMs: state.nowMs,
    lastScanAt: () => state.readAt,
    isWhole: () => state.isWhole,
  };
}

interface Listener {
  readonly onNews: (news: readonly SlotNews[]) => void;
  readonly onGuardNews: () => void;
  readonly onCrash: (error: unknown) => void;
}

function run(
  options: MirrorOptions,
  state: MirrorState,
  asks: ReturnType<typeof createAsks>,
  listener: Listener,
): () => void {
  const { onNews, onGuardNews, onCrash } = listener;
  const { scheduler } = options;
  const stopping = new AbortController();
  const within = { signal: stopping.signal, scheduler };
  const listed$ = merge(
    ...[...options.providers].map(([name, provider]) =>
      listingsOf(options, name, provider, within),
    ),
  ).pipe(tap(([name, listing]) => state.stage(name, listing)));
  const hooks: FleetReadsHooks = {
    nudges$: merge(listed$, asks.asked$),
    onBegin() {
      asks.begin();
      state.adoptListings();
    },
    onFailed: asks.fail,
    keep: state.keep,
    async take(read) {
      if (await state.take(read, stopping.signal)) onGuardNews();
      asks.answer();
    },
  };
  const heardNews$ = options.heard$.pipe(
    map((heard) => state.hear(heard)),
    filter((news) => news.length > 0),
    tap(onNews),
  );

  const stopDueTimes = state.start(onNews);
  const subscription = merge(fleetReads(options, hooks, within), heardNews$).subscribe({
    error: onCrash,
  });
  return () => {
    stopping.abort();
    subscription.unsubscribe();
    stopDueTimes();
  };
}

interface ReadRequest {
  /** Number of reads begun at the time of the request: the next read answers it. */
  readonly begun: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Requests for a read that begins after them. */
function createAsks() {
  const asked$ = new Subject<void>();
  const open = new Set<ReadRequest>();
  let begun = 0;
  const end = (how: (ask: ReadRequest) => void) => {
    for (const ask of open) {
      if (ask.begun >= begun) continue;
      open.delete(ask);
      how(ask);
    }
  };
  return {
    asked$,
    next: (signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.throwIfAborted();
        const onAbort = () => {
          open.delete(ask);
          reject(signal.reason as Error);
        };
        const ending = <Args extends unknown[]>(how: (...args: Args) => void) => {
          return (...args: Args) => {
            signal.removeEventListener('abort', onAbort);
            how(...args);
          };
        };
        const ask: ReadRequest = { begun, resolve: ending(resolve), reject: ending(reject) };
        signal.addEventListener('abort', onAbort);
        open.add(ask);
        asked$.next();
      }),
    begin: () => void (begun += 1),
    answer: () => end(({ resolve }) => resolve()),
    fail: (error: unknown) => end(({ reject }) => reject(error)),
  };
}

/** Lists one provider repeatedly; a failed listing is logged and changes nothing. */
function listingsOf(
  { listMs, log }: MirrorOptions,
  name: ProviderName,
  provider: FleetProvider,
  { signal, scheduler }: { readonly signal: AbortSignal; readonly scheduler: SchedulerLike },
): Observable<[ProviderName, KnownListing]> {
  return timer(0, listMs, scheduler).pipe(
    exhaustMap(() =>
      defer(() => provider.listMachines({ signal })).pipe(
        map((listing): [ProviderName, KnownListing] => [name, listing]),
        catchError((err: unknown) => {
          log.warn({ err, provider: name }, 'the provider could not be listed');
          return EMPTY;
        }),
      ),
    ),
  );
}
