import { afterEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startConsole } from '../../src/console/console.ts';
import type { Console, ConsoleDeps } from '../../src/console/console.ts';
import type { FleetView, GuardScope } from '../../src/console/port.ts';
import { withBrowser } from '../support/browser.ts';
import type { OpenBrowser } from '../support/browser.ts';
import { AT_MS, machine, scriptedFleet, WATCHING } from './scripted-fleet.ts';
import { PATIENCE } from '../support/patience.ts';

const started: Console[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

async function start(
  fleet: FleetView,
  port = 0,
  more: Partial<ConsoleDeps> = {},
): Promise<Console> {
  const each = await startConsole({
    listen: { host: '127.0.0.1', port },
    fleet,
    metrics: { expose: async () => ({ contentType: 'text/plain', body: '' }) },
    health: () => ({ checks: { bmdb: { ok: true, detail: 'reachable' } } }),
    clock: systemClock,
    log: silentLog,
    version: '9.9.9',
    ...more,
  });
  started.push(each);
  return each;
}

/** The page with the fleet on it, and nothing to complain of when the test is done. */
const withPage = async (
  fleet: FleetView,
  use: (open: OpenBrowser & { url: string }) => Promise<void>,
) => {
  const { url } = await start(fleet);
  await withBrowser(async (browser) => {
    await browser.page.goto(url);
    await becomes(browser.page, '#connection', 'Live');
    await use({ ...browser, url });
    expect(browser.complaints).toEqual([]);
  });
};

const becomes = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector).filter({ hasText: text }).waitFor();
const textOf = (page: Page, selector: string) => page.locator(selector).innerText();
const slotsShown = (page: Page) =>
  page
    .locator('#rows tr')
    .evaluateAll((rows) =>
      rows.map((row) => (row as unknown as { dataset: { slot: string } }).dataset.slot),
    );
const row = (slot: string) => `tr[data-slot="${slot}"]`;

describe('page', () => {
  test('A1: names the providers whose disks recovery may erase, where there are any', async () => {
    const { url } = await start(scriptedFleet(), 0, { mayEraseDisks: ['equinix', 'rack'] });
    const without = await start(scriptedFleet());
    await withBrowser(async ({ page, complaints }) => {
      await page.goto(url);
      await becomes(page, '#erasing', 'Recovery may erase disks of equinix, rack');
      await page.goto(without.url);
      await becomes(page, '#connection', 'Live');
      expect(await page.locator('#erasing').isVisible()).toBe(false);
      expect(complaints).toEqual([]);
    });
  });

  test('a machine goes from Reserved to Running before our eyes', async () => {
    const one = machine('a');
    const fleet = scriptedFleet(one, machine('b'));
    await withPage(fleet, async ({ page }) => {
      await page.evaluate('window.sameDocument = true');
      expect(await textOf(page, `${row(one.slot)} .badge`)).toMatch(/^Reserved\s*available$/);
      expect(await textOf(page, '#headline')).toMatch(/0\s*of 2 machines Running/);
      const steps = [
        { state: 'Reserved', substate: 'creating' },
        { state: 'Provisioned', substate: 'installing' },
        { state: 'AgentStarting', substate: 'uploading' },
        { state: 'Running', substate: 'awaitingHeartbeat' },
      ] as const;
      for (const step of steps) {
        fleet.set(one.slot, { ...step, providerId: 'device-1', address: '127.0.0.1:2222' });
        await becomes(page, `${row(one.slot)} .badge`, `${step.state}${step.substate}`);
      }
      fleet.set(one.slot, { substate: 'healthy', lastHeartbeatAtMs: AT_MS - 4_000 });
      await becomes(page, `${row(one.slot)} .c-heartbeat`, /^\d+s ago$/);
      expect(await textOf(page, '#headline')).toMatch(/1\s*of 2 machines Running/);
      expect(await textOf(page, '.tile[data-state=Running]')).toMatch(/^1\s*Running$/);
      expect(await textOf(page, '.tile[data-state=Reserved]')).toMatch(/^1\s*Reserved$/);
      expect(await textOf(page, `${row(one.slot)} .c-id`)).toBe('device-1');
      expect(await page.title()).toContain('1/2 Running');
      expect(await page.evaluate('window.sameDocument')).toBe(true);
    });
  });

  test('times tick on by themselves', async () => {
    const one = machine('a', { lastHeartbeatAtMs: AT_MS - 58_000, sinceMs: AT_MS - 58_000 });
    await withPage(scriptedFleet(one), async ({ page }) => {
      await becomes(page, `${row(one.slot)} .c-heartbeat`, /^1m 0\ds ago$/);
      await becomes(page, `${row(one.slot)} .c-since`, /^1m 0\ds$/);
    });
  });

  test('tiles and search choose, the address remembers, and clearing shows all', async () => {
    const fleet = scriptedFleet(
      machine('a', { state: 'Running', substate: 'healthy', location: 'da11' }),
      machine('b', { state: 'Quarantined', substate: 'needsHuman' }),
      machine('c', { state: 'Running', substate: 'late' }),
      machine('d'),
    );
    await withPage(fleet, async ({ page }) => {
      await expect
        .poll(() => slotsShown(page), PATIENCE)
        .toEqual(['equinix/a', 'equinix/b', 'equinix/c', 'equinix/d']);
      await page.click('.tile[data-state=Running]');
      await becomes(page, '#shown', '2 of 4 machines');
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/a', 'equinix/c']);
      expect(await page.getAttribute('.tile[data-state=Running]', 'aria-pressed')).toBe('true');
      await page.keyboard.press('/');
      await page.keyboard.type('DA11');
      await becomes(page, '#shown', '1 of 4 machines');
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/a']);
      await page.reload();
      await becomes(page, '#shown', '1 of 4 machines');
      fleet.set(machine('c').slot, { location: 'da11' });
      await becomes(page, '#shown', '2 of 4 machines');
      await page.fill('#search', 'nothing like it');
      await becomes(page, '#empty-title', 'No machine matches');
      await page.click('#clear');
      await page.locator(row('equinix/d')).waitFor();
      await expect.poll(() => slotsShown(page), PATIENCE).toHaveLength(4);
    });
  });

  test('says why nothing is recovered, of which provider, since when, and when that is over', async () => {
    const fleet = scriptedFleet(machine('a', { state: 'Running', substate: 'silent' }));
    await withPage(fleet, async ({ page }) => {
      expect(await page.locator('#guard').isVisible()).toBe(false);
      const attack = `<img src=x onerror="document.title='owned'">`;
      const frozen: GuardScope = {
        scope: 'equinix',
        state: 'frozen',
        sinceMs: AT_MS - 125_000,
        reason: attack,
        started: 20,
        silent: 9,
      };
      fleet.guard({ state: 'frozen', scopes: [...WATCHING.scopes, frozen] });
      await becomes(page, '#guard-title', /^Recovery is frozen$/);
      const scopes = page.locator('#guard-scopes li');
      expect(await scopes.count()).toBe(1);
      await becomes(
        page,
        '#guard-scopes li',
        /Provider equinix.*frozen.*for 2m 0\ds.*9 of 20 silent/,
      );
      expect(await page.textContent('#guard-scopes .why')).toBe(attack);
      expect(await page.getAttribute('#guard', 'data-guard')).toBe('frozen');
      const grace = {
        ...WATCHING.scopes[0]!,
        state: 'grace',
        sinceMs: null,
        reason: null,
      } as const;
      fleet.guard({ state: 'grace', scopes: [grace] });
      await becomes(page, '#guard-title', /grace/);
      expect(await page.textContent('#guard-scopes time')).toBe('');
      fleet.guard(WATCHING);
      await page.locator('#guard').waitFor({ state: 'hidden' });
    });
  });

  test('counts the machines that need a human, and shows which', async () => {
    const stuck = machine('b', { state: 'Quarantined', substate: 'needsHuman' });
    const fleet = scriptedFleet(machine('a', { state: 'Quarantined', substate: 'missing' }), stuck);
    await withPage(fleet, async ({ page }) => {
      await becomes(page, '#need-human', '1 machine needs a human');
      await page.click('#need-human-show');
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual([stuck.slot]);
      fleet.set(stuck.slot, { state: 'Running', substate: 'healthy' });
      await page.locator('#need-human').waitFor({ state: 'hidden' });
    });
  });

  test('A8: names a provider that cannot be listed, and why, until it can', async () => {
    const fleet = scriptedFleet(machine('a'));
    await withPage(fleet, async ({ page }) => {
      fleet.unlist([{ provider: 'metal', sinceMs: 0, cause: 'connect <b>ECONNREFUSED</b>' }]);
      await becomes(page, '#unlisted b', 'Provider metal');
      await becomes(page, '#unlisted .why', 'connect <b>ECONNREFUSED</b>');
      fleet.unlist([]);
      await page.locator('#unlisted').waitFor({ state: 'hidden' });
    });
  });

  test('what agents and providers say stays text', async () => {
    const attack = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const evil = machine('a', {
      state: 'Quarantined',
      substate: attack,
      reason: attack,
      address: attack,
      location: attack,
      providerId: `"><svg onload=alert(1)>`,
      holds: [attack],
    });
    await withPage(scriptedFleet(evil), async ({ page }) => {
      for (const cell of ['.c-address', '.c-location', '.badge span', '.chip']) {
        expect(await page.textContent(`${row(evil.slot)} ${cell}`)).toBe(attack);
      }
      expect(await page.textContent(`${row(evil.slot)} .c-reason`)).toBe(attack + attack);
      expect(await page.locator('#rows :is(img, script, svg)').count()).toBe(0);
      expect(await page.title()).not.toContain('owned');
    });
  });

  test('has a column for each trait that some machine has, to sort and search by', async () => {
    const fleet = scriptedFleet(machine('a', { location: null }), machine('b', { location: null }));
    await withPage(fleet, async ({ page }) => {
      await page.locator(row('equinix/b')).waitFor();
      expect(await page.locator('.c-location').count()).toBe(0);
      expect(await page.getAttribute('#search', 'placeholder')).toBe(
        'Search slot, id, address, location, reason',
      );
      fleet.put(machine('c', { location: 'da11' }), machine('d', { location: 'am6' }));
      await becomes(page, `${row('equinix/c')} .c-location`, 'da11');
      expect(await textOf(page, `${row('equinix/a')} .c-location`)).toBe('–');
      const heads = await page.locator('th').allInnerTexts();
      expect(heads.slice(3, 6)).toEqual(['Address', 'Location', 'Last heartbeat']);
      const order = async (sort: 'ascending' | 'descending', ...ids: string[]) => {
        await page.click('th.c-location button');
        await page.locator(`th.c-location[aria-sort=${sort}]`).waitFor();
        const slots = ids.map((id) => `equinix/${id}`);
        await expect.poll(() => slotsShown(page), PATIENCE).toEqual(slots);
      };
      await order('ascending', 'd', 'c', 'a', 'b');
      await order('descending', 'a', 'b', 'c', 'd');
      await page.fill('#search', 'DA11');
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/c']);
      fleet.remove(machine('d').slot);
      fleet.set(machine('c').slot, { location: null });
      await page.fill('#search', '');
      await page.locator('.c-location').first().waitFor({ state: 'detached' });
      await expect.poll(() => slotsShown(page), PATIENCE).toHaveLength(3);
    });
  });

  test('draws the traits that it is told of, whatever they are', async () => {
    const told = {
      ...scriptedFleet({ ...machine('a'), ...{ rack: 'r7', row: null } }).snapshot(),
      ...{ version: '9.9.9', inspectorUrl: null, mayEraseDisks: [] },
      traits: [
        { name: 'location', label: 'Location' },
        { name: 'rack', label: '<b>Rack' },
        { name: 'row', label: 'Row' },
      ],
    };
    const { url } = await start(scriptedFleet());
    await withBrowser(async ({ page }) => {
      await page.route('**/events', (route) =>
        route.fulfill({
          contentType: 'text/event-stream',
          body: `event: snapshot\ndata: ${JSON.stringify(told)}\n\n`,
        }),
      );
      await page.goto(url);
      await becomes(page, `${row('equinix/a')} .c-rack`, 'r7');
      const heads = await page.locator('th').allInnerTexts();
      expect(heads.slice(3, 7)).toEqual(['Address', 'Location', '<b>Rack', 'Last heartbeat']);
      await page.fill('#search', 'r7');
      await becomes(page, '#shown', '1 of 1 machines');
    });
  });

  test('sorting is stable, and removed machines go', async () => {
    const fleet = scriptedFleet(
      machine('a', { state: 'Running', sinceMs: AT_MS - 3_000 }),
      machine('b', { sinceMs: AT_MS - 9_000 }),
      machine('c', { state: 'Running', sinceMs: AT_MS - 6_000 }),
    );
    await withPage(fleet, async ({ page }) => {
      await page.click('th.c-state button');
      await page.locator('th.c-state[aria-sort=ascending]').waitFor();
      await expect
        .poll(() => slotsShown(page), PATIENCE)
        .toEqual(['equinix/b', 'equinix/a', 'equinix/c']);
      await page.click('th.c-state button');
      await page.locator('th.c-state[aria-sort=descending]').waitFor();
      await expect
        .poll(() => slotsShown(page), PATIENCE)
        .toEqual(['equinix/a', 'equinix/c', 'equinix/b']);
      fleet.remove(machine('c').slot);
      fleet.remove(machine('b').slot);
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/a']);
      await becomes(page, '#headline', /^\s*1\s*of 1 machine Running\s*$/);
      await page.click('th.c-slot button');
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/a']);
    });
  });

  test('five thousand machines: some hundreds of rows, the rest on demand', async () => {
    const many = Array.from({ length: 5_000 }, (_, i) => machine(String(i).padStart(5, '0')));
    await withPage(scriptedFleet(...many), async ({ page }) => {
      await becomes(page, '#more', 'Show 200 more (4,800 not shown)');
      expect(await page.locator('#rows tr').count()).toBe(200);
      await page.click('#more');
      await becomes(page, '#more', 'Show 200 more (4,600 not shown)');
      expect(await page.locator('#rows tr').count()).toBe(400);
      await page.fill('#search', '04999');
      await page.locator(row('equinix/04999')).waitFor();
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/04999']);
    });
  });

  test('an empty fleet explains itself, and fills', async () => {
    const fleet = scriptedFleet();
    await withPage(fleet, async ({ page }) => {
      await becomes(page, '#empty-title', 'No machines yet');
      fleet.put(machine('a'));
      await page.locator(row('equinix/a')).waitFor();
      expect(await page.locator('#empty').isVisible()).toBe(false);
    });
  });

  test('says when the connection is lost, and comes back with the present state', async () => {
    const fleet = scriptedFleet(machine('a'), machine('b'));
    const first = await start(fleet);
    await withBrowser(async ({ page }) => {
      await page.goto(first.url);
      await becomes(page, '#connection', 'Live');
      started.splice(0);
      await first.close();
      await becomes(page, '#connection', 'Reconnecting');
      await becomes(page, '#stale', 'The connection to Shepherd is lost');
      fleet.remove(machine('b').slot);
      fleet.set(machine('a').slot, { state: 'Running', substate: 'healthy' });
      await start(fleet, Number(new URL(first.url).port));
      await becomes(page, '#connection', 'Live');
      await becomes(page, `${row('equinix/a')} .badge`, 'Running');
      await expect.poll(() => slotsShown(page), PATIENCE).toEqual(['equinix/a']);
      expect(await page.locator('#stale').isVisible()).toBe(false);
    });
  });
});
