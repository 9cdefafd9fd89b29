import { NEVER, of } from 'rxjs';
import type { Bmdb } from '../../adapters/bmdb/port.ts';
import { ladderOf, poolsOf, type Config } from '../../config.ts';
import { Problem } from '../../console/api/problem.ts';
import type { MachineInsight } from '../../console/insight.ts';
import type { FleetView, GuardSummary, MachineEntry } from '../../console/port.ts';
import { readHardware } from '../../daemon/views/explaining.ts';
import { guardPolicyOf, TUNING } from '../../daemon/tuning.ts';
import { isHeld } from '../../domain/eligibility.ts';
import { ALL_MEANS } from '../../domain/explanation/explanation.ts';
import { ladderStanding } from '../../domain/explanation/ladder-standing.ts';
import { poolSummaries } from '../../daemon/views/pool-summaries.ts';

import { headlineOf, shareWord } from '../../domain/headline.ts';
import type { Slot } from '../../domain/ids.ts';
import { slotOfRow } from '../../domain/filing/named-fleet.ts';
import { countPermits } from '../../domain/recovery/permits.ts';
import { gravest, standingsOf, type GuardStanding } from '../../domain/recovery/standing.ts';
import { entryNeedsHuman, STATES } from '../../domain/states.ts';
import { worksElsewhere } from '../../domain/view.ts';
import { noCounts } from '../../domain/recovery/guard-counts.ts';
import { guardEnd } from '../../domain/recovery/guard-ends.ts';
import { FLEET } from '../../domain/recovery/guard-judgement.ts';
import { explainEntry } from '../machine/explaining.ts';
import type { Means } from '../machine/command.ts';
import { isAnyAlive, NO_DAEMON } from '../machine/any-daemon.ts';
import type { RecordedFleet } from '../machine/recorded-fleet.ts';

/** What the views are made of. */
export interface Recorded {
  readonly bmdb: Bmdb;
  readonly config: Config;
  readonly fleet: RecordedFleet;
  /** Providers that daemons cannot list. */
  readonly unlisted: readonly { readonly provider: string; sinceMs: number; cause: string }[];
}

/**
 * The fleet as the console has it, from rows alone. What only a daemon knows is not in it: free slots
 * and whatever else only listings tell, steps of its own work, and since when it saw a state.
 */
export function recordedView({ config, fleet, unlisted }: Recorded): FleetView {
  const { read, bySlot } = fleet;
  const facts = (slot: Slot) => bySlot.get(slot)?.facts;
  const entries = new Map(fleet.entries.map((each) => [each.view.slot, entryOf(each, read.nowMs)]));
  const counts = Map.groupBy(entries.values(), ({ state }) => state);
  const frame = () => ({
    atMs: Math.round(read.nowMs),
    counts: Object.fromEntries(
      STATES.map((state) => [state, counts.get(state)?.length ?? 0]),
    ) as ReturnType<FleetView['frame']>['counts'],
    headline: headlineOf(
      [...entries.values()].map((entry) => ({ word: shareWord(entry), machines: 1 })),
    ),
    needHuman: [...entries.values()].filter(entryNeedsHuman).length,
    guard: guardOf(fleet, config),
    unlisted: unlisted.map((each) => ({ ...each, sinceMs: Math.round(each.sinceMs) })),
  });
  const pools = () =>
    poolSummaries({
      pools: poolsOf(config),
      balancers: config.balancers,
      rows: read.pools,
      leases: read.leases,
      machines: read.machines.map((row) => ({ slot: slotOfRow(row), members: row.members })),
    });
  return {
    snapshot: () => ({ ...frame(), machines: [], pools: pools() }),
    frame,
    nowMs: () => read.nowMs,
    loss: fleet.loss,
    providers: () => Object.keys(config.providers),
    pools,
    entries,
    entryChanges$: NEVER,
    frameChanges$: NEVER,
    facts,
    isElsewhere: (slot) => worksElsewhere(facts(slot)?.row ?? null, null),
    isOverdue() {
      throw new Problem(
        'malformed',
        'overdue: since when a machine is in its place only daemons know; ask a console',
      );
    },
    budget: () =>
      countPermits(
        fleet.entries.map((each) => each.facts),
        config.guard,
      ).use(),
    changes$: of(),
  };
}

/** When a state began is not written down of every state: it is as it was found now. */
const entryOf = ({ view }: RecordedFleet['entries'][number], nowMs: number): MachineEntry => ({
  ...{ view, state: view.state, substate: view.substate, sinceMs: nowMs, last: null },
});

function guardOf(fleet: RecordedFleet, config: Config): GuardSummary {
  const { read, entries, loss } = fleet;
  const policy = guardPolicyOf(config, TUNING);
  const moment = { nowMs: read.nowMs, policy, heartbeatMs: loss.heartbeatMs };
  const started = entries.filter(({ facts: { row } }) => row?.agentStarted);
  const names = [...new Set(started.map(({ view }) => view.provider as string))].toSorted();
  const told = standingsOf({ rows: read.guard, counts: [] }, moment);
  const known = new Set(told.map(({ scope }) => scope));
  const others = names.filter((name) => !known.has(name));
  const standings: readonly GuardStanding[] = [
    ...told.map((each) => (isAnyAlive(read.sessions) ? each : unattended(each))),
    ...others.map((scope) => ({ scope, state: 'watching' as const, sinceMs: null, reason: null })),
  ];
  const countIn = (scope: string) => {
    const those = started.filter(({ view }) => isIn(scope, view));
    const silent = those.filter(({ view }) => view.substate === 'silent').length;
    return { started: those.length, silent };
  };
  const counts = standings.map(({ scope }) => ({
    ...{ ...noCounts(scope), ...countIn(scope) },
    machines: entries.filter(({ facts: { row }, view }) => isIn(scope, view) && row?.provided)
      .length,
  }));
  return {
    state: gravest(standings).state,
    scopes: standings.map((each) => {
      const end = guardEnd(each, { rows: read.guard, counts }, moment);
      return {
        ...each,
        sinceMs: each.sinceMs === null ? null : Math.round(each.sinceMs),
        ...countIn(each.scope),
        ends: end?.text ?? null,
        endsAtMs: end && end.atMs !== null ? Math.round(end.atMs) : null,
      };
    }),
  };
}

const isIn = (scope: string, { provider }: MachineEntry['view']): boolean =>
  scope === FLEET || provider === scope;

/** A freeze stays one; but nobody judges anything. */
const unattended = (standing: GuardStanding): GuardStanding =>
  standing.scope !== FLEET || standing.state === 'frozen'
    ? standing
    : { scope: FLEET, state: 'blind', sinceMs: null, reason: NO_DAEMON };

/** Why machines are where they are, as far as rows tell. */
export const recordedInsight = ({ bmdb, config, fleet }: Recorded): MachineInsight => ({
  async explain(slot, signal) {
    const entry = fleet.bySlot.get(slot);
    const means = { bmdb, config, signal } as Pick<Means, 'bmdb' | 'config' | 'signal'>;
    return entry ? explainEntry(entry, fleet, null, means as Means) : null;
  },
  live: () => null,
  ladder(slot) {
    const { row, holds, provider } = fleet.bySlot.get(slot)?.facts ?? {};
    if (!row || provider === undefined) return null;
    const { nowMs } = fleet.read;
    const preserved = isHeld(row, 'preserve', { holds: holds ?? [], nowMs });
    const now = { policy: ladderOf(config, provider), means: ALL_MEANS, preserved, nowMs };
    return { ...ladderStanding(row, { ...now, askAgainMs: 0 }), queue: null };
  },
  hardware: (machine, signal) => readHardware(bmdb.inspection, machine, signal),
});
