import type { Observer } from 'rxjs';
import type { Metrics } from '../adapters/metrics/port.ts';
import { headlineOf, shareWord, type Headline, type ShareWord } from '../domain/headline.ts';
import type { Slot } from '../domain/ids.ts';
import { entryNeedsHuman, type MachineState } from '../domain/states.ts';
import type { MachineView } from '../domain/view.ts';
import type { Shown } from '../machines/shown.ts';
import { RUNGS } from '../domain/recovery/rungs.ts';

/** Machines of a provider in one state and substate, and those that need a person. */
export interface PlaceCount {
  readonly provider: string;
  readonly state: string;
  readonly substate: string;
  readonly count: number;
  readonly needHuman: number;
}

/** One machine as people see it: its actor's state, and the facts from its rows. */
export interface BoardEntry {
  readonly view: MachineView;
  readonly state: MachineState;
  readonly substate: string;
  /**
   * Start of this state (not substate), epoch ms of the database clock. For a silent machine: its
   * last heartbeat, even after recovery attempts.
   */
  readonly sinceMs: number;
  /** The last observed change of state or substate; null: none yet. */
  readonly last: BoardMove | null;
  /** The start of its state was observed; otherwise it began before the daemon looked. */
  readonly isSinceSeen: boolean;
}

/** A change of state, in the words of people. */
interface BoardMove {
  readonly from: { readonly state: MachineState; readonly substate: string };
  readonly atMs: number;
  readonly reason: string | null;
}
export type BoardChange =
  | { readonly type: 'changed'; readonly entry: BoardEntry }
  | { readonly type: 'removed'; readonly slot: Slot };

interface BoardOptions {
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly metrics: Metrics;
  /** Called with the length of each stay whose start and end were observed. */
  readonly onStay?: (entry: BoardEntry, forMs: number) => void;
  /** Called at once with each change. */
  readonly changes: Pick<Observer<BoardChange>, 'next'>;
}

export interface FleetState {
  readonly entries: ReadonlyMap<Slot, BoardEntry>;
  /** Machines by state. */
  counts(): Partial<Record<MachineState, number>>;
  /** The fleet at a glance. */
  headline(): Headline;
  /** Number of machines that need a person. */
  needHuman(): number;
  /** Machines by provider, state and substate. */
  census(): readonly PlaceCount[];
  /** Recoveries begun since start, without refused claims. */
  recoveries(): number;
  onView(view: MachineView): void;
  onVanished(slot: Slot): void;
  /** To be called with the state that a machine's actor, or its task, shows now. */
  onShown(shown: Shown): void;
}

interface Entered extends BoardEntry {
  readonly enteredMs: number;
}

const sinceOf = ({ view, state, substate, enteredMs }: Omit<Entered, 'sinceMs'>): number =>
  state === 'Running' && substate === 'silent' ? (view.lastHeartbeatAtMs ?? enteredMs) : enteredMs;

interface Group extends Omit<PlaceCount, 'count' | 'needHuman'> {
  readonly word: ShareWord | null;
  count: number;
  needHuman: number;
}

const newGroup = ({ view: { provider }, state, substate }: BoardEntry): Group => ({
  ...{ provider, state, substate },
  word: shareWord({ state, substate }),
  count: 0,
  needHuman: 0,
});
const isCountedAlike = (a: BoardEntry, b: BoardEntry): boolean =>
  a.state === b.state &&
  a.substate === b.substate &&
  a.view.needsHuman === b.view.needsHuman &&
  (a.view.conditions === null) === (b.view.conditions === null);
const isRung = (step: string): boolean => (RUNGS as readonly string[]).includes(step);

/** Keeps the data for the page, the live line and the metrics. */
export function createBoard({ nowMs, metrics, changes, onStay }: BoardOptions): FleetState {
  const entries = new Map<Slot, Entered>();

  let recovered = 0;
  const tally = new Map<MachineState, number>();
  const groups = new Map<string, Group>();
  let needHuman = 0;
  let conditions = 0;
  const count = (entry: BoardEntry, by: number) => {
    const { view, state, substate } = entry;
    const { provider } = view;
    tally.set(state, (tally.get(state) ?? 0) + by);
    const key = `${provider} ${state} ${substate}`;
    const group = groups.get(key) ?? newGroup(entry);
    groups.set(key, group);
    group.count += by;
    if (group.count === 0) groups.delete(key);
    if (group.word !== null && view.conditions !== null) conditions += by;
    if (!entryNeedsHuman(entry)) return;
    group.needHuman += by;
    needHuman += by;
  };

  const put = (told: Omit<Entered, 'sinceMs'>) => {
    const entry = { ...told, sinceMs: sinceOf(told) };
    const before = entries.get(entry.view.slot);
    if (!before || !isCountedAlike(before, entry)) {
      if (before) count(before, -1);
      count(entry, 1);
    }
    entries.set(entry.view.slot, entry);
    changes.next({ type: 'changed', entry });
  };
  const show = ({ slot, state, substate: shown, working }: Shown) => {
    const entry = entries.get(slot);
    if (!entry) return;
    const substate = shown ?? entry.substate;
    if (entry.state === state && entry.substate === substate) return;
    const moved = entry.state !== state;
    if (moved)
      metrics.count('shepherd_machine_transitions_total', {
        provider: entry.view.provider,
        from: entry.state,
        to: state,
      });
    // After a refused claim, the rows may show another daemon's rung.
    const begun = working && entry.substate === 'claiming' && isRung(substate);
    if (state === 'Recovering' && begun) recovered += 1;
    const atMs = nowMs();
    if (entry.last) onStay?.(entry, atMs - entry.last.atMs);
    const { view } = entry;
    const reason = view.state === state ? view.reason : null;
    put({
      ...entry,
      state,
      substate,
      enteredMs: moved ? atMs : entry.enteredMs,
      isSinceSeen: moved || entry.isSinceSeen,
      last: { from: { state: entry.state, substate: entry.substate }, atMs, reason },
    });
  };

  return {
    entries,
    counts: () => Object.fromEntries([...tally].filter(([, number]) => number > 0)),
    headline: () =>
      headlineOf(
        [...groups.values()].map(({ word, count: machines }) => ({ word, machines })),
        conditions,
      ),
    needHuman: () => needHuman,
    census: () => [...groups.values()].map(({ word: _, ...group }) => group),
    recoveries: () => recovered,
    onView(view) {
      const entry = entries.get(view.slot);
      if (entry) put({ ...entry, view });
      else {
        const { state, substate } = view;
        const fresh = { last: null, isSinceSeen: false };
        put({ view, state, substate, enteredMs: nowMs(), ...fresh });
      }
    },
    onVanished(slot) {
      const entry = entries.get(slot);
      if (!entry) return;
      count(entry, -1);
      entries.delete(slot);
      changes.next({ type: 'removed', slot });
    },
    onShown: show,
  };
}
