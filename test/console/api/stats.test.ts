import { expect, test } from 'vitest';
import type { HardwareQuery } from '../../../src/adapters/bmdb/port.ts';
import type { FailuresAnswer } from '../../../src/console/api/stats.ts';
import type { Episode } from '../../../src/domain/failures.ts';
import { machineId, providerName, slot } from '../../../src/domain/ids.ts';
import type { HoldRow, SlotFacts } from '../../../src/domain/machine.ts';
import { device, machineRow, provided, slotFacts } from '../../support/facts.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { askApi, openConsole } from './console-stand.ts';

const DAY = 86_400_000;
const EQUINIX = providerName('equinix');
const retired = (slotId: string, untilMs: number | null): HoldRow => ({
  ...{ provider: EQUINIX, slotId, kind: 'retired', setBy: 'ann', reason: 'x', untilMs },
});
const recovery = (slotId: string, daysAgo: number): Episode => ({
  ...{ provider: EQUINIX, slotId, machineId: machineId(slotId), location: 'am6', attempts: 1 },
  ...{ silentSinceMs: AT_MS - daysAgo * DAY, beganAtMs: AT_MS - daysAgo * DAY, rung: 'rebooting' },
  ...{ healedAtMs: AT_MS - daysAgo * DAY + 60_000, endedAtMs: AT_MS },
});
const reported = (slotId: string, manufacturer: string, product: string) => ({
  ...{ machineId: machineId(slotId), provider: EQUINIX, providerId: slotId, location: null },
  report: {
    ...{ name: 'hardware_report_raw', type: 'bytea', value: '' },
    message: { report: { manufacturer, product } },
  },
});

/** Machines a, b and c of plan small, large and large, for ten days. Only a and b have a report. */
async function open(episodes: readonly Episode[], { isCut = false } = {}) {
  const slots: Readonly<Record<string, Partial<SlotFacts>>> = {
    a: { listed: device({ plan: 'small' }), holds: [retired('a', AT_MS + 1)] },
    b: { listed: device({ plan: 'large' }), holds: [retired('b', AT_MS)] },
    c: { listed: device({ plan: 'large' }) },
  };
  const asked: string[] = [];
  const clock = createSimulatedClock(AT_MS);
  let isWhole = true;
  const records = {
    episodes: async ({ sinceMs }: { sinceMs: number }) => {
      asked.push(`episodes of ${(AT_MS - sinceMs) / DAY}d`);
      return { episodes, isCut };
    },
    hardware: async ({ after }: HardwareQuery) => {
      asked.push(`hardware after ${after ?? 'nothing'}`);
      return after === undefined
        ? { machines: [reported('a', 'Dell Inc.', ' R640 ')], next: machineId('a') }
        : { machines: [reported('b', '', '')], next: null };
    },
  };
  const fleet = {
    ...scriptedFleet(...Object.keys(slots).map((id) => machine(id))),
    isWhole: () => isWhole,
    facts: (name: string) => {
      const id = name.split('/')[1]!;
      const row = machineRow({
        ...{ machineId: machineId(id), createdAtMs: AT_MS - 10 * DAY },
        provided: provided({ provider: EQUINIX, location: 'am6' }),
      });
      return slotFacts({ slot: slot(EQUINIX, id), provider: EQUINIX, row, ...slots[id] });
    },
  };
  const console = await openConsole({ fleet, clock, records: records as never });
  return {
    ...{ asked, clock },
    ask: async (query = '') =>
      (await askApi<FailuresAnswer>(console, `stats/failures${query}`)).body,
    status: async (query: string) => (await askApi(console, `stats/failures${query}`)).status,
    fill: (yes: boolean) => void (isWhole = yes),
  };
}

const told = ({ groups }: FailuresAnswer) =>
  groups.map(({ name, machines, machineDays, episodes, ratio, retired: never }) =>
    [name, machines, machineDays, episodes, ratio, never].join(' '),
  );

test('groups machines by the plan of the listing, and recoveries with them', async () => {
  const { ask, asked } = await open([recovery('a', 1), recovery('a', 2), recovery('b', 3)]);
  const answer = await ask();
  expect(told(answer)).toEqual(['small 1 10 2 2 1', 'large 2 20 1 0.5 0']);
  expect(answer).toMatchObject({
    atMs: AT_MS,
    sinceMs: AT_MS - 90 * DAY,
    by: 'plan',
    isCut: false,
  });
  expect(answer.fleet).toMatchObject({ machines: 3, rate: 10, repairP50Ms: 60_000, retired: 1 });
  expect(asked, 'no hardware report is read').toEqual(['episodes of 90d']);
  expect(told(await ask('?by=location&since=5d'))).toEqual(['am6 3 15 3 1 1']);
});

test('groups machines by manufacturer and product of all pages of hardware reports', async () => {
  const { ask, asked } = await open([recovery('a', 1)]);
  expect(told(await ask('?by=model'))).toEqual(['Dell Inc. R640 1 10 1 3 1', 'unknown 2 20 0 0 0']);
  expect(asked).toEqual(['hardware after nothing', 'hardware after a', 'episodes of 90d']);
});

test('reads once a minute for each question, whoever asks', async () => {
  const { ask, asked, clock } = await open([]);
  await Promise.all([ask(), ask('?by=plan'), ask('?since=90d')]);
  expect(asked).toHaveLength(1);
  await ask('?since=1d');
  await ask('?by=provider');
  expect(asked).toHaveLength(3);
  clock.increment(60_000);
  await ask();
  expect(asked).toHaveLength(4);
});

test('counts days only for the time of which it read all recoveries', async () => {
  const { ask } = await open([recovery('b', 1), recovery('a', 4)], { isCut: true });
  const answer = await ask();
  expect(answer).toMatchObject({ isCut: true, sinceMs: AT_MS - 4 * DAY });
  expect(answer.fleet.machineDays).toBe(12);
});

test('refuses a meaningless time, and to answer before it knows all machines', async () => {
  const { status, fill } = await open([]);
  for (const since of ['90', '0d', '401d', 'yesterday']) {
    expect(await status(`?since=${since}`), since).toBe(400);
  }
  expect(await status('?since=400d')).toBe(200);
  expect(await status('?by=colour')).toBe(400);
  fill(false);
  expect(await status('')).toBe(503);
});
