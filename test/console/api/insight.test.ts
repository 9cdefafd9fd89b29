import { expect, test } from 'vitest';
import { CHART_IDS } from '../../../src/console/charts/layout.ts';
import type { ChartLayout } from '../../../src/console/api/about.ts';
import type { LiveMachine, MachineInsight } from '../../../src/console/views.ts';
import { explanationOf } from '../../../src/domain/explanation/explanation.ts';
import { explained, moment, silentRow } from '../../domain/explanation/stand.ts';
import { hold, NOW_MS, SLOT } from '../../support/facts.ts';
import { askApi, openConsole } from './console-stand.ts';

const EXPLANATION = explanationOf(
  explained({ row: silentRow, holds: [hold('no-recover', NOW_MS + 60_000.5)] }),
  moment,
);
const LIVE: LiveMachine = {
  atMs: NOW_MS,
  life: 'Recovering.working',
  requests: 'idle',
  task: { chart: 'recovery', at: 'rebooting.awaitingBoot', endsAtMs: NOW_MS + 1 },
  shown: { state: 'Recovering', substate: 'rebooting' },
  rows: { state: 'Recovering', substate: 'rebooting' },
  agrees: true,
  last: null,
  timer: null,
};
const insight = {
  explain: async (slot: string) => (slot === SLOT ? EXPLANATION : null),
  live: (slot: string) => (slot === SLOT ? LIVE : null),
} as Partial<MachineInsight> as MachineInsight;

test('V13: the API serves the explanation with the words of the domain', async () => {
  const console = await openConsole({ insight });
  const { status, body } = await askApi(console, `machines/${SLOT}/explanation`);
  expect([status, body]).toEqual([200, EXPLANATION]);
  const live = await askApi(console, `machines/${SLOT}/live`);
  expect([live.status, live.body]).toEqual([200, LIVE]);
});

test('of a slot that nobody knows, neither is served', async () => {
  const console = await openConsole({ insight });
  for (const path of ['explanation', 'live']) {
    const { status, body } = await askApi(console, `machines/stub/none/${path}`);
    expect([status, body]).toMatchObject([404, { code: 'not-found' }]);
  }
});

test('V17: every chart is served, and no other', async () => {
  const console = await openConsole();
  for (const id of CHART_IDS) {
    const { status, body } = await askApi<ChartLayout>(console, `charts/${id}`);
    expect([status, body.id]).toEqual([200, id]);
  }
  expect((await askApi(console, 'charts/cell')).status).toBe(400);
});
