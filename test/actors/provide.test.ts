import { type AnyActorRef, type AnyStateMachine } from 'xstate';
import { expect, test } from 'vitest';
import type { TaskPool } from '../../src/actors/turns/turns.ts';
import type { BmdbSession } from '../../src/adapters/bmdb/port.ts';
import { cell } from '../../src/machines/cell.ts';
import { fleet } from '../../src/machines/fleet.ts';
import { provisioner } from '../../src/machines/provisioner.ts';
import { nodesOf } from '../support/chart-map.ts';
import { createSmallWorld } from '../support/small-world.ts';
import { advance } from '../doubles/simulated-clock.ts';

/** Services of a chart and of the charts inside it that end in `unprovided`, as `chart.service`. */
function holesOf(chart: AnyStateMachine): string[] {
  const { actors, actions } = chart.implementations;
  const inside = Object.entries(actors).flatMap(([name, logic]) => {
    if (isChart(logic)) return holesOf(logic);
    const { config } = logic as { config?: unknown };
    return endsUnprovided(config) ? [`${chart.id}.${name}`] : [];
  });
  const open = Object.entries(actions)
    .filter(([, action]) => endsUnprovided(action))
    .map(([name]) => `${chart.id}.${name}`);
  return [...inside, ...open];
}
const isChart = (logic: unknown): logic is AnyStateMachine =>
  typeof logic === 'object' && logic !== null && '__xstatenode' in logic;
const endsUnprovided = (code: unknown) =>
  typeof code === 'function' && /\bunprovided\b/.test(String(code));

/** Names that a chart or its child charts use, and that no implementation defines. */
function danglingOf(chart: AnyStateMachine): string[] {
  const { actors, actions, guards, delays } = chart.implementations;
  const nodes = nodesOf(chart);
  const transitions = nodes.flatMap((node) => [
    ...[...node.transitions.values()].flat(),
    ...(node.always ?? []),
  ]);
  const typeOf = (named: unknown) =>
    typeof named === 'string' ? named : (named as { type?: unknown } | undefined)?.type;
  const missing = (kind: string, names: readonly unknown[], known: object) =>
    names
      .map(typeOf)
      .filter((name) => typeof name === 'string' && !(name in known))
      .map((name) => `${chart.id}: ${kind} "${String(name)}"`);
  const isOwn = (named: unknown) => !String(typeOf(named)).startsWith('xstate.');
  const acts = [
    ...nodes.flatMap((node) => [...node.entry, ...node.exit]),
    ...transitions.flatMap((transition) => transition.actions),
  ];
  return [
    ...missing(
      'actor',
      nodes.flatMap((node) => node.invoke.map(({ src }) => src)),
      actors,
    ),
    ...missing('action', acts.filter(isOwn), actions),
    ...missing('guard', transitions.map(({ guard }) => guard).filter(isOwn), guards),
    ...missing(
      'delay',
      nodes.flatMap((node) => node.after.map(({ delay }) => delay)),
      delays,
    ),
    ...Object.values(actors).filter(isChart).flatMap(danglingOf),
  ];
}

test('finds the empty slots of the bare charts', () => {
  expect(holesOf(fleet)).toHaveLength(21);
  expect(holesOf(fleet)).toContain('session.reportPokeFailure');
  expect(holesOf(cell)).toContain('agentStart.execute');
  expect(holesOf(cell)).toContain('cell.reportCrash');
  expect(holesOf(provisioner)).toHaveLength(9);
});

test.each([fleet, cell, provisioner])('has every service that $id names', (chart) => {
  expect(danglingOf(chart)).toEqual([]);
});

test('fills every service of every chart of the daemon', async () => {
  const roots = new Map<string, AnyStateMachine>();
  const see = (event: { readonly actorRef: unknown }) => {
    const { logic, _parent } = event.actorRef as AnyActorRef & { logic?: unknown };
    if (!_parent && isChart(logic)) roots.set(logic.id, logic);
  };
  const world = createSmallWorld({ machines: 1, inspect: see });
  await world.fleet();
  await advance(world.clock, 10 * 60_000);
  expect([...roots.keys()].toSorted()).toEqual(['cell', 'fleet', 'provisioner']);
  for (const chart of roots.values()) {
    expect(holesOf(chart)).toEqual([]);
    expect(danglingOf(chart)).toEqual([]);
  }
});

test('doubles pauses between sessions, differently in each daemon', async () => {
  const world = createSmallWorld({ machines: 1 });
  const { logic } = (await world.fleet()) as AnyActorRef & { logic: AnyStateMachine };
  const { sessionRetry } = logic.implementations.delays as unknown as {
    sessionRetry: (about: { context: unknown }) => number;
  };
  const pauses = (sessionLosses: number) =>
    Array.from({ length: 50 }, () =>
      sessionRetry({ context: { sessionRetryMs: 500, sessionLosses } }),
    );
  for (const [losses, ms] of [
    [1, 500],
    [2, 1_000],
    [50, 30_000],
  ] as const) {
    const drawn = pauses(losses);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0.8 * ms);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(1.2 * ms);
    expect(new Set(drawn).size).toBeGreaterThan(10);
  }
});

test('releases what a crashed machine holds before the machine comes back', async () => {
  const released: string[] = [];
  let breaks = true;
  const world = createSmallWorld({
    machines: 1,
    bmdb: (bmdb) => ({
      ...bmdb,
      async openSession(options) {
        const session = await bmdb.openSession(options);
        const releaseWork: BmdbSession['releaseWork'] = async (id) => {
          released.push(id);
          await session.releaseWork(id);
        };
        return { ...session, releaseWork };
      },
    }),
  });
  await world.fleet();
  const { end } = world.taskPool;
  const broken: TaskPool['end'] = (slot) => {
    if (!breaks) return end(slot);
    breaks = false;
    throw new Error('bug');
  };
  Object.assign(world.taskPool, { end: broken });
  await advance(world.clock, 10 * 60_000);
  expect(world.log.count("a machine's actor crashed; it restarts from the rows of the BMDB")).toBe(
    1,
  );
  expect(world.metrics.total('shepherd_actor_crashes_total')).toBe(1);
  expect(released).toEqual([...world.bmdb.tables.machines.keys()]);
  expect([...world.views.values()]).toMatchObject([{ state: 'Running', substate: 'healthy' }]);
});
