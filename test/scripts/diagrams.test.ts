import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { CHART_IDS } from '../../src/console/charts/layout.ts';
import type { ChartLayout } from '../../src/console/api/about.ts';
import { layoutDocuments } from '../../scripts/diagrams/layouts.ts';
import { STATES } from '../../src/domain/states.ts';
import { balancer } from '../../src/machines/balancer.ts';
import { deprovision } from '../../src/machines/deprovision.ts';
import { fleet } from '../../src/machines/fleet.ts';
import { guard } from '../../src/machines/guard.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { provisioner } from '../../src/machines/provisioner.ts';
import { session } from '../../src/machines/session.ts';
import { recovery } from '../../src/machines/recovery.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import { testRows } from '../support/rows.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (id: string): ChartLayout =>
  JSON.parse(readFileSync(join(ROOT, `generated/charts/${id}.json`), 'utf8')) as ChartLayout;

/** Reads the transitions' definitions, not the graph that makes the layouts. */
function transitionsOf(node: AnyStateNode): (readonly [AnyStateNode, AnyStateNode])[] {
  const own = [...node.transitions.values(), node.always ?? []].flat();
  return [
    ...own.flatMap(({ target = [] }) => target.map((to) => [node, to as AnyStateNode] as const)),
    ...Object.values(node.states).flatMap(transitionsOf),
  ];
}
const nodesOf = (node: AnyStateNode): AnyStateNode[] =>
  Object.values(node.states).flatMap((child) => [child, ...nodesOf(child)]);

/** One place per pixel of a line, independent of the layout's mathematics. */
function dotsOn([x, y]: readonly [number, number], [toX, toY]: readonly [number, number]) {
  const steps = Math.ceil(Math.hypot(toX - x, toY - y));
  return Array.from({ length: steps }, (_, at) => {
    const share = at / steps;
    return [x + (toX - x) * share, y + (toY - y) * share] as const;
  });
}

describe('V17: the layouts of charts', () => {
  let fresh: Map<string, string>;
  beforeAll(async () => {
    fresh = await layoutDocuments();
  });

  testRows(CHART_IDS)('%s is fresh, small, and holds its states within its bounds', (id) => {
    const path = `generated/charts/${id}.json`;
    const text = readFileSync(join(ROOT, path), 'utf8');
    expect(text).toBe(fresh.get(path));
    expect(text.length).toBeLessThan(20_000);
    const { states, arrows, width, height } = read(id);
    for (const { x, y, ...box } of states) {
      expect([x >= 0, y >= 0, x + box.width <= width, y + box.height <= height]).not.toContain(
        false,
      );
    }
    for (const { points } of arrows) expect(points.length).toBeGreaterThanOrEqual(2);
    expect([...fresh.keys()]).toHaveLength(CHART_IDS.length);
  });

  test.each<[string, AnyStateMachine]>([
    ['takeover', agentStart],
    ['recovery', recovery],
    ['deprovision', deprovision],
    ['balancer', balancer],
    ['fleet', fleet],
    ['session', session],
    ['guard', guard],
    ['provisioner', provisioner],
  ])('%s has all states of its chart, and no arrow that the chart lacks', (id, { root }) => {
    const { states, arrows } = read(id);
    const nameOf = ({ path }: AnyStateNode) => path.join('.');
    expect(states.map((state) => state.id).toSorted()).toEqual(
      nodesOf(root).map(nameOf).toSorted(),
    );
    const known = transitionsOf(root).map(([from, to]) => `${nameOf(from)} -> ${nameOf(to)}`);
    for (const { from, to } of arrows) expect(known).toContain(`${from} -> ${to}`);
  });

  test('life has the nine states, eight main arrows, and no arrow that the chart lacks', () => {
    const { states, arrows } = read('life');
    expect(states.map(({ id }) => id)).toEqual([...STATES]);
    expect(arrows.filter(({ kind }) => kind === 'main')).toHaveLength(8);
    const outer = ({ path }: AnyStateNode) => path.find((key) => STATES.includes(key as never));
    const known = transitionsOf(lifecycle.root)
      .filter(([from]) => from.key !== 'resyncing')
      .map(([from, to]) => `${outer(from) ?? 'any'} -> ${outer(to)}`);
    for (const { from, to } of arrows) {
      expect([`${from} -> ${to}`, `any -> ${to}`].some((each) => known.includes(each))).toBe(true);
    }
  });

  test('life draws no arrow behind a state except its ends', () => {
    const { states, arrows, height } = read('life');
    for (const { from, to, points } of arrows) {
      const others = states.filter(({ id }) => id !== from && id !== to);
      const passed = points.slice(1).flatMap((end, at) => dotsOn(points[at]!, end));
      const behind = others.filter((box) =>
        passed.some(
          ([x, y]) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height,
        ),
      );
      expect({ from, to, behind: behind.map(({ id }) => id) }).toEqual({ from, to, behind: [] });
      for (const [, y] of points) expect(y > 0 && y < height).toBe(true);
    }
  });

  testRows(CHART_IDS.filter((id) => id.startsWith('inside-')))('%s has all children', (id) => {
    const { life, requests } = lifecycle.root.states['alive']!.states as Record<
      string,
      AnyStateNode
    >;
    const state = id === 'inside-requests' ? requests! : life!.states[id.slice(7)]!;
    const { states, arrows } = read(id);
    expect(states.map((each) => each.id)).toEqual(Object.keys(state.states));
    const known = transitionsOf(state).map(([from, to]) => `${from.key} -> ${to.key}`);
    for (const { from, to } of arrows) expect(known).toContain(`${from} -> ${to}`);
  });
});
