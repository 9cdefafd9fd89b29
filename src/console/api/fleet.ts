import { z } from 'zod';
import type { Clock } from '../../adapters/clock/port.ts';
import { fleetStatus, hasNext, nextOfMachine, type NextEvent } from '../../domain/fleet-status.ts';
import { FLEET } from '../../domain/recovery/guard-judgement.ts';
import { budgetScope } from '../../domain/recovery/permits.ts';
import { STATES } from '../../domain/states.ts';
import { TRAIT_NAMES, TRAITS } from '../../domain/traits.ts';
import type { Cell } from '../index/machine-index.ts';
import type { FleetView, Frame, GuardSummary } from '../port.ts';
import { sharedLook, read, type Api } from './kit.ts';
import type { ConsoleViews, Sample, SeriesView } from '../views.ts';
import { FleetSchema, GuardAnswerSchema, PoolsSchema, SeriesSchema } from './fleet-schema.ts';
import { PlanSchema } from './plan-schema.ts';
import { Problem } from './problem.ts';
import { text } from './schemas.ts';
import { requireWhole } from './whole.ts';

/** Dependencies of the routes about the whole fleet. */
export interface FleetDeps extends Pick<ConsoleViews, 'guard' | 'plan' | 'series'> {
  readonly fleet: FleetView;
  readonly clock: Clock;
  readonly frame: () => Frame;
  readonly cells: () => readonly Cell[];
  readonly mayEraseDisks: readonly string[];
  readonly inspectorUrl: string | null;
  readonly inspector: object | null;
}

/** Kept this long, because it walks through everything. */
const PLAN_FRESH_MS = 5_000;

/** `fleet`, the frame of every page; `plan`; `series`; `guard`; `pools`. */
export function addFleet(api: Api, deps: FleetDeps): void {
  const { fleet, frame, cells, clock, mayEraseDisks, inspectorUrl, inspector } = deps;
  const traits = TRAIT_NAMES.map((name) => ({ name, label: TRAITS[name].label }));
  api.get('/fleet', read('fleet', 'The fleet as a whole', FleetSchema), async () => ({
    ...frame(),
    cells: cells(),
    providers: fleet.providers(),
    ...{ mayEraseDisks, traits, inspectorUrl, inspector: inspector !== null },
  }));
  const plan = sharedLook(clock, PLAN_FRESH_MS, async () => deps.plan());
  const planned = 'What Shepherd would do next, and why. Changes nothing and calls no provider';
  api.get('/plan', read('fleet', planned, PlanSchema), () => plan());
  const hour = 'States, heartbeats and recoveries during the last hour';
  api.get('/series', read('fleet', hour, SeriesSchema), async () => seriesAnswer(deps.series));
  addGuard(api, deps);
  const poolsAnswer = (name?: string) => {
    requireWhole(fleet);
    const pools = fleet.pools().filter(({ pool }) => pool === (name ?? pool));
    return { atMs: fleet.frame().atMs, pools };
  };
  api.get('/pools', read('pools', 'All pools', PoolsSchema), async () => poolsAnswer());
  api.get(
    '/pools/:pool',
    read('pools', 'A pool at each of its balancers', PoolsSchema, {
      params: z.object({ pool: text }),
    }),
    async ({ params: { pool } }) => {
      const answer = poolsAnswer(pool);
      if (answer.pools.length === 0) throw new Problem('not-found', `No pool is named ${pool}`);
      return answer;
    },
  );
}

/** The current frame. */
export function frameOf(fleet: FleetView): Frame {
  const { atMs, counts, headline, needHuman, guard, unlisted } = fleet.frame();
  return {
    atMs,
    total: fleet.entries.size,
    counts,
    headline,
    needHuman,
    status: fleetStatus({
      ...{ nowMs: atMs, headline, needHuman, unlisted },
      ...{ scopes: guard.scopes, pools: fleet.pools() },
      machines: nextOfMachines(fleet, guard),
    }),
    guard,
    budget: fleet.budget(),
    unlisted,
  };
}

/** Healthy machines wait for nothing. */
function* nextOfMachines(fleet: FleetView, guard: GuardSummary): Generator<NextEvent> {
  const nowMs = fleet.nowMs();
  const barred = new Set(
    guard.scopes.filter(({ state }) => state !== 'watching').map(({ scope }) => scope),
  );
  for (const { view, state, substate } of fleet.entries.values()) {
    if (!hasNext({ state, substate })) continue;
    const { slot, provider, needsHuman } = view;
    const row = fleet.facts(slot)?.row;
    if (!row) continue;
    const isBarred = barred.has(FLEET) || barred.has(provider);
    const told = { slot, state, substate, needsHuman, row, isBarred };
    const next = nextOfMachine(told, { nowMs, loss: fleet.loss });
    if (next) yield { ...next, atMs: Math.ceil(next.atMs) };
  }
}

/** Kept this long, because in a storm many machines wait and all are sorted. */
const GUARD_FRESH_MS = 1_000;

/** `guard`: whether machines are recovered now, why not, how near the limit is, and which wait. */
function addGuard(api: Api, { fleet, guard, mayEraseDisks, clock }: FleetDeps): void {
  const look = sharedLook(clock, GUARD_FRESH_MS, async () => guard());
  const summary = 'The state of the guard, its distance from a freeze, and the waiting machines';
  api.get('/guard', read('guard', summary, GuardAnswerSchema), async () => {
    const { scopes, waiting, waitingBy } = await look();
    const { atMs, guard: shown, needHuman } = fleet.frame();
    const budget = fleet.budget();
    const waitingIn = (scope: string) => waitingBy.get(scope) ?? 0;
    return {
      atMs,
      state: shown.state,
      scopes: shown.scopes.map((each) => {
        const place = budgetScope(each.scope);
        const use = budget.find(({ scope }) => scope === place);
        const {
          frozen = null,
          thawsAtMs = null,
          rules = [],
        } = scopes.find(({ scope }) => scope === each.scope) ?? {};
        return {
          ...{ ...each, frozen, thawsAtMs, rules, waiting: waitingIn(place) },
          permits: use?.permits ?? null,
          budget: use?.budget ?? null,
        };
      }),
      needHuman,
      budget: budget.map((use) => ({ ...use, waiting: waitingIn(use.scope) })),
      waiting,
      mayEraseDisks,
    };
  });
}

/** By column. */
function seriesAnswer({ stepMs, samples: taken }: SeriesView) {
  const samples = taken();
  const column = (of: (sample: Sample) => number) => samples.map(of);
  const seen = STATES.filter((state) => samples.some(({ counts }) => counts[state]));
  return {
    stepMs,
    atMs: column(({ atMs }) => atMs),
    states: Object.fromEntries(
      seen.map((state) => [state, column(({ counts }) => counts[state] ?? 0)]),
    ),
    silent: column(({ silent }) => silent),
    heartbeats: column(({ heartbeats }) => heartbeats),
    recoveries: column(({ recoveries }) => recoveries),
  };
}
