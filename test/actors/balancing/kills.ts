import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InspectionEvent, StateValue } from 'xstate';
import { M1, M2 } from '../../domain/balancing/pool.ts';
import type { StandLife } from '../../support/balancing-stand.ts';
import { CHART_STRIKES, MEMBER_STRIKES, type KillPoint } from './strikes.ts';
import { contextOf } from './vectors.ts';
import { MINUTE, type VectorContext, type VectorWorld } from './vector-world.ts';

/** In these states the balancer is called, and the daemon is killed during the call. */
const ASKING: ReadonlySet<string> = new Set([
  ...['retrieving', 'recovering', 'destroying', 'creating'],
]);
const PATIENCE_MS = 15 * MINUTE;
/** By then a dead daemon's session is over. */
const DEAD_MS = 20_000;

const isOf = ({ needs = [] }: KillPoint, lacks: readonly string[]): boolean =>
  !needs.some((each) => lacks.includes(each));
const leavesOf = (value: StateValue | undefined): readonly string[] =>
  typeof value === 'object' ? Object.values(value).flatMap(leavesOf) : value ? [value] : [];

interface KillCase {
  readonly open: () => Promise<VectorWorld>;
  readonly lacks?: readonly string[];
  readonly isReal?: true;
}

/** One world and one pool; each strike finds the pool settled and leaves it settled. */
export function strikes({ open, lacks = [], isReal }: KillCase): void {
  const ends: (() => Promise<unknown>)[] = [];
  let world: VectorWorld;
  let context: VectorContext;
  beforeAll(async () => {
    world = await open();
    ends.push(() => world.end());
    context = await contextOf(world, {}, ends);
    await (await context.settle()).stop();
  });
  afterAll(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  test.for(CHART_STRIKES.filter((each) => isOf(each, lacks)))(
    'recovers from a kill in $state',
    async (strike) => {
      const { state } = strike;
      const isMidst = isReal === true && ASKING.has(state);
      let isThere = false;
      let calls = 0;
      await killOne(world, context, strike, (die) => ({
        inspect: (event: InspectionEvent) => {
          if (event.type !== '@xstate.snapshot' || !('value' in event.snapshot)) return;
          const wasThere = isThere;
          isThere = leavesOf(event.snapshot.value as StateValue).includes(state);
          if (!isThere) calls = world.calls();
          else if (!isMidst) die();
          else if (!wasThere)
            void onceAsked(
              () => isThere && world.calls() === calls,
              () => isThere && die(),
            );
        },
      }));
      isThere = false;
      await succeed(world, context, strike);
    },
  );

  test.for(MEMBER_STRIKES.filter((each) => isOf(each, lacks)))(
    'recovers from a kill after a member became $state',
    async (strike) => {
      const { stand } = context;
      const before = new Map(Object.entries(stand.states()));
      await killOne(world, context, strike, (die) => ({
        onWritten() {
          const now = Object.entries(stand.states());
          const changed = now.filter(([machine, state]) => before.get(machine) !== state);
          for (const [machine, state] of now) before.set(machine, state);
          if (changed.some(([, state]) => state.startsWith(strike.state))) die();
        },
      }));
      await succeed(world, context, strike);
    },
  );
}

type Watch = (die: () => void) => NonNullable<Parameters<VectorContext['start']>[1]>;

/** Starts a daemon that dies at the watched point, and lets its session end. */
async function killOne(
  world: VectorWorld,
  context: VectorContext,
  { provoke, meanwhile }: KillPoint,
  watch: Watch,
): Promise<void> {
  const { stand } = context;
  const own = world.another();
  let life: StandLife | null = null;
  let isDoomed = false;
  let dying: Promise<void> | undefined;
  const die = () => {
    isDoomed = true;
    dying ??= life?.kill();
  };
  await provoke?.(world, context);
  life = await context.start({}, { balancers: { edge: own }, ...watch(die) });
  if (isDoomed) die();
  await meanwhile?.(world, context);
  for (let waited = 0; !isDoomed && waited < PATIENCE_MS; waited += 1_000) {
    await world.pass(1_000);
    expectSafe(world, context);
  }
  expect(isDoomed, 'it was killed there').toBe(true);
  await dying;
  stand.bmdb.tables.reachable = true;
  await world.pass(DEAD_MS);
  expectSafe(world, context);
}

/** Calls back while a state's first call is under way, or was just answered. */
async function onceAsked(isUnasked: () => boolean, then: () => unknown): Promise<void> {
  for (let turns = 0; turns < 1; turns = isUnasked() ? 0 : turns + 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  then();
}

/** The next daemon restores order, now and after everything is withdrawn. */
async function succeed(world: VectorWorld, context: VectorContext, { undo }: KillPoint) {
  const life = await context.start({}, { balancers: { edge: world.another() } });
  await untilInOrder(world, context, life);
  await undo?.(world, context);
  await untilInOrder(world, context, life);
  expect(life.state()).toBe('settled');
  const active = Object.entries(context.stand.states()).filter(([, state]) => state === 'active');
  expect(active.map(([machine]) => machine)).toEqual([M1, M2]);
  await life.stop();
}

/** Exactly the desired machines serve, and nothing else exists: no twin, no orphan. */
async function untilInOrder(
  world: VectorWorld,
  { stand, all }: VectorContext,
  life: StandLife,
): Promise<void> {
  const serving = () => [...stand.wished().values()].filter(({ want }) => want === 'serve');
  const isAsWished = ([machine, state]: [string, string]) => {
    const serves = serving().some(({ machineId }) => machineId === machine);
    return serves ? state === 'active' : state.startsWith('drained');
  };
  const isInOrder = () =>
    ['settled', 'paused'].includes(life.state()) &&
    serving().every(({ machineId }) => stand.states()[machineId] === 'active') &&
    Object.entries(stand.states()).every(isAsWished) &&
    world.everything().length === all(serving().map(({ machineId }) => machineId)).length;
  for (let waited = 0; waited < PATIENCE_MS; waited += 5_000) {
    await world.pass(5_000);
    expectSafe(world, { stand });
    if (isInOrder()) break;
  }
  const wanted = all(serving().map(({ machineId }) => machineId));
  expect({ there: world.everything(), ours: world.names() }).toEqual({
    there: wanted,
    ours: wanted,
  });
  expect(Object.entries(stand.states()).filter((each) => !isAsWished(each))).toEqual([]);
}

/** A machine gets no traffic once its row allows interruptions. */
function expectSafe(world: VectorWorld, { stand }: Pick<VectorContext, 'stand'>): void {
  const open = stand
    .rows()
    .filter(({ state, machineId }) => state === 'drained' && world.isOpen!(machineId));
  expect(open).toEqual([]);
}
