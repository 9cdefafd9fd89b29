import type { Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { PATIENCE } from '../../support/patience.ts';
import { AT_MS, machine, scriptedFleet, WATCHING } from '../scripted-fleet.ts';
import { guardInsight, LOOK } from '../scripted-guard.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const OPERATOR = { name: 'token:ann', role: 'operator', via: 'token', proven: true };
const PREVIEW = {
  ...{ dryRun: true, verb: 'thaw', would: null, count: 0, lost: null, isDestroying: false },
  ...{ refusals: [], waits: [], outcomes: [{ reason: 'recovery goes on', count: 1, slots: [] }] },
};

test('V28: the page of the guard shows scopes, rules and waiting machines, and lets an operator of one provider thaw only that provider', async () => {
  const fleet = scriptedFleet(machine('a'), machine('b'));
  const frozen = { scope: 'equinix', state: 'frozen', reason: '6 of 10 fell silent' } as const;
  const end = { ends: 'It ends by itself.', endsAtMs: AT_MS + 300_000 };
  const scopes = [
    ...WATCHING.scopes,
    { ...frozen, ...end, sinceMs: AT_MS, started: 10, silent: 6 },
  ];
  fleet.guard({ state: 'frozen', scopes });
  const shown = await showPage(browser, fleet, { more: { guard: guardInsight() } });
  const { page, isClean } = shown;
  const submitted: Request[] = [];
  await page.route('**/api/v1/whoami', (route) =>
    route.fulfill({ json: { ...OPERATOR, providers: ['equinix'] } }),
  );
  await page.route('**/api/v1/requests*', (route) => {
    if (route.request().url().includes('dryRun')) return route.fulfill({ json: PREVIEW });
    submitted.push(route.request());
    return route.fulfill({ status: 202, json: { key: 'k', state: 'open', outcome: null } });
  });
  await page.route('**/api/v1/requests/k', (route) =>
    route.fulfill({ json: { key: 'k', state: 'done', outcome: 'it was thawed' } }),
  );
  await page.reload();
  await becomes(page, '.link', 'Live');
  await page.keyboard.press('g');
  await page.keyboard.press('g');
  await becomes(page, 'h1', 'Guard');
  await becomes(page, '.guard-sentence', /^Recovery is frozen$/);
  const rows = '.scopes tbody';
  await becomes(page, `${rows} [data-scope=fleet]`, /watching.*it pauses when 16 more are late/s);
  await becomes(page, `${rows} [data-scope=equinix]`, /frozen.*guard.*6 of 10/s);
  await becomes(page, `${rows} .reason`, /6 of 10 fell silent.*ends by itself.*in 4m 5\ds/s);
  await becomes(page, '.rules [data-stops]', /Provider equinix.*fell silent together.*now/s);
  await becomes(page, '.waiting-machines [data-slot="equinix/a"]', '1 of 2 for a permit of fleet');
  await becomes(page, '.waiting-machines [data-slot="equinix/b"]', 'is <b>frozen</b>');
  const freezeFleet = page.locator('[data-scope=fleet] button');
  expect([await freezeFleet.textContent(), await freezeFleet.isEnabled()]).toEqual([
    'Freeze recovery',
    false,
  ]);
  await page.click('[data-scope=equinix] button:has-text("Thaw")');
  await becomes(page, '.prospect', 'recovery goes on');
  await becomes(page, 'dialog button:focus', 'Cancel');
  await page.fill('dialog textarea', 'the switch is back');
  await page.click('dialog .act');
  await becomes(page, 'dialog [role=status]', 'The request is done: it was thawed');
  await expect.poll(() => submitted.length, PATIENCE).toBe(1);
  expect(submitted[0]!.postDataJSON()).toEqual({
    ...{ verb: 'thaw', scope: 'equinix', reason: 'the switch is back' },
  });
  isClean();
});

test('asks for the end of a freeze in hours, shows it, and lets an operator change it', async () => {
  const fleet = scriptedFleet(machine('a'));
  const end = { ends: 'It ends by itself.', endsAtMs: AT_MS + 80 * 60_000 };
  const scope = { sinceMs: AT_MS, started: 10, silent: 0 };
  const frozen = { scope: 'equinix', state: 'frozen', reason: 'ann: new switch' } as const;
  fleet.guard({ state: 'frozen', scopes: [...WATCHING.scopes, { ...scope, ...frozen, ...end }] });
  const manual = { frozen: { by: 'ann', kind: 'manual' }, thawsAtMs: end.endsAtMs } as const;
  const scopes = LOOK.scopes.map((each) => (each.frozen ? { ...each, ...manual } : each));
  const guard = () => ({ ...LOOK, scopes });
  const { page, isClean } = await showPage(browser, fleet, { more: { guard } });
  const asked: Request[] = [];
  await page.route('**/api/v1/whoami', (route) =>
    route.fulfill({ json: { ...OPERATOR, providers: null } }),
  );
  await page.route('**/api/v1/requests*', (route) => {
    asked.push(route.request());
    return route.fulfill({ json: { ...PREVIEW, verb: 'freeze' } });
  });
  await page.reload();
  await becomes(page, '.guard .reason', /ann: new switch.*ends by itself.*in 1h/s);
  await page.click('.guard button:has-text("Freeze recovery")');
  await page.fill('dialog input[type=number]', '2');
  await expect
    .poll(() => asked.at(-1)?.postDataJSON(), PATIENCE)
    .toMatchObject({ verb: 'freeze-until', scope: 'fleet', untilMs: expect.any(Number) });
  const { untilMs } = asked.at(-1)!.postDataJSON() as { readonly untilMs: number };
  expect(Math.abs(untilMs - AT_MS - 2 * 3_600_000)).toBeLessThan(5 * 60_000);
  await page.goto(new URL('/guard', page.url()).href);
  await becomes(page, '.scopes [data-scope=equinix]', 'ann');
  await page.click('.scopes [data-scope=equinix] button:has-text("Change the end")');
  await page.fill('dialog input[type=number]', '3');
  await expect
    .poll(() => asked.at(-1)?.postDataJSON(), PATIENCE)
    .toMatchObject({ verb: 'freeze-until', scope: 'equinix' });
  isClean();
});
