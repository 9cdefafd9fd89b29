import { expect, test } from 'vitest';
import { withBrowser } from '../support/browser.ts';
import { becomesTrue, withFleet } from './simulated-fleet.ts';

/** Reserved lasts some milliseconds otherwise: nobody, human or page on a busy machine, could see it. */
const SLOW_CREATION = {
  match: { method: 'POST', route: '/projects/{id}/devices' },
  effect: { type: 'latency', ms: 8_000 },
} as const;

test('the page shows a machine of a real fleet go from Reserved to Running', async () => {
  await withBrowser(async ({ page, complaints }) => {
    await withFleet({ machines: 2, faults: [SLOW_CREATION] }, async ({ daemon }) => {
      await page.goto(daemon.consoleUrl);
      const rows = page.locator('#rows tr');
      const reserved = rows.filter({ has: page.locator('.badge', { hasText: 'Reserved' }) });
      await reserved.first().waitFor();
      const slot = await reserved.first().getAttribute('data-slot');
      expect(daemon.board.entries.get(slot as never)?.state).toBe('Reserved');
      const badge = page.locator(`tr[data-slot="${slot}"] .badge`);
      for (const state of ['Provisioned', 'Running']) {
        await badge.filter({ hasText: state }).waitFor({ timeout: 60_000 });
      }
      await page.locator('#headline').filter({ hasText: '2 of 2' }).waitFor({ timeout: 60_000 });
      expect(complaints).toEqual([]);
    });
  });
}, 600_000);

test('the page says that recovery is frozen, by whom and why, and when that is over', async () => {
  await withBrowser(async ({ page, complaints }) => {
    await withFleet({ machines: 1 }, async ({ daemon }) => {
      await page.goto(daemon.consoleUrl);
      await becomesTrue(() => daemon.guard().state !== 'blind', 'the guard looked');
      const ask = (verb: 'freeze' | 'thaw') =>
        daemon.bmdb.requests.file({
          key: `${verb}-1`,
          by: 'ann',
          reason: 'works on the switches',
          what: { verb, scope: 'fleet' },
        });
      await ask('freeze');
      await page.locator('#guard-title', { hasText: 'Recovery is frozen' }).waitFor();
      const fleet = page.locator('#guard-scopes li[data-scope=fleet]');
      expect(await fleet.innerText()).toMatch(/frozen[^]*ann: works on the switches/);
      expect(daemon.guard()).toMatchObject({ state: 'frozen', maxRecovering: 0 });
      const answer = await fetch(`${daemon.consoleUrl}api/v1/guard`);
      expect(await answer.json()).toMatchObject({ state: 'frozen', needHuman: 0 });
      const scrape = await (await fetch(`${daemon.consoleUrl}metrics`)).text();
      expect(scrape).toMatch(/^shepherd_guard_frozen\{scope="fleet"\} 1$/m);
      await ask('thaw');
      await page.locator('#guard-title', { hasText: 'frozen' }).waitFor({ state: 'hidden' });
      expect(daemon.guard().frozenSeconds).toBeGreaterThan(0);
      expect(complaints).toEqual([]);
    });
  });
}, 600_000);
