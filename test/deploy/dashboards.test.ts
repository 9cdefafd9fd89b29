import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dashboard, Panel } from '@grafana/schema';
import { describe, expect, test } from 'vitest';
import { BOARDS } from '../../scripts/grafana/boards.ts';
import { dashboardOf } from '../../scripts/grafana/panel.ts';
import { REGISTERED } from '../adapters/metrics/every-metric.ts';
import { root } from '../repo/sources.ts';
import { faultsOf, metricsOf } from './promql.ts';
import { runbookOf, SHIPPED } from './rules.ts';
import { testRows } from '../support/rows.ts';

const runbooks = new Set(SHIPPED.map(({ alert }) => runbookOf(alert)));
const read = (name: string) =>
  JSON.parse(readFileSync(join(root, `deploy/grafana/${name}.json`), 'utf8')) as Dashboard;

describe.each(Object.keys(BOARDS))('V52 the dashboard %s', (name) => {
  const dashboard = read(name);
  const panels = (dashboard.panels ?? []) as Panel[];
  const queries = panels.flatMap(({ title, targets = [] }) =>
    targets.map((target) => [title, String(target['expr'])] as const),
  );

  test('equals the output of its script', () => {
    expect(dashboard).toEqual(dashboardOf(BOARDS[name]!));
  });

  testRows(queries)('%s uses exported series, and holds over several daemons: %s', (_, expr) => {
    expect(faultsOf(expr)).toEqual([]);
  });

  test('names in its legends the labels that distinguish its series', () => {
    for (const { targets = [] } of panels) {
      for (const { expr, legendFormat } of targets as { expr: string; legendFormat: string }[]) {
        const [, by = ''] = /by \(([^)]*)\)/.exec(expr) ?? [];
        const labels = by.split(', ').filter((label) => label !== '' && label !== 'le');
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        expect(named.toSorted(), expr).toEqual(labels.toSorted());
      }
    }
  });

  test('links to the console, and from its panels to existing runbooks', () => {
    expect(dashboard.links?.map(({ url }) => url)).toEqual([
      '${console}',
      '${console}/runbooks/',
      '',
    ]);
    const links = panels.flatMap(({ links: each = [] }) => each.map(({ url }) => url!));
    expect(links.length).toBeGreaterThan(4);
    for (const url of links) expect(runbooks).toContain(url.replace('${console}/runbooks/', ''));
  });

  test('places its panels side by side, without overlap', () => {
    const cells = panels.map(({ gridPos }) => `${gridPos!.x} ${gridPos!.y}`);
    expect(new Set(cells).size).toBe(panels.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

test('shows every metric of an alert on a dashboard', () => {
  const shown = new Set(
    Object.values(BOARDS).flatMap(({ figures }) =>
      figures.flatMap(({ queries }) => queries.flatMap(([expr]) => metricsOf(expr))),
    ),
  );
  // A number says no more here than the alert.
  const alone = ['up', 'shepherd_guard_state', 'shepherd_actor_crashes_total'];
  const others = [...alone, 'shepherd_service_crashes_total', 'shepherd_work_lost_total'];
  const missing = SHIPPED.flatMap(({ expr }) => metricsOf(expr)).filter(
    (name) => !shown.has(name) && !others.includes(name),
  );
  expect(missing).toEqual([]);
  expect(REGISTERED.filter(({ name }) => shown.has(name)).length).toBeGreaterThan(30);
});
