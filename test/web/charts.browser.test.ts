import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LiveMachine } from '../../src/console/views.ts';
import { STATES } from '../../src/domain/states.ts';
import { withBrowser } from '../support/browser.ts';
import { NOW_MS } from '../support/facts.ts';
import { PATIENCE } from '../support/patience.ts';
import { serveChartPage, type ChartPage } from './chart-page.ts';

const MINUTE = 60_000;
const REBOOTING: LiveMachine = {
  atMs: NOW_MS,
  life: 'Recovering.working',
  requests: 'idle',
  task: { chart: 'recovery', at: 'rebooting.awaitingBoot', endsAtMs: NOW_MS + 10 * MINUTE },
  shown: { state: 'Recovering', substate: 'rebooting' },
  rows: { state: 'Recovering', substate: 'rebooting' },
  agrees: true,
  last: {
    from: { state: 'Running', substate: 'silent' },
    to: { state: 'Recovering', substate: 'rebooting' },
    atMs: NOW_MS - 3 * MINUTE,
    reason: 'no heartbeat within <b>the</b> deadline',
  },
  timer: null,
};
const APART: LiveMachine = {
  ...REBOOTING,
  life: 'Running.resting',
  task: null,
  shown: { state: 'Running', substate: 'late' },
  rows: { state: 'Quarantined', substate: 'conflict' },
  agrees: false,
  last: null,
  timer: {
    from: { state: 'Running', substate: 'late' },
    to: { state: 'Recovering', substate: 'rebooting' },
    atMs: NOW_MS + 5 * MINUTE,
  },
};

let served: ChartPage;
beforeAll(async () => {
  served = await serveChartPage();
});
afterAll(() => served.close());

test('V18: the charts of a machine have roles and names, are drawn, and count down', async () => {
  await withBrowser(async ({ page, complaints }) => {
    served.tell(REBOOTING);
    await page.goto(served.url);
    const listOf = (name: string) => page.getByRole('list', { name });
    const current = (name: string) => listOf(name).locator('[aria-current=step]').allTextContents();

    const work = listOf('One attempt to bring a machine back: its states');
    await work.waitFor();
    const life = listOf('The life of a machine: its states');
    const told = await life.getByRole('listitem').allTextContents();
    expect(told.map((text) => text.split(/[,;]/)[0])).toEqual([...STATES]);
    expect(await current('The life of a machine: its states')).toEqual([
      expect.stringMatching(/^Recovering, current; The machine is silent.*; leads to .*Running/),
    ]);
    expect(await current('Inside of Recovering: its states')).toEqual([
      expect.stringMatching(/^working, current/),
    ]);
    expect(await current('One attempt to bring a machine back: its states')).toEqual([
      expect.stringMatching(/^awaitingBoot, current; Waits for a new boot id/),
    ]);
    expect(await page.getByText('Before: Running · silent 3m').textContent()).toContain(
      'because no heartbeat within <b>the</b> deadline.',
    );

    const lit = await page
      .locator('[data-chart=recovery] [data-lit]')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-state')));
    expect(lit).toEqual(['rebooting', 'rebooting.awaitingBoot']);
    const timer = page.locator('[data-chart=recovery] text.timer');
    const first = await timer.textContent();
    expect(first).toMatch(/^in (10m 00s|9m 5\ds)$/);
    await expect.poll(() => timer.textContent(), PATIENCE).not.toBe(first);
    expect(await page.locator('[data-chart=life] .arrow[data-last]').count()).toBe(1);
    expect(await page.locator('[data-chart=recovery] [data-lit] >> nth=1').isVisible()).toBe(true);
    if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}.png` });
    expect(complaints).toEqual([]);
  });
});

test('draws a disagreement of actor and rows in both themes, and the outgoing transitions', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await withBrowser(
      async ({ page, complaints }) => {
        served.tell(APART);
        await page.goto(served.url);
        await page.getByRole('alert').waitFor();
        expect(await page.getByRole('alert').textContent()).toContain(
          'The actor shows Running · late, but the database says Quarantined · conflict.',
        );
        const stateOf = (selector: string) =>
          page.locator(`[data-chart=life] ${selector}`).getAttribute('data-state');
        expect([await stateOf('[data-lit]'), await stateOf('[data-rows]')]).toEqual([
          'Running',
          'Quarantined',
        ]);
        expect(await page.locator('[data-chart=life] [data-leaving]').count()).toBe(4);
        expect(await page.locator('[data-chart=life] text.timer').textContent()).toMatch(/^in \dm/);
        if (process.env['SHOTS']) {
          await page.screenshot({ path: `${process.env['SHOTS']}-${colorScheme}.png` });
        }
        expect(complaints).toEqual([]);
      },
      { colorScheme, viewport: { width: 1000, height: 500 } },
    );
  }
});

test('V15: reads the timer again when it ends, because a heartbeat may have moved it', async () => {
  const late = (atMs: number, inMs: number): LiveMachine => ({
    ...APART,
    ...{ atMs, agrees: true, rows: APART.shown },
    shown: { state: 'Running', substate: 'healthy' },
    timer: {
      from: { state: 'Running', substate: 'healthy' },
      to: { state: 'Running', substate: 'late' },
      atMs: atMs + inMs,
    },
  });
  await withBrowser(async ({ page, complaints }) => {
    await page.clock.install();
    served.tell(late(NOW_MS, 2_000));
    await page.goto(served.url);
    const timer = page.locator('[data-told=timer]');
    await timer.filter({ hasText: 'by time alone: Running · late in' }).waitFor();
    await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 500);
    served.tell(late(NOW_MS + 2_000, 9 * MINUTE));
    await page.clock.runFor(2_000);
    const shown = async () => {
      await page.clock.runFor(1);
      return timer.textContent();
    };
    await expect.poll(shown, PATIENCE).toMatch(/late in (9m 00s|8m 59s)/);
    expect(complaints).toEqual([]);
  });
});
