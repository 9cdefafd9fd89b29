import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from 'vitest';
import type { Request } from 'playwright-core';
import { PATIENCE } from '../../support/patience.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const ADMIN = { name: 'token:ann', role: 'admin', providers: null, via: 'token', proven: true };
const PREVIEW = {
  ...{ dryRun: true, verb: 'reinstall', would: 'be reinstalled by its provider', count: 1 },
  ...{ lost: 'everything on its disks is lost', isDestroying: true },
  ...{
    machines: [],
    refusals: [],
    waits: [{ reason: 'a permit', count: 1, slots: [] }],
    outcomes: [],
  },
};

const PLAIN = { ...PREVIEW, lost: null, isDestroying: false, waits: [] };

const VERBS = '**/api/v1/machines/*/*/verbs';
const REINSTALL = { verb: 'reinstall', refusal: null };

const NOW = { state: 'Running', substate: 'healthy', machineId: null, holds: [], etag: '"b"' };

const CHANGED = {
  ...{ code: 'changed', title: 'The machine changed meanwhile', status: 412 },
  ...{ detail: 'The machine changed since you read it: it is Running now', current: NOW },
};

test('disables a verb that the provider cannot do, tells why, and hides verbs without an object', async () => {
  const slot = 'equinix/0123456789ab';
  const shown = await showPage(browser, scriptedFleet(machine('0123456789ab')));
  const { page, console } = shown;
  const verbs = [
    { verb: 'reboot', refusal: 'provider equinix cannot reboot the machine' },
    { verb: 'hold', refusal: null },
  ];
  await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: ADMIN }));
  await page.route(VERBS, (route) => route.fulfill({ json: { verbs } }));
  await page.goto(`${console.url}machines/${slot}`);
  await becomes(page, 'article', /Reboot: provider equinix cannot reboot the machine/);
  expect(await page.locator('.actions button').allInnerTexts()).toEqual(['Hold', 'Reboot']);
  expect(await page.locator('.actions button:disabled').allInnerTexts()).toEqual(['Reboot']);
  expect((await new AxeBuilder({ page }).include('article > header').analyze()).violations).toEqual(
    [],
  );
});

test('V23, V24: a destroying request needs the typed end of the slot, is filed once, and shows what changed', async () => {
  const slot = 'equinix/0123456789ab';
  const shown = await showPage(browser, scriptedFleet(machine('0123456789ab')));
  const { page, console } = shown;
  const submitted: Request[] = [];
  let changed = true;
  await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: ADMIN }));
  await page.route('**/api/v1/requests*', (route) => {
    if (route.request().method() === 'GET') return route.fallback();
    if (route.request().url().includes('dryRun')) return route.fulfill({ json: PREVIEW });
    submitted.push(route.request());
    if (changed) return route.fulfill({ status: 412, json: CHANGED });
    return route.fulfill({ status: 202, json: { key: 'k', state: 'open', outcome: null } });
  });
  let stands: object = { key: 'k', state: 'open', outcome: null };
  await page.route('**/api/v1/requests/k', (route) => route.fulfill({ json: stands }));
  await page.route(VERBS, (route) => route.fulfill({ json: { verbs: [REINSTALL] } }));
  await page.goto(`${console.url}machines/${slot}`);
  await page.click('.actions button:has-text("Reinstall")');
  await becomes(page, '.prospect', /everything on its disks is lost.*a permit/s);
  expect((await new AxeBuilder({ page }).include('dialog').analyze()).violations).toEqual([]);
  await page.fill('dialog textarea', 'it is broken');
  await page.fill('[name=confirmation]', '456789AB');
  expect(await page.isEnabled('dialog .act')).toBe(false);
  await page.press('[name=confirmation]', 'Enter');
  expect(submitted).toEqual([]);
  await page.fill('[name=confirmation]', '456789ab');
  await page.press('[name=confirmation]', 'Enter');
  await becomes(
    page,
    'dialog [role=alert]',
    'The machine changed since you read it: it is Running now',
  );
  expect(submitted).toHaveLength(1);
  await becomes(page, 'dialog .changed', /State.*Reserved · available.*Running · healthy/s);
  expect(await page.locator('dialog .changed tbody tr').count()).toBe(1);
  changed = false;
  await page.click('dialog button:has-text("current state")');
  await page.fill('[name=confirmation]', '456789ab');
  await page.locator('dialog .act:enabled').waitFor();
  const click = `const act = document.querySelector('dialog .act'); for (let i = 0; i < 5; i++) act.click()`;
  await page.evaluate(click);
  await becomes(page, 'dialog [role=status]', 'The request is open.');
  await expect
    .poll(
      () => new Set(submitted.slice(1).map((each) => each.headers()['idempotency-key'])).size,
      PATIENCE,
    )
    .toBe(1);
  expect(submitted.at(-1)!.headers()['if-match']).toBe('"b"');
  await page.route('**/api/v1/requests/k', (route) => route.abort(), { times: 1 });
  await becomes(page, 'dialog', /current state of the request cannot be read/);
  stands = { key: 'k', state: 'done', outcome: 'it was reinstalled' };
  await becomes(page, 'dialog [role=status]', 'The request is done: it was reinstalled');
  await page.keyboard.press('Escape');
  await becomes(page, '.actions button:focus', 'Reinstall');
});

test('shows a field for each detail and the command, and files the request when the fields are filled in', async () => {
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const shown = await showPage(browser, scriptedFleet(machine('0123456789ab')));
  const { page, console } = shown;
  const asked: unknown[] = [];
  await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: ADMIN }));
  await page.route('**/api/v1/requests*', (route) => {
    if (route.request().method() === 'GET') return route.fallback();
    if (route.request().url().includes('dryRun')) return route.fulfill({ json: PLAIN });
    asked.push(route.request().postDataJSON());
    return route.fulfill({ status: 202, json: { key: 'k', state: 'done', outcome: 'noted' } });
  });
  const verbs = ['note', 'hold'].map((verb) => ({ verb, refusal: null }));
  await page.route(VERBS, (route) => route.fulfill({ json: { verbs } }));
  await page.goto(`${console.url}machines/equinix/0123456789ab`);
  await page.click('.actions button:has-text("Note")');
  expect(await page.inputValue('dialog textarea')).toBe('a note');
  expect(await page.isEnabled('dialog .act')).toBe(false);
  expect(await page.locator('dialog .command').count()).toBe(0);
  await page.getByLabel('Remark').fill('a new disk');
  const command = "shepherd machine note --reason 'a note' equinix/0123456789ab 'a new disk'";
  await becomes(page, 'dialog .command code', command);
  await page.getByRole('button', { name: 'Copy the command' }).click();
  await becomes(page, 'dialog .command button', 'Copied');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command);
  await page.locator('dialog .act:enabled').click();
  await becomes(page, 'dialog [role=status]', 'The request is done: noted');
  await page.keyboard.press('Escape');
  await page.click('.actions button:has-text("Hold")');
  await page.getByLabel('Kind of hold').selectOption('preserve');
  expect(await page.getByRole('button', { name: 'Copy the command' }).isDisabled()).toBe(true);
  await page.fill('dialog textarea', 'a disk to save');
  await page.locator('dialog .act:enabled').click();
  await becomes(page, 'dialog [role=status]', 'The request is done: noted');
  const slots = ['equinix/0123456789ab'];
  expect(asked).toEqual([
    { verb: 'note', text: 'a new disk', slots, reason: 'a note' },
    { verb: 'hold', kind: 'preserve', untilMs: null, slots, reason: 'a disk to save' },
  ]);
});

test('reads the preview again after each look at the current state, even if the machine is as before', async () => {
  const slot = 'equinix/0123456789ab';
  const shown = await showPage(browser, scriptedFleet(machine('0123456789ab')));
  const { page, console } = shown;
  let changes = 2;
  await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: ADMIN }));
  await page.route('**/api/v1/requests?dryRun*', (route) => {
    changes -= 1;
    if (changes >= 0) return route.fulfill({ status: 412, json: CHANGED });
    return route.fulfill({ json: PREVIEW });
  });
  await page.route(VERBS, (route) => route.fulfill({ json: { verbs: [REINSTALL] } }));
  await page.goto(`${console.url}machines/${slot}`);
  await page.click('.actions button:has-text("Reinstall")');
  const again = page.locator('dialog button:has-text("current state")');
  await again.click();
  await expect.poll(() => changes, PATIENCE).toBe(0);
  await again.click();
  await becomes(page, '.prospect', /everything on its disks is lost/);
});

test('follows a batch until all requests are settled, and shows why some were refused', async () => {
  const shown = await showPage(browser, scriptedFleet(machine('a'), machine('b')));
  const { page, console } = shown;
  const batch = { key: 'b', counts: { open: 2, done: 0, refused: 0 }, refusals: [] as object[] };
  await page.route('**/api/v1/whoami', (route) => route.fulfill({ json: ADMIN }));
  await page.route('**/api/v1/requests*', (route) =>
    route.request().url().includes('dryRun')
      ? route.fulfill({ json: { ...PREVIEW, count: 2, isDestroying: false } })
      : route.fulfill({ status: 202, json: batch }),
  );
  let settled: object = batch;
  await page.route('**/api/v1/batches/b', (route) => route.fulfill({ json: settled }));
  await page.goto(`${console.url}machines`);
  for (const name of ['a', 'b']) await page.check(`[data-slot="equinix/${name}"] [type=checkbox]`);
  await page.click('.selection button:has-text("Reboot")');
  await page.fill('dialog textarea', 'new kernel');
  await page.fill('[name=confirmation]', '2');
  await page.locator('dialog .act:enabled').click();
  await becomes(page, 'dialog [role=status]', '2 open, 0 done, 0 refused');
  settled = {
    ...batch,
    ...{ counts: { open: 0, done: 1, refused: 1 }, refusals: [{ reason: 'held', count: 1 }] },
  };
  await becomes(page, 'dialog [role=status]', '0 open, 1 done, 1 refused');
  await becomes(page, 'dialog .notice[data-tone=bad]', '1: held');
});
