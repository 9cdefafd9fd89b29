import {
  asyncScheduler,
  catchError,
  concat,
  defer,
  EMPTY,
  exhaustMap,
  filter,
  finalize,
  ignoreElements,
  map,
  merge,
  retry,
  Subject,
  tap,
  throttle,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { fromCallback } from 'xstate';
import type { Heard } from '../adapters/agents/port.ts';
import type { Bmdb, BmdbSnapshot, MachineReading } from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Provider } from '../adapters/provider/port.ts';
import { assembleFacts, mergeListing, type KnownListing } from '../domain/assemble.ts';
import { providerOf, type MachineId, type ProviderName } from '../domain/ids.ts';
import type { SessionId, Slot } from '../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../domain/machine.ts';
import type { LossPolicy } from '../domain/policy.ts';
import { viewOf, type MachineView } from '../domain/view.ts';
import type { FleetEvent, SlotNews } from '../machines/fleet.ts';
import type { Job } from '../machines/task.ts';
import { createWheel, type Wheel } from './wheel.ts';

export interface MirrorOptions {
  readonly bmdb: Bmdb;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  readonly heard$: Observable<Heard>;
  readonly loss: LossPolicy;
  /** Full scan of the BMDB at least this often. */
  readonly scanMs: number;
  /** Scans that a NOTIFY wakes are at least this far apart. */
  readonly scanGapMs: number;
  /** Provider listings this often. */
  readonly listMs: number;
  readonly clock: Clock;
  readonly scheduler?: SchedulerLike;
  readonly log: Log;
  /** Told of all facts after each scan. */
  readonly onFacts: (facts: ReadonlyMap<Slot, SlotFacts>) => void;
  /** Told of every view that changed, heartbeats included. */
  readonly onView: (view: MachineView) => void;
  readonly onVanished: (slot: Slot) => void;
}

/** What the daemon believes of every slot, kept equal to BMDB and providers. */
export interface Mirror {
  /** The `mirror` service of the fleet. */
  readonly service: ReturnType<typeof fromCallback<FleetEvent, void>>;
  /** Reads one machine's rows now; null when they could not be placed. */
  reread(job: Job, signal: AbortSignal): Promise<MachineView | null>;
  facts(): ReadonlyMap<Slot, SlotFacts>;
  /** Live sessions that run the loops, as of the last scan. */
  sessions(): readonly SessionId[];
  /** Estimate of the database clock, epoch ms. */
  nowMs(): number;
  /** Milliseconds (monotonic) of the last successful scan; null before the first. */
  lastScanAt(): number | null;
}

/**
 * Level-triggered: a wake only says "scan", and a periodic scan does the same, so a lost wake heals.
 * Each scan rebuilds all facts and sends what differs from what was last sent, hence a slot whose
 * news was lost is told again. A failing stream is retried for ever; it never ends the mirror.
 */
export function createMirror(options: MirrorOptions): Mirror {
  const state = createState(options);
  return {
    service: fromCallback<FleetEvent, void>(({ sendBack }) => {
      return run(
        options,
        state,
        (news) => sendBack({ type: 'slots.changed', news }),
        (error) => sendBack({ type: 'service.crashed', error }),
      );
    }),
    async reread({ slot, machineId }, signal) {
      const reading = await options.bmdb.readMachine(machineId, signal);
      return state.patch(slot, reading);
    },
    facts: () => state.facts,
    sessions: () => state.sessions,
    nowMs: state.nowMs,
    lastScanAt: () => state.scannedAt,
  };
}

type Emit = (news: SlotNews[]) => void;
type State = ReturnType<typeof createState>;

function createState({ clock, loss, onFacts, onView, onVanished }: MirrorOptions) {
  const told = new Map<Slot, MachineView>();
  /** Told to actors that are gone: the next ones must hear it again. */
  const untold = new Set<Slot>();
  /** Listings that came since the last scan began: rows must be newer than what they explain. */
  const staged = new Map<ProviderName, KnownListing>();
  const listings = new Map<ProviderName, KnownListing>();
  /** Rows read singly, kept while a scan that began before them may still arrive. */
  const patches = new Map<MachineId, MachineReading>();
  const slotOfMachine = new Map<MachineId, Slot>();
  let facts = new Map<Slot, SlotFacts>();
  let sessions: readonly SessionId[] = [];
  let offset = clock.now() - clock.monotonic();
  let scannedAt: number | null = null;
  let wheel: Wheel<Slot> | undefined;
  const nowMs = () => clock.monotonic() + offset;

  /** Derives again; returns news if an actor should hear of it. */
  const derive = (slot: Slot): SlotNews | null => {
    const known = facts.get(slot);
    if (!known) return null;
    const view = viewOf(known, { nowMs: nowMs(), loss });
    const before = told.get(slot);
    told.set(slot, view);
    wheel?.set(slot, view.dueAtMs);
    if (before && !untold.delete(slot) && sameButTimes(before, view)) {
      if (before.lastHeartbeatAtMs !== view.lastHeartbeatAtMs) onView(view);
      return null;
    }
    onView(view);
    return { type: 'observed', view };
  };
  /** Nothing refers to the slot any more. Only a complete listing tells that it is gone for good. */
  const vanish = (slot: Slot): SlotNews[] => {
    const provider = providerOf(slot);
    const { complete = false } = listings.get(provider) ?? {};
    const last = viewOf(nothingOf(slot, provider, complete), { nowMs: nowMs(), loss });
    told.delete(slot);
    untold.delete(slot);
    wheel?.set(slot, null);
    onVanished(slot);
    const end: SlotNews = { type: 'vanished', slot };
    return complete ? [{ type: 'observed', view: last }, end] : [end];
  };

  /** A scan or a single read that began before another read or a heartbeat must not undo it. */
  const newest = (row: MachineRow, readAtMs: number): MachineRow => {
    const patch = patches.get(row.machineId);
    const base = patch?.row && patch.nowMs > readAtMs ? patch.row : row;
    const heard = facts.get(slotOfMachine.get(row.machineId)!)?.row?.heartbeat;
    const counts = heard && base.agentStarted && heard.atMs >= base.agentStarted.atMs;
    return counts && heard.atMs > (base.heartbeat?.atMs ?? 0)
      ? { ...base, heartbeat: heard }
      : base;
  };

  return {
    stage: (name: ProviderName, listing: KnownListing) =>
      staged.set(name, mergeListing(name, staged.get(name), listing)),
    adoptListings() {
      for (const [name, listing] of staged) {
        listings.set(name, mergeListing(name, listings.get(name), listing));
      }
      staged.clear();
    },
    get facts() {
      return facts;
    },
    get sessions() {
      return sessions;
    },
    get scannedAt() {
      return scannedAt;
    },
    nowMs,
    start: (emit: Emit) => {
      for (const slot of told.keys()) untold.add(slot);
      wheel = createWheel<Slot>(clock, nowMs, (slots) => {
        const news = slots.map(derive).filter((item) => item !== null);
        if (news.length > 0) emit(news);
      });
      return () => wheel?.stop();
    },
    /** Takes a whole snapshot; answers what changed. */
    replace(snapshot: BmdbSnapshot): SlotNews[] {
      offset = snapshot.nowMs - clock.monotonic();
      scannedAt = clock.monotonic();
      sessions = snapshot.sessions
        .filter(({ component }) => component === 'shepherd')
        .map(({ sessionId }) => sessionId);
      const machines = snapshot.machines.map((row) => newest(row, snapshot.nowMs));
      facts = assembleFacts({ ...snapshot, machines }, listings);
      for (const [id, patch] of patches) if (patch.nowMs <= snapshot.nowMs) patches.delete(id);
      slotOfMachine.clear();
      for (const { slot, row } of facts.values()) if (row) slotOfMachine.set(row.machineId, slot);
      const news: SlotNews[] = [];
      for (const slot of facts.keys()) {
        const item = derive(slot);
        if (item) news.push(item);
      }
      for (const slot of told.keys()) if (!facts.has(slot)) news.push(...vanish(slot));
      onFacts(facts);
      return news;
    },
    /** Fresh rows of one machine; its view is taken as told, since the caller hears it. */
    patch(slot: Slot, reading: MachineReading): MachineView | null {
      const known = facts.get(slot);
      if (!known) return null;
      const row = reading.row && newest(reading.row, reading.nowMs);
      if (row) patches.set(row.machineId, { ...reading, row });
      facts.set(slot, { ...known, row });
      derive(slot);
      return told.get(slot) ?? null;
    },
    hear({ machineId, atMs, bootId }: Heard): SlotNews[] {
      const slot = slotOfMachine.get(machineId);
      const known = slot === undefined ? undefined : facts.get(slot);
      if (!known?.row || (known.row.heartbeat?.atMs ?? 0) >= atMs) return [];
      const row = { ...known.row, heartbeat: { atMs, bootId } };
      facts.set(known.slot, { ...known, row });
      const news = derive(known.slot);
      return news ? [news] : [];
    },
  };
}

const nothingOf = (slot: Slot, provider: ProviderName, listingComplete: boolean): SlotFacts => ({
  slot,
  provider,
  listed: null,
  listingComplete,
  row: null,
  intent: null,
  holds: [],
  penalty: null,
  conflict: null,
});

const sameButTimes = (a: MachineView, b: MachineView): boolean =>
  a.state === b.state &&
  a.substate === b.substate &&
  a.next === b.next &&
  a.reason === b.reason &&
  a.machineId === b.machineId &&
  a.providerId === b.providerId &&
  a.address === b.address &&
  a.location === b.location &&
  a.holds.length === b.holds.length &&
  a.holds.every((hold, at) => hold === b.holds[at]);

function run(
  options: MirrorOptions,
  state: State,
  emit: Emit,
  onCrash: (error: unknown) => void,
): () => void {
  const { bmdb, heard$, log, scanMs, scanGapMs } = options;
  const scheduler = options.scheduler ?? asyncScheduler;
  const stopping = new AbortController();
  const listed$ = merge(
    ...[...options.providers].map(([name, provider]) =>
      listingsOf(options, name, provider, stopping.signal, scheduler),
    ),
  ).pipe(tap(([name, listing]) => state.stage(name, listing)));

  const scan$ = defer(() => {
    state.adoptListings();
    return bmdb.scan(stopping.signal);
  }).pipe(
    tap({ error: (err: unknown) => log.warn({ err }, 'the BMDB could not be scanned') }),
    retry({ delay: (_, count) => timer(Math.min(15_000, 250 * 2 ** count), scheduler) }),
  );
  const scanned$ = merge(timer(0, scanMs, scheduler), bmdb.wakes$, listed$).pipe(
    oneAtATime(() => concat(scan$, timer(scanGapMs, scheduler).pipe(ignoreElements()))),
    map((snapshot) => state.replace(snapshot)),
  );
  const heardNews$ = heard$.pipe(map((heard) => state.hear(heard)));

  const stopWheel = state.start(emit);
  const subscription = merge(scanned$, heardNews$)
    .pipe(filter((news) => news.length > 0))
    .subscribe({ next: emit, error: onCrash });
  return () => {
    stopping.abort();
    subscription.unsubscribe();
    stopWheel();
  };
}

/**
 * Runs `project` for a wake unless it is running; wakes that come meanwhile lead to exactly one more
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

/** Listings of one provider for ever; a failed one is logged and changes nothing. */
function listingsOf(
  { listMs, log }: MirrorOptions,
  name: ProviderName,
  provider: Provider,
  signal: AbortSignal,
  scheduler: SchedulerLike,
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
