import type { GuardView } from '../../actors/guard/watch.ts';
import type { FleetView, GuardSummary, StateCounts } from '../../console/port.ts';
import { standingOf } from '../../domain/conditions.ts';
import { needsMirror } from '../../domain/daemons.ts';
import type { Slot } from '../../domain/ids.ts';
import { guardEnd } from '../../domain/recovery/guard-rules.ts';
import { gravest, UNATTENDED, type GuardMoment } from '../../domain/recovery/guard-status.ts';
import { STATES } from '../../domain/states.ts';
import { worksElsewhere } from '../../domain/view.ts';
import type { DaemonParts } from '../parts.ts';

/** The console's view of the fleet and the guard. */
export function fleetView(parts: DaemonParts): FleetView {
  const { board, mirror, keeper, loss, permits, health } = parts;
  const { nowMs } = mirror;
  const { conditions: effects } = parts.config;
  const counts = (): StateCounts => {
    const found = board.counts();
    return Object.fromEntries(STATES.map((state) => [state, found[state] ?? 0])) as StateCounts;
  };
  const facts = (slot: Slot) => mirror.facts().get(slot);
  // False: no living daemon would recover anything.
  const isAttended = () => !mirror.isWhole() || mirror.sessions().length > 0;
  const guardShown = () => {
    const moment = { nowMs: nowMs(), policy: parts.guardPolicy, heartbeatMs: loss.heartbeatMs };
    const view = parts.watch.view();
    return guardSummary(isAttended() ? view : unattended(view), moment);
  };
  return {
    frame: () => ({
      counts: counts(),
      headline: board.headline(),
      needHuman: board.needHuman(),
      atMs: Math.round(nowMs()),
      guard: guardShown(),
      unlisted: health.unlisted().map((each) => ({ ...each, sinceMs: Math.round(each.sinceMs) })),
    }),
    nowMs,
    loss,
    providers: () => [...parts.providers.keys()],
    pools: parts.poolSummaries,
    entries: board.entries,
    entryChanges$: parts.changes,
    frameChanges$: parts.guardChanges,
    facts,
    isWhole: () => !needsMirror(parts.roles) || mirror.isWhole(),
    isElsewhere: (slot) =>
      worksElsewhere(facts(slot)?.row ?? null, keeper.current()?.sessionId ?? null),
    isOverdue: parts.isOverdue,
    standing: (condition) => standingOf(condition, mirror.suspicious(), { effects }),
    budget: permits.use,
  };
}

/** A freeze stays; but no daemon judges anything. */
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
