import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { FIRST, startCast } from '../../adapters/inspector/cast.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const POLICIES = { random: systemRandom, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET };
const ADMIN = { owner: 'ann', name: 'ann', role: 'admin', providers: null } as const;

const browser = useBrowser({ viewport: { width: 1280, height: 900 } });

const lit = (page: Page, chart: string) =>
  page
    .locator(`[data-chart=${chart}] [data-lit]`)
    .evaluateAll((all) => all.map((each) => each.getAttribute('data-state')));
const current = (page: Page) => page.locator('.sequence li[aria-current] .spoken').innerText();

test('V66: the inspector works without internet: it shows charts and the sequence, steps back, and opens a recording after the daemon ended', async () => {
  let restarted: () => void = () => undefined;
  const inspection = createInspection({ clock: systemClock });
  const restart = new Promise<void>((resolve) => (restarted = resolve));
  const cast = startCast(inspection, systemClock, () => restart);
  const bmdb = createMemBmdb({ clock: systemClock, ...POLICIES });
  const { id, token } = makeToken(systemRandom);
  await bmdb.access.tokens.add({ ...ADMIN, id, digest: digestOf(token), forMs: 3_600_000 });
  const shown = await showPage(browser, scriptedFleet(machine('one')), {
    more: {
      inspector: inspection,
      accounts: { repository: bmdb.access, random: systemRandom, events: bmdb.events },
    },
  });
  const { page, console } = shown;
  try {
    expect(await page.locator('nav >> text=Inspector').count()).toBe(0);
    await page.goto(`${console.url}login`);
    await page.fill('#token', token);
    await page.press('#token', 'Enter');
    await page.click('nav >> text=Inspector');
    await page.fill('#filter', FIRST);
    await page.press('#filter', 'Enter');
    await becomes(page, '.actor-tree li', /equinix\/one\s*Running\.resting/);
    cast.first.send({ type: 'agent.lost', secret: 'x' });
    await becomes(page, '.actor-tree li', /recovery\s*restartingAgent\.connecting/);
    expect([await lit(page, 'life'), await lit(page, 'inside-Recovering')]).toEqual([
      ['Recovering'],
      ['working'],
    ]);
    await page.click('.actor-tree button:has-text("recovery")');
    await expect
      .poll(() => lit(page, 'recovery'))
      .toEqual(['restartingAgent', 'restartingAgent.connecting']);
    restarted();
    await becomes(page, '.sequence li', 'recovery to equinix/one: xstate.done.actor.recovery');
    await becomes(page, '.actor-tree li', /recovery\s*ended \(done\)/);
    expect(await current(page)).toBe('restartAgent is done');
    const told = await page.locator('.sequence li .spoken').allInnerTexts();
    expect(told).toEqual(
      expect.arrayContaining([
        'outside to equinix/one: agent.lost',
        'equinix/one to recovery: xstate.init',
        'equinix/one is Recovering.working, requests.idle',
        'equinix/one is Running.resting, requests.idle',
      ]),
    );
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

    await page.click('.actor-tree button:has-text("equinix/one")');
    await page.click('.sequence li:has-text("equinix/one is Recovering.working") button');
    expect(await lit(page, 'life')).toEqual(['Recovering']);
    await page.keyboard.press('k');
    while (!(await current(page)).includes('agent.lost')) await page.click('.stepper >> text=Back');
    expect([await lit(page, 'life'), await lit(page, 'inside-Running')]).toEqual([
      ['Running'],
      ['resting'],
    ]);
    cast.first.send({ type: 'noise' });
    await page.locator('.sequence li .spoken').filter({ hasText: 'noise' }).waitFor();
    expect(await current(page)).toContain('agent.lost');
    for (let count = 0; count < 60; count += 1) cast.first.send({ type: 'noise' });
    await page.locator('.sequence li').nth(60).waitFor();
    const beyond = `document.documentElement.scrollHeight - scrollY
      - document.querySelector('main').getBoundingClientRect().bottom`;
    expect(await page.evaluate(beyond), 'px below the end of the page').toBeLessThan(2);

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('text=Save a recording'),
    ]);
    expect(download.suggestedFilename()).toBe('equinix_one.jsonl');
    const file = await download.path();
    shown.isClean();
    await console.close();
    await page.setInputFiles('input[type=file]', file);
    await becomes(page, '.inspector header', 'Recording');
    await becomes(page, '.actor-tree li', /equinix\/one\s*Running\.resting/);
    expect(await lit(page, 'life')).toEqual(['Running']);
    await page.click('.sequence li:has-text("recovery is restartingAgent.connecting") button');
    await page.click('.actor-tree button:has-text("recovery")');
    expect(await lit(page, 'recovery')).toEqual(['restartingAgent', 'restartingAgent.connecting']);
  } finally {
    await console.close();
    cast.stop();
    inspection.close();
  }
});
