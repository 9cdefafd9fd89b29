import { expect, test } from 'vitest';
import type { BmdbSession } from '../../../src/adapters/bmdb/port.ts';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import { createMemoryBalancer, type MemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';
import { desired, M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, drop, serve } from '../../support/balancing-stand.ts';
import type { BalancingStand } from '../../support/balancing-stand.ts';
import { createFault, EFFECTS, type Fault } from '../../support/fault-battery.ts';

const MINUTE = 60_000;

interface World {
  readonly clock: VirtualClock;
  readonly memory: MemoryBalancer;
  readonly stand: BalancingStand;
}

const OPERATIONS = ['observe', 'create', 'update', 'destroy', 'refresh', 'setMember'] as const;
const sessionOpenTo = (fault: Fault, session: BmdbSession): BmdbSession =>
  fault.wrap(
    { ...session, balancing: fault.wrap(session.balancing, { write: 'write', note: 'note' }) },
    { lease: 'lease' },
  );

function worldOf(fault: Fault, onCall: () => void = () => undefined): World {
  const clock = createSimulatedClock();
  const memory = createMemoryBalancer({ clock, readyAfterMs: 2_000, onCall });
  const balancer: LoadBalancer = fault.wrap(
    memory.balancer,
    Object.fromEntries(OPERATIONS.map((each) => [each, each])),
  );
  const stand = createBalancingStand({
    clock,
    balancers: { edge: balancer },
    bmdb: (bmdb) =>
      fault.wrap(
        bmdb,
        { scan: 'scan' },
        {
          openSession: async (session: Promise<BmdbSession>) => sessionOpenTo(fault, await session),
        },
      ),
  });
  return { clock, memory, stand };
}

/** Two serve; a third comes, the first is let go, falls ill, comes back, and an object fails. */
const STORY: readonly ((world: World) => void)[] = [
  ({ stand }) => stand.wish(serve(M1), serve(M2)),
  ({ stand }) => stand.wish(serve(M3)),
  ({ stand, memory }) => {
    for (const server of memory.servers(M1)) server.sessions = 1;
    stand.wish(drain(M1));
  },
  ({ memory }) => {
    for (const server of memory.servers(M1)) server.sessions = 0;
  },
  ({ stand }) => stand.wish(drop(M1)),
  ({ stand }) => stand.wish(serve(M1)),
  ({ memory }) => {
    const frontend = [...memory.held.values()].find(({ spec }) => spec.kind === 'frontend');
    if (frontend) frontend.isFailed = true;
  },
];

/** In the end all is as it is wished: no twin, nothing without a mark, nobody drained for ever. */
async function expectOrder({ clock, memory, stand }: World) {
  for (let waited = 0; waited < 60; waited += 1) {
    await advance(clock, MINUTE);
    const isDone =
      Object.values(stand.states()).every((state) => state === 'active') &&
      memory.held.size === 16 - 2;
    if (isDone && waited > 10) break;
  }
  const wanted = desired([M1, M2, M3]).map(({ spec }) => `${spec.kind} ${spec.name}`);
  expect(memory.names()).toEqual(wanted.toSorted());
  expect([...memory.held.values()].filter(({ owner }) => owner !== pool().uid)).toEqual([]);
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active', [M3]: 'active' });
  for (const machine of [M1, M2, M3]) {
    for (const { mode } of memory.servers(machine)) expect(mode).toBe('active');
  }
}

/** No traffic to a machine while its row says that the balancer let it go. */
function expectSafe({ memory, stand }: World) {
  for (const [machine, state] of Object.entries(stand.states())) {
    if (!state.startsWith('drained')) continue;
    const open = memory.servers(machine).filter(({ mode }) => mode === 'active');
    expect(open.map(({ spec }) => spec.name)).toEqual([]);
  }
}

const STEPS = [...OPERATIONS, 'write', 'note', 'lease', 'scan'] as const;
const cases = STEPS.flatMap((step) => EFFECTS.map((effect) => [step, effect] as const));

test.each(cases)(
  '%s %s, at each turn of the story, and all is well in the end',
  async (step, effect) => {
    let struck = 0;
    for (let turn = 0; turn < STORY.length; turn += 1) {
      const fault = createFault();
      const world = worldOf(fault);
      const life = await world.stand.life();
      for (const [at, act] of STORY.entries()) {
        if (at === turn) fault.arm(step, effect);
        act(world);
        for (let second = 0; second < 45; second += 1) {
          await advance(world.clock, 1_000);
          expectSafe(world);
        }
      }
      await expectOrder(world);
      if (fault.struck) struck += 1;
      await life.stop();
    }
    if (step !== 'lease' && step !== 'scan') expect(struck).toBeGreaterThan(0);
  },
);

test('the daemon dies at each call, and the next one finishes what it began', async () => {
  const count = await callsOf(Infinity);
  expect(count).toBeGreaterThan(40);
  for (let at = 1; at <= count; at += 1) await callsOf(at);
});

/** Plays the story; the daemon dies as it begins the call of this number. @returns how many there were. */
async function callsOf(dies: number): Promise<number> {
  let calls = 0;
  let life: { stop(): Promise<void> } | null = null;
  const world = worldOf(createFault(), () => {
    calls += 1;
    if (calls !== dies) return;
    const dying = life;
    life = null;
    void dying?.stop();
  });
  life = await world.stand.life();
  for (const act of STORY) {
    act(world);
    for (let second = 0; second < 20; second += 1) {
      await advance(world.clock, 2_000);
      await settled();
      life ??= await world.stand.life();
      expectSafe(world);
    }
  }
  const told = calls;
  await expectOrder(world);
  await (life as { stop(): Promise<void> } | null)?.stop();
  return told;
}

test('two daemons: one tends the balancer; when it ends the other goes on where it stopped', async () => {
  const world = worldOf(createFault());
  const { clock, memory, stand } = world;
  stand.wish(serve(M1), serve(M2));
  const [one, two] = [await stand.life(), await stand.life()];
  await advance(clock, 2 * MINUTE);
  expect([one.state(), two.state()]).toEqual(['settled', 'awaitingLease']);
  for (const server of memory.servers(M1)) server.sessions = 1;
  stand.wish(drain(M1));
  await advance(clock, 5_000);
  expect(stand.states()[M1]).toBe('draining');
  await one.stop();
  for (const server of memory.servers(M1)) server.sessions = 0;
  await advance(clock, 20_000);
  expect(stand.states()[M1]).toBe('drained no-sessions');
  stand.wish(serve(M1), serve(M3));
  await expectOrder(world);
  await two.stop();
});
