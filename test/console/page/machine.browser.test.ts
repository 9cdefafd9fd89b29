import { expect, test } from 'vitest';
import type { LiveMachine, MachineInsight, ShownPlace } from '../../../src/console/views.ts';
import type { MachineHistory } from '../../../src/console/views.ts';
import type { SlotLine } from '../../../src/domain/history/fold.ts';
import { PATIENCE } from '../../support/patience.ts';
import { conditionRow } from '../../support/conditions.ts';
import { liveWork, machineRow, slotFacts } from '../../support/facts.ts';
import { daemon, daemonsView, OTHER } from '../daemons-script.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { becomes, consoleOf, SCRIPTED_INSIGHT, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const ID = '33333333-3333-4333-8333-333333333333';
const BEFORE = '44444444-4444-4444-8444-444444444444';
const line = (ageMs: number, change: Partial<SlotLine>): SlotLine => ({
  ...{ atMs: AT_MS - ageMs, of: 'slot', machineId: ID, kind: 'heardAgain', process: null },
  ...{ actor: 'mirror', reason: '', from: null, to: null, sessionId: null, ...change },
});
/** Newest first: heartbeats that are folded, two failures that are not, and the decision of a person. */
const LINES: readonly SlotLine[] = [
  ...[1, 2, 3].map((at) => line(at * 10_000, { kind: at % 2 ? 'heardAgain' : 'fellSilent' })),
  line(60_000, { kind: 'workFailed', reason: '<img src=x onerror="alert(1)">' }),
  line(70_000, { kind: 'workFailed', reason: 'no route' }),
  line(90_000, { kind: 'held', actor: 'ann', reason: 'its fan is loud' }),
];
const history: MachineHistory = {
  ofSlot: async ({ before }) =>
    before === null
      ? {
          ...{ lines: LINES, next: { cut: '1', seq: '2' } },
          tenants: [ID, BEFORE].map((machineId) => {
            return { machineId, firstAtMs: AT_MS - 9_000_000, lastAtMs: AT_MS - 8_000_000 };
          }),
        }
      : { lines: [line(900_000, { kind: 'created' })], next: null, tenants: [] },
  ofMachine: async () => ({ events: [], work: [] }),
};

test('V34: the machine page shows the history, folded except failures, the ladder, hardware, earlier machines, and the working daemon', async () => {
  const fleet = scriptedFleet(
    machine('a', { state: 'Recovering', substate: 'rebooting', machineId: ID }),
  );
  const row = machineRow({ work: [liveWork('ShepherdRecovery', OTHER)] });
  const facts = () => slotFacts({ row });
  const { about } = daemon();
  const daemons = daemonsView(
    [
      daemon(),
      daemon({
        ...{ sessionId: OTHER, runtimeInfo: 'host rack2' },
        about: { ...about, consoleUrl: 'https://two.example.org/' },
      }),
    ],
    [],
  );
  const silent: ShownPlace = { state: 'Running', substate: 'silent' };
  let from: ShownPlace = { ...silent, substate: 'late' };
  const live: MachineInsight['live'] = (slot) => ({
    ...SCRIPTED_INSIGHT.live(slot)!,
    timer: { from, to: silent, atMs: AT_MS + 240_000 },
  });
  const insight = { ...SCRIPTED_INSIGHT, live };
  const shown = await showPage(
    browser,
    { ...fleet, facts },
    { path: 'machines/equinix/a', more: { history, daemons, insight } },
  );
  const { page, done } = shown;
  const rows = page.locator('.history tbody tr');
  await becomes(page, '.history [data-kind=heardAgain]', '3 times');
  expect(await rows.count()).toBe(4);
  await becomes(page, '.history [data-failure]', '<img src=x onerror="alert(1)">');
  expect(await page.locator('.history [data-failure]').count()).toBe(2);
  await becomes(page, '.history [data-kind=held]', /ann.*its fan is loud/s);
  await page.click('.history button');
  await becomes(page, '.history [data-kind=created]', '15m');
  expect(await page.locator('.history button').count()).toBe(0);
  await becomes(page, '.tenants', BEFORE);
  expect(await page.locator('.tenants tbody tr').count()).toBe(1);
  await becomes(page, '.ladder [aria-current]', /rebooting.*here.*2 of 3.*15m/s);
  await becomes(page, '.ladder', /cooldown ends in [45]m.*3 of 5 for a permit of location am6/s);
  await becomes(page, '.ladder [data-rung=reinstalling]', 'may not erase its disks');
  // Arrows to other states cross the box, so the timer names its target.
  await becomes(page, '[data-chart=life] text.timer', /^silent in \d/);
  from = silent;
  await becomes(page, '[data-told=timer]', /the state stays the same.*in \dm/);
  expect(await page.locator('[data-chart=life] text.timer').count(), 'it leads nowhere').toBe(0);
  await becomes(page, '.hardware', /manufacturer ACME.*vendor <b>CPU<\/b>.*cores 8/s);
  await becomes(page, '.asked', 'There was no request for this machine.');
  await becomes(page, '.ladder [data-work]', /ShepherdRecovery.*rack2/s);
  const link = page.locator('.ladder [data-work] a');
  expect(await link.getAttribute('href')).toBe('https://two.example.org/');
  await done();
});

test('shows the conditions of a machine in a panel and in the list, and no panel without any', async () => {
  const fleet = scriptedFleet(machine('a', { conditions: 'disk-failing' }), machine('b'));
  const bad = slotFacts({
    conditions: [
      conditionRow(),
      conditionRow({ type: 'raid-degraded', status: 'Unknown' }),
      conditionRow({ type: 'maintenance-announced', fromMs: AT_MS + 3 * 3_600_000 }),
      conditionRow({ type: 'fan-broken', fromMs: AT_MS - 1 }),
    ],
  });
  const facts = (name: string) => (name.endsWith('/a') ? bad : slotFacts());
  const standing = ({ type }: { readonly type: string }) =>
    ({ effect: 'drain', suspicious: type === 'raid-degraded' }) as const;
  const shown = await showPage(
    browser,
    { ...fleet, facts, standing },
    { path: 'machines/equinix/a', more: { insight: SCRIPTED_INSIGHT } },
  );
  const { page, console: opened, done } = shown;
  const row = (type: string) => `.conditions tr[data-condition=${type}]`;
  await becomes(page, row('disk-failing'), /True.*sda: 2 media errors.*leaves its pools.*agent/s);
  await becomes(page, row('maintenance-announced'), /begins in .*leaves its pools/s);
  expect(await page.locator(row('fan-broken')).textContent()).not.toContain('begins');
  await becomes(page, row('raid-degraded'), /Unknown.*too many machines/s);
  await page.goto(`${opened.url}machines`);
  await becomes(page, '[data-slot="equinix/a"] [data-condition]', 'disk-failing');
  expect(await page.locator('[data-slot="equinix/b"] [data-condition]').count()).toBe(0);
  await page.goto(`${opened.url}machines/equinix/b`);
  await becomes(page, '.operators', 'no hold');
  expect(await page.locator('.conditions').count()).toBe(0);
  await done();
});

test('V15, V16: a recovery lights each rung in order, and timer and sentence are right at once without polling', async () => {
  const STEPS = [
    'restartingAgent.connecting',
    'rebooting.awaitingBoot',
    'powerCycling.awaitingBoot',
  ];
  let at = STEPS[0]!;
  let endsAtMs = AT_MS + 60_000;
  const live = (): LiveMachine => {
    const shown = { state: 'Recovering', substate: at.split('.')[0]! } as const;
    const task = { chart: 'recovery', at, endsAtMs } as const;
    const rest = { requests: null, agrees: true, last: null, timer: null };
    return { ...rest, atMs: AT_MS, life: 'Recovering.working', task, shown, rows: shown };
  };
  const insight: MachineInsight = {
    ...{ ...SCRIPTED_INSIGHT, live },
    explain: async (...asked) => {
      const told = (await SCRIPTED_INSIGHT.explain(...asked))!;
      return { ...told, sentence: `It is in ${at} until ${endsAtMs}.` };
    },
  };
  const one = machine('a', { state: 'Recovering', substate: 'restartingAgent', machineId: ID });
  const fleet = scriptedFleet(one);
  const console = await consoleOf(fleet, 0, { insight });
  const { page, complaints } = await browser.newPage();
  await page.clock.install();
  await page.goto(`${console.url}machines/equinix/a`);
  await page.locator('[data-chart=recovery] text.timer').waitFor();
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 1_000);
  const shown = async () => {
    // In all less than any pause between two reads.
    await page.clock.runFor(1);
    const texts = (selector: string) => page.locator(selector).allTextContents();
    const lit = page.locator('[data-chart=recovery] [data-lit]').last();
    return [
      await lit.getAttribute('data-state'),
      ...(await texts('[data-chart=recovery] text.timer')),
      ...(await texts('.sentence')),
    ];
  };
  const settles = () => {
    const seconds = (endsAtMs - AT_MS) / 1_000;
    const timer = new RegExp(
      `^in (${[seconds - 1, seconds].map((each) => `${Math.floor(each / 60)}m ${String(each % 60).padStart(2, '0')}s`).join('|')})$`,
    );
    const expected = [at, expect.stringMatching(timer), `It is in ${at} until ${endsAtMs}.`];
    return expect.poll(shown, PATIENCE).toEqual(expected);
  };
  for (at of STEPS) {
    endsAtMs += 77_000;
    fleet.set(one.slot, { substate: at.split('.')[0]! });
    await settles();
  }
  endsAtMs += 77_000;
  fleet.set(one.slot, { address: '192.0.2.9' });
  await settles();
  expect(complaints).toEqual([]);
});
