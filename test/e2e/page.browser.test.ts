import { expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { loginLink } from '../../src/commands/bootstrap.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { withBrowser } from '../support/browser.ts';
import { becomesTrue, WAIT, withFleet } from './simulated-fleet.ts';

/** Reserved otherwise lasts milliseconds, too short for a human or a page on a busy machine. */
const NO_CREATION = {
  match: { method: 'POST', route: '/projects/{id}/devices' },
  effect: { type: 'status', code: 503 },
} as const;

/** The offer of a dialog whose machine has changed meanwhile. */
const LOOK_AGAIN = 'Show the current state';

/** Before its first full read it refuses some requests, of which a browser complains. */
const becomesReady = ({ consoleUrl }: Daemon) =>
  becomesTrue(async () => (await fetch(`${consoleUrl}readyz`)).ok, 'it has read everything once');

/** Follows a simulation's link into the page, to a machine, and requests its reboot. */
async function rebootByHand(page: Page, { bmdb, consoleUrl }: Daemon, slot: string) {
  const ann = { name: 'ann', role: 'admin', providers: null } as const;
  await page.goto(await loginLink({ access: bmdb.access }, consoleUrl, ann));
  await page.locator('.link', { hasText: 'Live' }).waitFor();
  await page.goto(`${consoleUrl}machines`);
  await page.locator(`.list [data-slot="${slot}"] a.slot`).click();
  await page.locator('.explained .sentence', { hasText: 'Running' }).waitFor(WAIT);
  await page.click('.actions button:has-text("Reboot")');
  const prospect = page.locator('.prospect', { hasText: /The machine would .*reboot/ });
  const again = page.getByRole('button', { name: LOOK_AGAIN });
  /** Whether the machine changed instead: on a busy host heartbeats are late sometimes. */
  const changesInsteadOf = async (wanted: Locator) =>
    (await wanted.or(again).first().innerText()) === LOOK_AGAIN;
  const foresee = async () => {
    while (await changesInsteadOf(prospect)) await again.click();
  };
  await foresee();
  const act = page.locator('dialog .act');
  expect(await act.isEnabled()).toBe(false);
  await page.fill('dialog textarea', 'its fans are loud');
  const submitted = page.locator('dialog [role=status]', { hasText: /The request is (open|done)/ });
  await act.click();
  while (await changesInsteadOf(submitted)) {
    await again.click();
    await foresee();
    await act.click();
  }
  const key = await page.locator('dialog .mono').innerText();
  await page.keyboard.press('Escape');
  return key;
}

test('the page shows a machine of a real fleet go from Reserved to Running, and reboots it', async () => {
  await withBrowser(async ({ page, complaints }) => {
    await withFleet({ machines: 2, faults: [NO_CREATION] }, async ({ world, daemon }) => {
      await becomesReady(daemon);
      await page.goto(`${daemon.consoleUrl}machines`);
      const rows = page.locator('.list [data-slot]');
      const reserved = rows.filter({ has: page.locator('.state', { hasText: 'Reserved' }) });
      await reserved.first().waitFor();
      const slot = await reserved.first().getAttribute('data-slot');
      expect(daemon.board.entries.get(slot as never)?.state).toBe('Reserved');
      for (const { id } of world.emulator.faults()) world.emulator.removeFault(id);
      const badge = page.locator(`[data-slot="${slot}"] .state`);
      await badge.filter({ hasText: 'Running' }).waitFor(WAIT);
      await page.locator('.fleet-line').filter({ hasText: '2 healthy of 2' }).waitFor(WAIT);
      const key = await rebootByHand(page, daemon, slot!);
      const shown = page.locator(`.machine[data-slot="${slot}"] header .state`);
      await shown.filter({ hasText: 'Recovering' }).waitFor(WAIT);
      await page.locator('[data-chart=life] [data-state=Recovering][data-lit]').waitFor(WAIT);
      await shown.filter({ hasText: 'Running' }).waitFor(WAIT);
      await page.locator('[data-told=last]', { hasText: 'Before:' }).waitFor(WAIT);
      await page.goto(`${daemon.consoleUrl}audit`);
      const asked = page.locator(`[data-request="${key}"]`);
      await asked.filter({ hasText: 'its fans are loud' }).waitFor();
      await page.locator(`[data-request="${key}"][data-standing=done]`).waitFor();
      expect(await page.locator('[data-request]').count(), 'it was asked for once').toBe(1);
      expect(await asked.innerText()).toMatch(/reboot[^]*ann\s+not verified/);
      // A browser complains of a changed machine (412).
      expect(complaints.filter((text) => !text.includes('status of 412'))).toEqual([]);
    });
  });
}, 1_800_000);

test('the page says that recovery is frozen, by whom and why, and when it thaws', async () => {
  await withBrowser(async ({ page, complaints }) => {
    await withFleet({ machines: 1 }, async ({ daemon }) => {
      await becomesReady(daemon);
      await page.goto(daemon.consoleUrl);
      await becomesTrue(() => daemon.guard().state !== 'blind', 'the guard looked');
      const ask = (verb: 'freeze' | 'thaw') =>
        daemon.bmdb.requests.submit({
          key: `${verb}-1`,
          by: 'ann',
          reason: 'works on the switches',
          what: { verb, scope: 'fleet' },
        });
      await ask('freeze');
      await page.locator('.guard-sentence', { hasText: 'Recovery is frozen' }).waitFor();
      const fleet = page.locator('.guard tbody');
      expect(await fleet.innerText()).toMatch(/frozen[^]*ann: works on the switches/);
      expect(daemon.guard()).toMatchObject({ state: 'frozen', maxRecovering: 0 });
      const answer = await fetch(`${daemon.consoleUrl}api/v1/guard`);
      expect(await answer.json()).toMatchObject({ state: 'frozen', needHuman: 0 });
      const scrape = await (await fetch(`${daemon.consoleUrl}metrics`)).text();
      expect(scrape).toMatch(/^shepherd_guard_frozen\{scope="fleet"\} 1$/m);
      await ask('thaw');
      await page.locator('.guard-sentence', { hasText: 'frozen' }).waitFor({ state: 'detached' });
      expect(daemon.guard().frozenSeconds).toBeGreaterThan(0);
      expect(complaints).toEqual([]);
    });
  });
}, 1_800_000);
