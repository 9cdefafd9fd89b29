import { expect, test } from 'vitest';
import { withBrowser } from '../support/browser.ts';
import { withFleet } from './simulated-fleet.ts';

/** Reserved lasts some milliseconds otherwise: nobody, human or test, could see it. */
const SLOW_CREATION = {
  match: { method: 'POST', route: '/projects/{id}/devices' },
  effect: { type: 'latency', ms: 3_000 },
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
}, 150_000);
