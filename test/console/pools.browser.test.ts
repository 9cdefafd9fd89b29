import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startConsole, type Console } from '../../src/console/console.ts';
import { withBrowser, type OpenBrowser } from '../support/browser.ts';
import { PATIENCE } from '../support/patience.ts';
import {
  AT_MS,
  machine,
  member,
  pool,
  scriptedFleet,
  type ScriptedFleet,
} from './scripted-fleet.ts';

const started: Console[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

async function start(fleet: ScriptedFleet): Promise<string> {
  const each = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    fleet,
    metrics: { expose: async () => ({ contentType: 'text/plain', body: '' }) },
    health: () => ({ checks: { bmdb: { ok: true, detail: 'reachable' } } }),
    clock: systemClock,
    log: silentLog,
    version: '9.9.9',
  });
  started.push(each);
  return each.url;
}

/** The page with the fleet on it, and nothing to complain of when the test is done. */
async function withPage(fleet: ScriptedFleet, use: (open: OpenBrowser) => Promise<void>) {
  const url = await start(fleet);
  await withBrowser(
    async (browser) => {
      await browser.page.goto(url);
      await browser.page.locator('#connection').filter({ hasText: 'Live' }).waitFor();
      await use(browser);
      expect(browser.complaints).toEqual([]);
    },
    { viewport: { width: 1280, height: 900 } },
  );
}

const inState = {
  state: 'Running',
  substate: 'healthy',
  lastHeartbeatAtMs: AT_MS - 4_000,
} as const;
const fleetOf = (...ids: readonly string[]) =>
  scriptedFleet(...ids.map((id) => machine(id, inState)));
const entry = '#pools-list > li[data-pool="api@edge"]';
const cells = (page: OpenBrowser['page'], at: number) =>
  page.locator(`${entry} tbody tr`).nth(at).locator('td').allInnerTexts();

test('without pools there is nothing of them on the page', async () => {
  await withPage(fleetOf('a'), async ({ page }) => {
    expect(await page.locator('#pools').isVisible()).toBe(false);
  });
});

test('a pool shows its members, and each machine what it is to its pools', async () => {
  const fleet = fleetOf('a', 'b', 'c');
  const draining = member('b', {
    state: 'draining',
    sessions: 7,
    note: 'a reboot was asked for by eva',
  });
  fleet.pool(
    pool({ members: [member('a'), draining] }),
    pool({ balancer: 'cloud', driver: 'anexia', members: [member('a', { health: null })] }),
  );
  await withPage(fleet, async ({ page }) => {
    const summary = page.locator(`${entry} summary`);
    await summary.filter({ hasText: '1 active, 1 draining; at least 1 active' }).waitFor();
    expect(await summary.innerText()).toMatch(/api.*at edge \(haproxy\).*settled/s);
    await summary.filter({ hasText: /settled 1m \d\ds ago/ }).waitFor();
    expect(await cells(page, 0)).toEqual([
      'equinix/a',
      'active',
      expect.any(String),
      'up',
      '3',
      '',
    ]);
    expect((await cells(page, 1)).slice(3)).toEqual(['up', '7', 'a reboot was asked for by eva']);
    const chips = (id: string) => page.locator(`tr[data-slot="equinix/${id}"] .chip`);
    expect(await chips('a').allInnerTexts()).toEqual(['api@edge active', 'api@cloud active']);
    expect(await chips('b').allInnerTexts()).toEqual(['api@edge draining']);
    expect(await chips('b').getAttribute('title')).toContain('a reboot was asked for by eva');
    expect(await chips('c').count()).toBe(0);
    fleet.pool(pool({ members: [member('a'), { ...draining, state: 'drained', how: 'grace' }] }));
    await expect.poll(() => chips('b').allInnerTexts(), PATIENCE).toEqual(['api@edge drained']);
    expect((await cells(page, 1))[1]).toBe('drained (grace)');
    await page.fill('#search', 'api@edge');
    await page.locator('#shown').filter({ hasText: '2 of 3 machines' }).waitFor();
  });
});

test('what is frozen, paused, torn down or failed says so, and by whom and why', async () => {
  const attack = `<img src=x onerror="document.title='owned'">`;
  const asked = { atMs: AT_MS - 10_000, by: 'eva', reason: 'the balancer moves' };
  const fleet = fleetOf('a');
  fleet.pool(
    pool({
      state: 'failed',
      settledAtMs: null,
      reason: attack,
      frozen: { atMs: AT_MS, reason: '2 of 3 active members would be dropped at once' },
      members: [member('a', { refused: true, note: 'balancer edge cannot be reached' })],
    }),
    pool({ balancer: 'cloud', state: 'paused', paused: asked, tornDown: asked }),
  );
  await withPage(fleet, async ({ page }) => {
    const text = await page.locator(entry).innerText();
    for (const said of [
      'failed',
      'frozen',
      'not settled yet',
      'Frozen: 2 of 3 active members would be dropped at once',
      'active, refused',
      'balancer edge cannot be reached',
      attack,
    ]) {
      expect(text).toContain(said);
    }
    const other = await page.locator('#pools-list > li').nth(1).innerText();
    expect(other).toContain('Paused by eva: the balancer moves');
    expect(other).toContain('Torn down by eva: the balancer moves');
    expect(other).toContain('no members');
    expect(await page.title()).not.toBe('owned');
  });
});

test('a pool of many members is folded, and stays as the reader left it', async () => {
  const ids = Array.from({ length: 13 }, (_, at) => `m${at + 10}`);
  const fleet = fleetOf(...ids);
  const members = ids.map((id) => member(id));
  fleet.pool(pool({ members }));
  await withPage(fleet, async ({ page }) => {
    const table = page.locator(`${entry} table`);
    expect(await table.isVisible()).toBe(false);
    await page.click(`${entry} summary`);
    await table.waitFor();
    fleet.pool(pool({ members, state: 'checking' }));
    await page.locator(`${entry} summary`).filter({ hasText: 'checking' }).waitFor();
    expect(await table.isVisible()).toBe(true);
  });
});

test('the API tells pools with all that is known of them, and one by its name', async () => {
  const fleet = fleetOf('a');
  const api = pool({ members: [member('a')] });
  fleet.pool(api, pool({ pool: 'web' }));
  const url = await start(fleet);
  const read = async (path: string) => {
    const response = await fetch(`${url}api/v1/${path}`);
    return [response.status, await response.json()];
  };
  expect(await read('pools')).toEqual([200, { atMs: AT_MS, pools: [api, pool({ pool: 'web' })] }]);
  expect(await read('pools/api')).toEqual([200, { atMs: AT_MS, pools: [api] }]);
  expect(await read('pools/db')).toEqual([
    404,
    { error: { code: 'not-found', message: 'No pool is named db' } },
  ]);
});
