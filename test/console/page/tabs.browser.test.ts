import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentMetrics } from '../../../src/adapters/metrics/port.ts';
import type { Console } from '../../../src/console/console.ts';
import { openBrowser, type HeldBrowser } from '../../support/browser.ts';
import { PATIENCE } from '../../support/patience.ts';
import { asked, OWN_PAGE } from '../access/stand.ts';
import { startScriptedConsole } from '../scripted-console.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { manned } from './manned.ts';
import { becomes, consoleOf } from './page-scene.ts';

const TABS = 8;

let browser: HeldBrowser;
let shown: Console;
let counted = 0;
beforeAll(async () => {
  browser = await openBrowser();
  const meters: typeof silentMetrics = {
    ...silentMetrics,
    set(name, _labels, value) {
      if (name === 'shepherd_streams') counted = value;
    },
  };
  shown = await startScriptedConsole({ fleet: scriptedFleet(machine('a')), meters });
});
afterAll(async () => {
  await browser.close();
  await shown.close();
});

/** Number of open streams of the console. */
async function streams(): Promise<number> {
  await fetch(`${shown.url}metrics`);
  return counted;
}
beforeEach(async () => {
  await expect.poll(streams, PATIENCE).toBe(0);
});

/** A browser without a window reports each tab as visible, so the test sets it. */
const CAN_HIDE = `
  let hidden = false;
  Object.defineProperty(document, 'hidden', { get: () => hidden });
  window.hide = (is) => {
    hidden = is;
    document.dispatchEvent(new Event('visibilitychange'));
  };
`;
const hide = (page: Page, is: boolean) => page.evaluate(`window.hide(${is})`);

test('V10: a hidden tab closes its stream after 30 s, and opens it when it is visible again', async () => {
  const { page, complaints } = await browser.newPage();
  await page.addInitScript(CAN_HIDE);
  await page.clock.install();
  await page.goto(shown.url);
  await becomes(page, '.link', 'Live');
  // From here on the test moves the time.
  await page.clock.pauseAt((await page.evaluate<number>('Date.now()')) + 1_000);
  await hide(page, true);
  await page.clock.runFor(20_000);
  expect(await streams()).toBe(1);
  await page.clock.runFor(11_000);
  await expect.poll(streams, PATIENCE).toBe(0);
  await page.clock.resume();
  await hide(page, false);
  await becomes(page, '.link', 'Live');
  expect(await streams()).toBe(1);
  expect(complaints).toEqual([]);
  await page.close();
});

test('V10: loads eight tabs of a browser over HTTP/1.1', async () => {
  const pages: Page[] = [];
  const all: string[] = [];
  for (let at = 0; at < TABS; at += 1) {
    const last = pages.at(-1);
    if (last) await hide(last, true);
    const { page, complaints } = await browser.newPage();
    pages.push(page);
    page.once('close', () => all.push(...complaints));
    await page.addInitScript(CAN_HIDE);
    await page.goto(shown.url);
    await becomes(page, '.link', 'Live');
  }
  await expect.poll(streams, PATIENCE).toBe(1);
  await hide(pages.at(-1)!, true);
  await hide(pages[0]!, false);
  await becomes(pages[0]!, '.link', 'Live');
  await expect.poll(streams, PATIENCE).toBe(1);
  for (const page of pages) await page.close();
  expect(all).toEqual([]);
});

test('E5: lets a second tab act, but refuses a page on another port that the browser sends the cookie to', async () => {
  const { more, logIn, bmdb } = manned();
  const web = await consoleOf(scriptedFleet(machine('a')), 0, more);
  let sent = '';
  const neighbour = createServer(({ headers }, response) => {
    sent = headers.cookie ?? sent;
    response.end();
  });
  await new Promise<void>((resolve) => neighbour.listen(0, '127.0.0.1', resolve));
  const { page } = await browser.newPage();
  await logIn(page, web.url);
  await page.goto(`http://127.0.0.1:${(neighbour.address() as AddressInfo).port}/`);
  await expect.poll(() => sent, PATIENCE).toMatch(/^shepherd=/);
  const forged = { cookie: sent, 'content-type': 'application/json', ...OWN_PAGE };
  const body = JSON.stringify({ name: 'stolen', role: 'admin' });
  const answer = await asked(`${web.url}api/v1/tokens`, 'POST', { headers: forged, body });
  expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('log in again')]);

  await page.goto(web.url);
  await becomes(page, '.link', 'Live');
  const second = await page.context().newPage();
  await second.goto(`${web.url}settings`);
  await second.getByRole('button', { name: 'New token' }).click();
  await second.fill('dialog [name=name]', 'own');
  await second.click('dialog .act');
  expect(await second.inputValue('dialog [name=token]')).toMatch(/^shp_/);
  const tokens = await bmdb.access.tokens.list(new AbortController().signal);
  expect(tokens.map(({ name }) => name)).toEqual(['own']);
  await second.close();
  await page.close();
  await web.close();
  neighbour.closeAllConnections();
  await new Promise((resolve) => neighbour.close(resolve));
});

test('lets a tab act after a login through an organisation, also after a link of a stranger was opened', async () => {
  const { bmdb, more } = manned();
  const subject = { subject: 'a1', name: 'ann', groups: ['admins'], refreshToken: null };
  let own = '';
  const provider = {
    begin: async ({ state }: { state: string }) =>
      new URL(`${own}login/oidc/callback?state=${state}`),
    complete: async () => subject,
    renew: async () => null,
  };
  const groups = new Map([['admins', { role: 'admin', providers: null } as const]]);
  const identities = { provider, groups };
  const web = await consoleOf(scriptedFleet(machine('a')), 0, { ...more, identities });
  own = web.url;
  const { page } = await browser.newPage();
  await page.goto(`${own}login/oidc`);
  await page.waitForURL(own);
  await becomes(page, '.link', 'Live');
  const stranger = await page.context().newPage();
  await stranger.goto(`${own}login#secret=${'x'.repeat(43)}`);
  await becomes(
    stranger,
    '#told',
    'The link is wrong, was used already, or is older than ten minutes: make a new one',
  );
  await page.goto(`${own}settings`);
  await page.getByRole('button', { name: 'New token' }).click();
  await page.fill('dialog [name=name]', 'own');
  await page.click('dialog .act');
  expect(await page.inputValue('dialog [name=token]')).toMatch(/^shp_/);
  expect(await bmdb.access.tokens.list(new AbortController().signal)).toHaveLength(1);
  await stranger.close();
  await page.close();
  await web.close();
});
