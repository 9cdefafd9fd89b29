import { text as textOf } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { webhookJob } from '../../../src/actors/webhooks/deliverer.ts';
import type { Lease } from '../../../src/adapters/bmdb/port.ts';
import { scriptedFleet } from '../scripted-fleet.ts';
import { manned } from './manned.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();
afterEach(() => browser.context.clearCookies());

async function show(path: string) {
  const world = manned();
  const shown = await showPage(browser, scriptedFleet(), { more: world.more });
  await world.logIn(shown.page, shown.console.url);
  await shown.page.goto(`${shown.console.url}${path}`);
  return { ...world, ...shown };
}

const ATTACK = `<img src=x onerror="document.title='owned'">`;

test('V34: the audit shows each request with user and reason, filters by its address, follows, and downloads a file', async () => {
  const { page, bmdb, done } = await show('audit?follow=on');
  await becomes(page, '.trail', 'Nothing matches.');
  const freeze = (key: string, by: string, reason: string) =>
    bmdb.requests.submit({ key, by, reason, what: { verb: 'freeze', scope: 'fleet' } });
  await freeze('one', 'ann', ATTACK);
  await becomes(page, '[data-request=one]', ATTACK);
  await becomes(
    page,
    '[data-request=one]',
    /freeze.*the fleet.*ann.*not verified.*open.*expires in/s,
  );
  await freeze('two', 'bob', 'works on the \u202eswitches');
  await becomes(page, '[data-request=two]', 'works on the \\u{202e}switches');
  expect(await page.title()).not.toBe('owned');
  await page.getByLabel('User').fill('bob');
  await page.locator('[data-request=one]').waitFor({ state: 'detached' });
  await expect.poll(() => new URL(page.url()).search).toBe('?follow=on&by=bob');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: /Download/ }).click(),
  ]);
  expect(file.suggestedFilename()).toBe('requests.ndjson');
  const lines = await textOf(await file.createReadStream());
  expect(JSON.parse(lines)).toMatchObject({ key: 'two', by: 'bob' });
  await page.getByLabel('Verb').selectOption('reboot');
  await becomes(page, '.trail', 'Nothing matches.');
  await page.getByRole('link', { name: 'Events' }).click();
  await becomes(
    page,
    '.trail [data-event="request.filed"]',
    /freeze.*bob.*works on the .*switches/s,
  );
  const [told] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: /Download/ }).click(),
  ]);
  expect(told.suggestedFilename()).toBe('events.ndjson');
  expect(await textOf(await told.createReadStream())).toContain('works on the \u202eswitches');
  await page.getByLabel('Kind of event').selectOption('logins and tokens');
  await becomes(page, '.trail [data-event="access.login"]', 'db:ann@host');
  await page.locator('[data-event="request.filed"]').first().waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Logins' }).click();
  await becomes(page, '.trail [data-login]', /db:ann@host.*not verified.*this browser/s);
  await done();
});

test('V29: the settings make a token that is shown once, revoke it, and end other logins', async () => {
  const { page, console: shown, bmdb, done } = await show('settings');
  await becomes(page, '.you', /db:ann@host.*admin.*see everything.*every provider/s);
  await becomes(page, '.tokens', 'There is no token.');
  await becomes(page, '.tokens a[href="/device"]', 'Sign in a terminal');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.fill('dialog [name=name]', 'ci');
  await page.selectOption('dialog [name=role]', 'operator');
  await page.getByLabel('equinix').check();
  await page.click('dialog .act');
  const token = await page.inputValue('dialog [name=token]');
  expect(token).toMatch(/^shp_/);
  const whoami = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${shown.url}api/v1/whoami`, { headers });
    return { status: answer.status, body: await answer.json() };
  };
  expect(await whoami()).toMatchObject({
    status: 200,
    body: { name: 'token:ci', providers: ['equinix'], rights: ['see', 'report', 'operate'] },
  });
  await page.keyboard.press('Escape');
  await becomes(page, 'button:focus', 'New token');
  await becomes(page, '.tokens [data-token]', /ci.*db:ann@host.*operator.*equinix.*in (23h|1d)/s);
  expect(await page.content()).not.toContain(token);
  await page.getByRole('button', { name: 'Revoke the token ci' }).click();
  await becomes(page, 'dialog button:focus', 'Cancel');
  await page.click('dialog .act');
  await becomes(page, '.tokens [data-token]', /revoked.*by db:ann@host/s);
  await expect.poll(async () => (await whoami()).status).toBe(401);
  const own = {
    digest: new Uint8Array(32),
    renewal: null,
    providers: null,
    tokenId: null,
    identity: null,
  };
  const other = { ...own, id: crypto.randomUUID(), name: 'oidc:bob@example.org', proven: true };
  await bmdb.access.sessions.open({ ...other, role: 'viewer' });
  await page.getByRole('button', { name: 'End the login of oidc:bob@example.org' }).click();
  await page.click('dialog .act');
  await page.locator(`[data-login="${other.id}"]`).waitFor({ state: 'detached' });
  await done();
});

test('the settings show the state and failures of webhooks, and an admin replays, tests and enables them', async () => {
  const { page, bmdb, done } = await show('settings');
  await becomes(page, '.webhooks', /pager.*hooks\.test.*guard\.\*.*on.*never/s);
  const session = await bmdb.openSession({
    ...{ component: 'shepherd', runtimeInfo: 'test', intervalMs: 60_000 },
  });
  const lease = (await session.lease(webhookJob('pager'))) as Lease;
  await session.webhooks.begin(lease, 'pager', '0');
  const failed = { type: 'guard.frozen', attempts: 10, status: 500, cause: ATTACK };
  await session.webhooks.record(lease, 'pager', {
    ...{ toldTo: '9', hasDelivered: true, delivered: [], disabled: 'it answered 410: gone' },
    failed: [
      { ...failed, number: '7', nextInMs: null },
      { ...failed, number: '8', nextInMs: 60_000 },
    ],
  });
  await becomes(
    page,
    '[data-webhook=pager]',
    /disabled.*it answered 410: gone.*1 the first delivery failed/s,
  );
  await becomes(page, '.deliveries', /Failed deliveries of pager.*Last failure/s);
  await becomes(page, '[data-delivery="8"]', /guard\.frozen.*10.*in \d/s);
  await becomes(page, '[data-delivery="7"]', /dead letter.*<img src=x/s);
  await page.getByRole('button', { name: 'Deliver event 7 to pager again' }).click();
  await page.locator('[data-delivery="7"]:not([data-dead])').waitFor();
  await page.getByRole('button', { name: 'Send a test event to pager' }).click();
  await becomes(page, '[data-webhook=pager] [role=status]', 'on its way');
  expect(bmdb.tables.told.at(-1)).toMatchObject({ type: 'webhook.test' });
  await page.getByRole('button', { name: 'Deliver to pager again' }).click();
  await page.getByRole('button', { name: 'Deliver to pager again' }).waitFor({ state: 'detached' });
  expect(await page.title()).not.toBe('owned');
  await done();
});

test('the settings tell a viewer what is hidden, and logging out leads to the login', async () => {
  const world = manned();
  const shown = await showPage(browser, scriptedFleet(), { more: world.more, path: 'settings' });
  const { page } = shown;
  await becomes(page, '.you', /anonymous.*viewer.*not logged in/s);
  await becomes(page, '.tokens', 'Only operators and admins see tokens.');
  expect(await page.getByRole('button', { name: 'New token' }).count()).toBe(0);
  await becomes(page, '.webhooks', 'pager');
  expect(await page.locator('.webhooks button').count()).toBe(0);
  shown.isClean();
  await world.logIn(page, shown.console.url, 'operator');
  await page.goto(`${shown.console.url}settings`);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL(/\/login$/);
  expect(await browser.context.cookies()).toEqual([]);
});
