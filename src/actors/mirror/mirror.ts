import {
  catchError,
  defer,
  EMPTY,
  exhaustMap,
  filter,
  map,
  merge,
  tap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { fromCallback } from 'xstate';
import type { Heard } from '../../adapters/agents/port.ts';
import type { Bmdb } from '../../adapters/bmdb/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import type { KnownListing } from '../../domain/assemble.ts';
import type { ProviderName, SessionId, Slot } from '../../domain/ids.ts';
import type { GuardRow, ProviderHoldRow, RequestRow, SlotFacts } from '../../domain/machine.ts';
import type { MachineView } from '../../domain/view.ts';
import type { FleetEvent, SlotNews } from '../../machines/fleet.ts';
import type { Job } from '../../machines/task.ts';
import { fleetReads, type FleetReadsOptions } from './reads.ts';
import { createMirrorState, type MirrorState, type MirrorStateOptions } from './state.ts';

export interface MirrorOptions extends FleetReadsOptions, MirrorStateOptions {
  readonly bmdb: Bmdb;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly heard$: Observable<Heard>;
  /** Providers are listed this often. */
  readonly listMs: number;
  /** Scheduler of everything in the streams that goes by time. */
  readonly scheduler: SchedulerLike;
}

/** What the daemon believes of every slot, kept equal to BMDB and providers. */
export interface Mirror {
  /** The `mirror` service of the fleet. */
  readonly service: ReturnType<typeof fromCallback<FleetEvent, void>>;
  /** Reads one machine's rows now; null: it could not be told which slot they belong to. */
  reread(job: Job, signal: AbortSignal): Promise<MachineView | null>;
  facts(): ReadonlyMap<Slot, SlotFacts>;
  /** Live sessions that run the loops, as of the last read. */
  sessions(): readonly SessionId[];
  /** What must not be asked of providers, ended holds too, as of the last read. */
  providerHolds(): readonly ProviderHoldRow[];
  /** Rows of the guard, as of the last read. */
  guard(): readonly GuardRow[];
  /** What operators asked and nobody has settled yet, as of the last read. */
  requests(): readonly RequestRow[];
  /** Estimate of the database clock, epoch ms. */
  nowMs(): number;
  /** Milliseconds (monotonic) of the last successful read of the fleet; null before the first. */
  lastScanAt(): number | null;
}

/**
 * Level-triggered: a wake only says that something changed, and a periodic scan reads everything, so
 * a wake that is lost does no harm. Whatever differs from what was last sent is sent, so that news
 * that was lost is sent again. A failing stream is retried for ever; it never ends the mirror.
 */
export function createMirror(options: MirrorOptions): Mirror {
  const state = createMirrorState(options);
  return {
    service: fromCallback<FleetEvent, void>(({ sendBack }) =>
      run(options, state, {
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
    facts: () => state.facts,
    sessions: () => state.sessions,
    providerHolds: () => state.providerHolds,
    guard: () => state.guard,
    requests: () => state.requests,
    nowMs: state.nowMs,
    lastScanAt: () => state.readAt,
  };
}

interface Listener {
  readonly onNews: (news: SlotNews[]) => void;
  readonly onGuardNews: () => void;
  readonly onCrash: (error: unknown) => void;
}

function run(options: MirrorOptions, state: MirrorState, listener: Listener): () => void {
  const { onNews, onGuardNews, onCrash } = listener;
  const { scheduler } = options;
  const stopping = new AbortController();
  const within = { signal: stopping.signal, scheduler };
  const listed$ = merge(
    ...[...options.providers].map(([name, provider]) =>
      listingsOf(options, name, provider, within),
    ),
  ).pipe(tap(([name, listing]) => state.stage(name, listing)));
  const hooks = { nudges$: listed$, onBegin: state.adoptListings };
  const readNews$ = fleetReads(options, hooks, within).pipe(
    map((read) => state.take(read)),
    tap(({ isGuardNew }) => {
      if (isGuardNew) onGuardNews();
    }),
    map(({ news }) => news),
  );
  const heardNews$ = options.heard$.pipe(map((heard) => state.hear(heard)));

  const stopDueTimes = state.start(onNews);
  const subscription = merge(readNews$, heardNews$)
    .pipe(filter((news) => news.length > 0))
    .subscribe({ next: onNews, error: onCrash });
  return () => {
    stopping.abort();
    subscription.unsubscribe();
    stopDueTimes();
  };
}

/** Lists one provider again and again; a listing that fails is logged and changes nothing. */
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
