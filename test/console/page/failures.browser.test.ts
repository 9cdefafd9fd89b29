import { expect, test } from 'vitest';
import type { Episode } from '../../../src/domain/failures.ts';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const MODEL = '<img src=x onerror="alert(1)">';
const episode = (minutes: number): Episode => ({
  ...{ provider: providerName('equinix'), slotId: 'gone', machineId: machineId('gone') },
  ...{ location: MODEL, silentSinceMs: AT_MS - 3_600_000, beganAtMs: AT_MS - 3_540_000 },
  ...{ rung: 'rebooting', attempts: 1, endedAtMs: AT_MS },
  healedAtMs: AT_MS - 3_600_000 + minutes * 60_000,
});
const show = (episodes: readonly Episode[]) => {
  const records = { episodes: async () => ({ episodes, isCut: false }) };
  const more = { records: records as never };
  return showPage(browser, scriptedFleet(machine('a')), { path: 'providers', more });
};

test('the page of providers shows which kinds of machines fail, and groups them anew', async () => {
  const { page, done } = await show([episode(5), episode(6), episode(7)]);
  await becomes(page, '.failures [data-failures="unknown"]', /unknown.*3.*6m 00s.*7m 00s/s);
  await page.getByLabel('Group machines by').selectOption('location');
  await becomes(page, '.failures tbody', MODEL);
  expect(await page.locator('.failures tbody tr').count()).toBe(1);
  await done();
});

test('the page of providers shows no failures while no machine was recovered', async () => {
  const { page, done } = await show([]);
  await becomes(page, 'main', /No provider is configured/);
  await page.waitForLoadState('networkidle');
  expect(await page.locator('.failures').count()).toBe(0);
  await done();
});
