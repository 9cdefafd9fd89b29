import { Subject } from 'rxjs';
import type {
  EntryChange,
  FleetView,
  GuardSummary,
  MachineEntry,
  Frame,
  MemberSummary,
  PoolSummary,
  StateCounts,
} from '../../src/console/port.ts';
import type { MachineRow } from '../../src/console/api/schemas.ts';
import { headlineOf, shareWord } from '../../src/domain/headline.ts';
import { machineId, providerName, slot } from '../../src/domain/ids.ts';
import type { Slot } from '../../src/domain/ids.ts';
import type { HoldKind } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { needsHuman, STATES } from '../../src/domain/states.ts';
import { NO_TRAITS } from '../../src/domain/traits.ts';

/** A machine as a test describes it. */
export type MachineSummary = Omit<MachineRow, 'slot' | 'holds'> &
  Record<'providerId' | 'reservationId', string | null> & {
    readonly slot: Slot;
    readonly provider: string;
    readonly holds: readonly string[];
  };

/** A fleet that a test scripts. */
export interface ScriptedFleet extends FleetView {
  put(...machines: readonly MachineSummary[]): void;
  /** Changes some fields of an existing machine. */
  set(name: Slot, change: Partial<MachineSummary>): void;
  remove(name: Slot): void;
  /** State of the guard from now on. */
  guard(summary: GuardSummary): void;
  /** Providers that cannot be listed from now on. */
  unlist(unlisted: Frame['unlisted']): void;
  /** State of the pools from now on. */
  pool(...pools: readonly PoolSummary[]): void;
}

/** Nothing is wrong. */
export const WATCHING: GuardSummary = {
  state: 'watching',
  scopes: [
    {
      ...({ scope: 'fleet', state: 'watching', sinceMs: null, reason: null } as const),
      ...{ started: 20, silent: 0, ends: null, endsAtMs: null },
    },
  ],
};

export const AT_MS = Date.UTC(2026, 0, 15, 12);

export const machine = (id: string, change: Partial<MachineSummary> = {}): MachineSummary => ({
  slot: slot('equinix', id),
  provider: 'equinix',
  machineId: null,
  providerId: null,
  reservationId: id,
  address: null,
  ...NO_TRAITS,
  location: 'am6',
  state: 'Reserved',
  substate: 'available',
  reason: null,
  lastHeartbeatAtMs: null,
  sinceMs: AT_MS - 60_000,
  holds: [],
  elsewhere: false,
  ...change,
});

/** A member of a pool: the machine on this slot. */
export const member = (id: string, change: Partial<MemberSummary> = {}): MemberSummary => ({
  slot: slot('equinix', id),
  machineId: `0000-${id}`,
  state: 'active',
  sinceMs: AT_MS - 60_000,
  deadlineMs: null,
  how: null,
  waived: false,
  refused: false,
  health: 'up',
  sessions: 3,
  note: null,
  ...change,
});

/** The healthy pool `api` at the balancer `edge`. */
export const pool = (change: Partial<PoolSummary> = {}): PoolSummary => ({
  pool: 'api',
  balancer: 'edge',
  driver: 'haproxy',
  isConfigured: true,
  state: 'settled',
  reason: null,
  settledAtMs: AT_MS - 65_000,
  observedAtMs: AT_MS - 65_000,
  retryAtMs: null,
  frozen: null,
  paused: null,
  tornDown: null,
  isTended: true,
  minActive: 1,
  members: [],
  addresses: [{ address: '192.0.2.10', ports: [80, 443] }],
  ...change,
});

export function scriptedFleet(...machines: readonly MachineSummary[]): ScriptedFleet {
  const all = new Map<Slot, MachineSummary>(machines.map((each) => [each.slot, each]));
  const entries = new Map(machines.map((each) => [each.slot, entryOf(each)]));
  const entryChanges$ = new Subject<EntryChange>();
  const frameChanges$ = new Subject<void>();
  let guard = WATCHING;
  let unlisted: Frame['unlisted'] = [];
  let pools: readonly PoolSummary[] = [];
  const frame = () => ({
    ...{ atMs: AT_MS, guard, unlisted },
    counts: countsOf(all.values()),
    headline: headlineOf([...all.values()].map((each) => ({ word: shareWord(each), machines: 1 }))),
    needHuman: needHumanOf(all.values()),
  });
  const put = (...changed: readonly MachineSummary[]) => {
    for (const each of changed) {
      const entry = entryOf(each);
      all.set(each.slot, each);
      entries.set(each.slot, entry);
      entryChanges$.next({ type: 'changed', entry });
    }
  };
  return {
    frame,
    nowMs: () => AT_MS,
    loss: DEFAULT_LOSS,
    providers: () => ['equinix'],
    pools: () => pools,
    entries,
    entryChanges$,
    frameChanges$,
    facts: () => undefined,
    isElsewhere: (name) => all.get(name)?.elsewhere ?? false,
    isOverdue: () => false,
    standing: () => ({ effect: 'tell', suspicious: false }),
    budget: () => [{ scope: 'fleet', permits: 1, budget: 2 }],
    guard(summary) {
      guard = summary;
      frameChanges$.next();
    },
    unlist(providers) {
      unlisted = providers;
      frameChanges$.next();
    },
    pool(...found) {
      pools = found;
    },
    put,
    set: (name, change) => put({ ...all.get(name)!, ...change }),
    remove(name) {
      all.delete(name);
      entries.delete(name);
      entryChanges$.next({ type: 'removed', slot: name });
    },
  };
}

/** As in a daemon's fleet state. */
export function entryOf(each: MachineSummary): MachineEntry {
  const { state, substate, sinceMs, elsewhere: _, ...view } = each;
  return {
    state,
    substate,
    sinceMs,
    last: null,
    view: {
      ...view,
      ...{ state, substate, next: null, request: null, endedBy: null, dueAtMs: null, members: [] },
      needsHuman: needsHuman(each),
      labels: each.labels ?? null,
      cause: each.cause ?? null,
      conditions: each.conditions ?? null,
      provider: providerName(each.provider),
      machineId: each.machineId === null ? null : machineId(each.machineId),
      holds: each.holds as readonly HoldKind[],
    },
  };
}

const needHumanOf = (machines: Iterable<MachineSummary>): number =>
  [...machines].filter(needsHuman).length;

function countsOf(machines: Iterable<MachineSummary>): StateCounts {
  const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<string, number>;
  for (const { state } of machines) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
