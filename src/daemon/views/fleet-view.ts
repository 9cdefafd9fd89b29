import type { Observable } from 'rxjs';
import type { Board, BoardChange } from '../../actors/board.ts';
import type { GuardView } from '../../actors/guard/watch.ts';
import type {
  BudgetSummary,
  FleetView,
  Frame,
  GuardSummary,
  PoolSummary,
  StateCounts,
} from '../../console/port.ts';
import type { SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import { guardEnd } from '../../domain/recovery/guard-rules.ts';
import type { GuardPolicy } from '../../domain/recovery/guard-judgement.ts';
import { gravest, UNATTENDED, type GuardMoment } from '../../domain/recovery/standing.ts';
import { STATES } from '../../domain/states.ts';
import { worksElsewhere } from '../../domain/view.ts';

export interface FleetViewDeps {
  readonly board: Board;
  readonly changes$: Observable<BoardChange>;
  readonly guard: () => GuardView;
  readonly guardPolicy: GuardPolicy;
  /** False: no daemon is alive that would recover anything. */
  readonly isAttended: () => boolean;
  readonly loss: LossPolicy;
  readonly unlisted: () => Frame['unlisted'];
  /** Fires when the guard stands differently, or another provider cannot be listed. */
  readonly guardChanges$: Observable<void>;
  readonly budget: () => readonly BudgetSummary[];
  /** How the pools stand at their balancers. */
  readonly pools: () => readonly PoolSummary[];
  readonly facts: (slot: Slot) => SlotFacts | undefined;
  readonly isOverdue: FleetView['isOverdue'];
  /** All machines that there are were told to the board. */
  readonly isWhole: () => boolean;
  /** The live session of this daemon. */
  readonly self: () => SessionId | null;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  /** Names of those that are configured. */
  readonly providers: readonly string[];
}

/** The board and the guard in the words of the console. */
export function fleetView(deps: FleetViewDeps): FleetView {
  const { board, facts, self, nowMs, pools, loss } = deps;
  const counts = (): StateCounts => {
    const found = board.counts();
    return Object.fromEntries(STATES.map((state) => [state, found[state] ?? 0])) as StateCounts;
  };
  const isElsewhere = (slot: Slot) => worksElsewhere(facts(slot)?.row ?? null, self());
  const guardShown = () => {
    const moment = { nowMs: nowMs(), policy: deps.guardPolicy, heartbeatMs: loss.heartbeatMs };
    const view = deps.guard();
    return guardSummary(deps.isAttended() ? view : unattended(view), moment);
  };
  return {
    frame: () => ({
      counts: counts(),
      headline: board.headline(),
      needHuman: board.needHuman(),
      atMs: Math.round(nowMs()),
      guard: guardShown(),
      unlisted: deps.unlisted().map((each) => ({ ...each, sinceMs: Math.round(each.sinceMs) })),
    }),
    nowMs,
    loss,
    providers: () => deps.providers,
    pools,
    entries: board.entries,
    entryChanges$: deps.changes$,
    frameChanges$: deps.guardChanges$,
    facts,
    isWhole: deps.isWhole,
    isElsewhere,
    isOverdue: deps.isOverdue,
    budget: deps.budget,
  };
}

/** A freeze stays one; but nobody judges anything. */
function unattended(view: GuardView): GuardView {
  const standings = view.standings.map((each) =>
    each.scope !== UNATTENDED.scope || each.state === 'frozen' ? each : UNATTENDED,
  );
  return { ...view, state: gravest(standings).state, standings };
}

function guardSummary(view: GuardView, moment: GuardMoment): GuardSummary {
  const { state, standings, counts } = view;
  const whole = (atMs: number | null) => (atMs === null ? null : Math.round(atMs));
  return {
    state,
    scopes: standings.map((standing) => {
      const count = counts.find(({ scope }) => scope === standing.scope);
      const end = guardEnd(standing, view, moment);
      return {
        ...standing,
        sinceMs: whole(standing.sinceMs),
        ...{ started: count?.started ?? 0, silent: count?.silent ?? 0 },
        ...{ ends: end?.text ?? null, endsAtMs: whole(end?.atMs ?? null) },
      };
    }),
  };
}
