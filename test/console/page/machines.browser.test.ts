import { expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import type { ConsoleDeps } from '../../../src/console/console.ts';
import { machineId } from '../../../src/domain/ids.ts';
import type { FleetView } from '../../../src/console/port.ts';
import { PATIENCE } from '../../support/patience.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { guardInsight } from '../scripted-guard.ts';
import { manned } from './manned.ts';
import { becomes, consoleOf, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const show = (fleet: FleetView, path: string, more: Partial<ConsoleDeps> = {}) =>
  showPage(browser, fleet, { path, more });

const SLOT = `e => e.getAttribute('data-slot')`;
const slotsShown = (page: Page): Promise<unknown> =>
  page.evaluate(
    `[...document.querySelectorAll('.list [data-slot]')]
      .sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex'))
      .map(${SLOT})`,
  );
const row = (id: string) => `.list [data-slot="equinix/${id}"]`;
const slots = (...ids: readonly string[]) => ids.map((id) => `equinix/${id}`);
async function becomesSlots(page: Page, ...ids: readonly string[]): Promise<void> {
  await expect.poll(() => slotsShown(page), PATIENCE).toEqual(slots(...ids));
}

test('shows live how a machine goes from Reserved to Running, and times tick', async () => {
  const one = machine('a', { sinceMs: AT_MS - 58_000 });
  const fleet = scriptedFleet(one, machine('b'));
  const { page, done } = await show(fleet, 'machines');
  await becomes(page, row('a'), /Reserved\s*available/);
  await becomes(page, `${row('a')} [data-column=since]`, /^(59s|1m 0\ds)$/);
  const steps = [
    { state: 'Provisioned', substate: 'installing' },
    { state: 'AgentStarting', substate: 'uploading' },
    { state: 'Running', substate: 'healthy' },
  ] as const;
  for (const step of steps) {
    fleet.set(one.slot, { ...step, lastHeartbeatAtMs: AT_MS - 4_000 });
    await becomes(page, `${row('a')} .state`, `${step.state}${step.substate}`);
  }
  await becomes(page, `${row('a')} [data-column=heard]`, /^\d+s ago$/);
  fleet.remove(machine('b').slot);
  await becomesSlots(page, 'a');
  await becomes(page, '.count', '1 machine');
  await done();
});

test('V6: the address contains filter, order and columns, and shows the same in another tab', async () => {
  const fleet = scriptedFleet(
    machine('a', {
      state: 'Running',
      substate: 'healthy',
      location: 'da11',
      sinceMs: AT_MS - 9_000,
    }),
    machine('b', { state: 'Quarantined', substate: 'needsHuman' }),
    machine('c', { state: 'Running', substate: 'late', sinceMs: AT_MS - 3_000 }),
    machine('d'),
  );
  const { page, done } = await show(fleet, 'machines');
  await becomesSlots(page, 'a', 'b', 'c', 'd');
  await page.click('.state-terms button:has-text("Running")');
  await becomesSlots(page, 'a', 'c');
  await becomes(page, '.count', '2 machines');
  await page.click('[role=columnheader] button:has-text("In state")');
  await page.locator('[aria-sort=ascending]:has-text("In state")').waitFor();
  await becomesSlots(page, 'a', 'c');
  await page.click('[role=columnheader] button:has-text("In state")');
  await becomesSlots(page, 'c', 'a');
  await page.click('.columns button');
  await page.click('.columns label:has-text("Address")');
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.press('End');
  await page.keyboard.type(' DA11');
  await becomesSlots(page, 'a');
  const address = page.url();
  expect(decodeURIComponent(address.replaceAll('+', ' '))).toMatch(
    /filter=state:Running DA11&sort=-since&columns=slot,/,
  );
  const { page: other } = await browser.newPage();
  await other.goto(address);
  await becomesSlots(other, 'a');
  expect(await other.inputValue('#filter')).toBe('state:Running DA11');
  expect(await other.locator('[role=columnheader]:has-text("Address")').count()).toBe(0);
  await other.close();
  await page.fill('#filter', 'nothing like it');
  await becomes(page, '.notice', 'No machine matches');
  await page.click('button:has-text("Clear")');
  await expect.poll(async () => slotsShown(page), PATIENCE).toHaveLength(4);
  await done();
});

test('explains an invalid filter, and keeps the connection', async () => {
  const fleet = scriptedFleet(machine('a'), machine('b', { state: 'Running', substate: 'late' }));
  const { page, done } = await show(fleet, 'machines?filter=state:foo since>soon');
  await becomes(page, '.notice', /state:foo: foo is neither a state nor a substate.*silent/s);
  await becomes(page, '.notice', /since>soon: after since comes a time such as >2h/);
  await becomes(page, '.notice', 'provider:NAME');
  expect(await page.locator('.list, .notice:has-text("connection")').count()).toBe(0);
  fleet.remove(machine('b').slot);
  await becomes(page, '.fleet-line', '1 free of 1');
  await page.fill('#filter', 'state:Reserved');
  await becomesSlots(page, 'a');
  expect(await page.locator('.notice').count()).toBe(0);
  await done();
});

test('tells why the console refuses the stream of a page, and that the connection works', async () => {
  const { page, complaints } = await browser.newPage();
  const shown = await consoleOf(scriptedFleet(machine('a')));
  await page.goto(`${shown.url}machines?sort=age`);
  await becomes(page, '.notice', /refuses to send the data of this page: .*sort/);
  await becomes(page, '.link', 'Refused');
  await page.goto(`${shown.url}machines`);
  await becomesSlots(page, 'a');
  await becomes(page, '.link', 'Live');
  expect(complaints.filter((each) => !each.includes('400'))).toEqual([]);
  await page.close();
});

test('V2: renders only the visible rows of many thousand machines, at every scroll position', async () => {
  const many = Array.from({ length: 20_000 }, (_, i) => machine(String(i).padStart(5, '0')));
  const fleet = scriptedFleet(...many);
  const { page, done } = await show(fleet, 'machines');
  await becomes(page, '.count', '20,000 machines');
  for (const at of [12_000, 19_900, 300]) {
    await page.evaluate(`document.querySelector('.list').scrollTop = ${at * 30}`);
    const id = String(at + 5).padStart(5, '0');
    await page.locator(row(id)).waitFor();
    expect(await page.locator(row(id)).getAttribute('aria-rowindex')).toBe(String(at + 7));
  }
  expect(await page.locator('.list .rows [role=row]').count()).toBeLessThan(80);
  fleet.set(machine('00305').slot, { state: 'Running', substate: 'healthy' });
  await becomes(page, `${row('00305')} .state`, 'Running');
  await done();
});

const SILENT = { state: 'Running', substate: 'silent' } as const;
const PREVIEW = {
  ...{ dryRun: true, verb: 'reboot', would: 'be rebooted', count: 300, lost: null },
  ...{ isDestroying: false, refusals: [], waits: [], outcomes: [], machines: [] },
};
const BATCH = { key: 'b', counts: { open: 300, done: 0, refused: 0 }, refusals: [] };

/** Cells that are cut off, and gaps between rows. */
const cutOff = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const rows = [...document.querySelectorAll('.list [data-slot]')];
    const box = (each) => each.getBoundingClientRect();
    rows.sort((one, other) => box(one).top - box(other).top);
    return rows.flatMap((row, at) => {
      const next = rows[at + 1];
      const gap = next ? box(next).top - box(row).bottom : 0;
      const cells = [...row.querySelectorAll('[role=cell]')].filter((cell) => {
        const isWide = cell.scrollWidth > cell.clientWidth + 1;
        return isWide || box(cell).top + cell.scrollHeight > box(row).bottom + 1;
      });
      return [
        ...cells.map((cell) => row.dataset.slot + ' ' + cell.dataset.column),
        ...(Math.abs(gap) > 1 ? [row.dataset.slot + ': ' + gap + ' px to the next'] : []),
      ];
    });
  })()`);

test('shows the whole reason on a phone, in rows of different heights, also after a rotation', async () => {
  const reason = 'the ladder is at its end: reboot, power cycle and reinstallation failed';
  const fleet = scriptedFleet(
    machine('a', { state: 'Quarantined', substate: 'needsHuman', reason, holds: ['no-recover'] }),
    machine('b', { state: 'Quarantined', substate: 'needsHuman', reason: 'x'.repeat(120) }),
    machine('c'),
  );
  const { page, done } = await show(fleet, 'machines');
  await becomesSlots(page, 'a', 'b', 'c');
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => cutOff(page), PATIENCE).toEqual([]);
  fleet.set(machine('c').slot, { reason });
  await becomes(page, row('c'), reason);
  await expect.poll(() => cutOff(page), PATIENCE).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  const heights = () =>
    page.locator('.list [data-slot]').evaluateAll((all) => all.map((row) => row.offsetHeight));
  await expect.poll(heights, PATIENCE).toEqual([30, 30, 30]);
  await done();
});

test('selects the shown machines, then all that match, and files exactly these', async () => {
  const world = manned();
  const many = Array.from({ length: 300 }, (_, at) => machine(`s${at}`, SILENT));
  const fleet = scriptedFleet(machine('a'), ...many);
  const shown = await show(fleet, '', world.more);
  await world.logIn(shown.page, shown.console.url);
  const { page } = shown;
  await page.goto(`${shown.console.url}machines?filter=state:silent`);
  const box = page.getByRole('checkbox', { name: 'Select the shown machines' });
  await becomes(page, '.count', '300 machines');
  await page.locator(row('s0')).waitFor();
  await box.check();
  const bar = page.locator('.selection');
  const counted = async () => Number.parseInt(await bar.locator('p').first().innerText());
  expect(await counted()).toBeGreaterThan(10);
  expect(await counted()).toBeLessThan(40);
  await box.uncheck();
  await bar.waitFor({ state: 'detached' });
  await box.check();
  await page.getByRole('button', { name: 'Select all 300 that match' }).click();
  await becomes(page, '.selection', '300 selected');
  // Another filter in the list changes neither the selection nor what it is compared with.
  await page.fill('#filter', 'state:silent s1');
  await page.locator(row('s0')).waitFor({ state: 'detached' });
  await becomes(page, '.selection', '300 selected');

  const submitted: { slots: string[]; expectCount: number }[] = [];
  await page.route('**/requests*', (route) => {
    if (route.request().method() === 'GET') return route.fallback();
    if (route.request().url().includes('dryRun')) return route.fulfill({ json: PREVIEW });
    submitted.push(route.request().postDataJSON() as (typeof submitted)[number]);
    return route.fulfill({ status: 202, json: BATCH });
  });
  await page.route('**/batches/b', (route) => route.fulfill({ json: BATCH }));
  await bar.getByRole('button', { name: 'Reboot' }).click();
  await page.locator('.prospect').waitFor();
  expect(await page.locator('.drift').count()).toBe(0);
  await page.fill('dialog textarea', 'new kernel');
  await page.fill('[name=confirmation]', '300');
  await page.locator('dialog .act:enabled').waitFor();
  fleet.put(machine('late', SILENT));
  fleet.set(machine('s1').slot, { substate: 'healthy' });
  fleet.set(machine('s2').slot, { machineId: machineId('cb8a250b-86fc-4af7-b6e1-8280f50f191d') });
  await page.click('dialog .act');
  await becomes(page, 'dialog [role=alert]', /Nothing was submitted, because something changed/);
  expect(submitted).toEqual([]);
  await page.click('dialog button:has-text("current state")');
  await becomes(page, '.drift', /not selected \(1\): equinix\/late/);
  await becomes(page, '.drift', /no longer a match \(1\): equinix\/s1/);
  await becomes(page, '.drift', /another machine is on the slot now \(1\): equinix\/s2/);
  await page.click('dialog button:has-text("Select what matches now")');
  await page.locator('.drift').waitFor({ state: 'detached' });
  await page.fill('[name=confirmation]', '300');
  await page.locator('dialog .act:enabled').click();
  await becomes(page, 'dialog [role=status]', '300 open');
  expect(submitted.map(({ expectCount }) => expectCount)).toEqual([300]);
  const slots = new Set(submitted[0]!.slots);
  expect([slots.size, slots.has('equinix/late'), slots.has('equinix/s1')]).toEqual([
    300,
    true,
    false,
  ]);
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Select none' }).click();
  await bar.waitFor({ state: 'detached' });
  await page.fill('#filter', 'state:silent');
  fleet.put(...Array.from({ length: 701 }, (_, at) => machine(`t${at}`, SILENT)));
  await becomes(page, '.count', '1,001 machines');
  await box.check();
  const all = page.getByRole('button', { name: 'Select all 1,001 that match' });
  await all.waitFor();
  expect(await all.isDisabled()).toBe(true);
  expect(await all.getAttribute('title')).toBe('At most 1,000 at once: narrow the filter.');
  await shown.done();
  await browser.context.clearCookies();
});

test('tells that a machine selected by hand was replaced by another machine', async () => {
  const world = manned();
  const fleet = scriptedFleet(machine('a', SILENT), machine('b', SILENT));
  const shown = await show(fleet, '', world.more);
  await world.logIn(shown.page, shown.console.url);
  const { page } = shown;
  await page.goto(`${shown.console.url}machines`);
  for (const name of ['a', 'b']) await page.check(`${row(name)} [type=checkbox]`);
  const machines = ['a', 'b'].map((name) => {
    const { slot, machineId: id } = machine(name);
    return { slot, machineId: name === 'a' ? id : 'cb8a250b-86fc-4af7-b6e1-8280f50f191d' };
  });
  await page.route('**/requests?dryRun=true', (route) =>
    route.fulfill({ json: { ...PREVIEW, count: 2, machines } }),
  );
  await page.locator('.selection').getByRole('button', { name: 'Reboot' }).click();
  await becomes(page, '.drift', /another machine is on the slot now \(1\): equinix\/b/);
  expect(await page.locator('.drift li').count()).toBe(1);
  await shown.done();
  await browser.context.clearCookies();
});

test('shows the short name of a slot first, and the UUIDs small with a copy button', async () => {
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const uuid = '0259f698-6619-4a80-91af-e7c704e05dd6';
  const { page, done } = await show(scriptedFleet(machine(uuid), machine('rack-7')), 'machines');
  const links = page.locator('.list a.slot');
  await expect
    .poll(() => links.allInnerTexts(), PATIENCE)
    .toEqual(['equinix/0259f698', 'equinix/rack-7']);
  expect(await links.first().getAttribute('title')).toBe(`equinix/${uuid}`);
  await links.first().click();
  await becomes(page, 'h1', /^equinix\/0259f698$/);
  await page.getByRole('button', { name: 'Copy: Machine', exact: true }).click();
  await becomes(page, '.ids', 'Copied');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`equinix/${uuid}`);
  await done();
});

test('marks the sides on which a table continues', async () => {
  const more = { guard: guardInsight() };
  const { page, done } = await show(scriptedFleet(machine('a')), 'guard', more);
  await page.setViewportSize({ width: 390, height: 844 });
  const table = page.locator('.scopes .scrolls');
  const marks = () =>
    table.evaluate((e) => ['before', 'after'].filter((side) => e.hasAttribute(`data-${side}`)));
  await expect.poll(marks, PATIENCE).toEqual(['after']);
  await table.evaluate((e) => e.scrollTo(60, 0));
  await expect.poll(marks, PATIENCE).toEqual(['before', 'after']);
  await table.evaluate((e) => e.scrollTo(e.scrollWidth, 0));
  await expect.poll(marks, PATIENCE).toEqual(['before']);
  await page.setViewportSize({ width: 2000, height: 800 });
  await expect.poll(marks, PATIENCE).toEqual([]);
  await done();
});

test('V20: keys move through the list, select and open machines, and a key can be switched off', async () => {
  const { page, done } = await show(scriptedFleet(machine('a'), machine('b')), 'machines');
  await becomesSlots(page, 'a', 'b');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.locator(`${row('b')}[data-cursor]`).waitFor();
  await page.keyboard.press('x');
  await becomes(page, '.selection', '1 selected');
  await page.keyboard.press('Enter');
  await becomes(page, 'h1', 'equinix/b');
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.locator('.headline').waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('equinix/a');
  await becomes(page, '.palette [role=option][aria-selected=true]', /^equinix\/a/);
  await page.keyboard.press('Enter');
  await becomes(page, 'h1', 'equinix/a');
  await page.keyboard.press('?');
  await page.click('[aria-label="The key g is on"]');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await becomes(page, 'h1', 'equinix/a');
  await page.evaluate('localStorage.clear()');
  await done();
});

test('shows why a machine is in its state, what blocks it, and when the next step comes', async () => {
  const silent = machine('a', { state: 'Running', substate: 'silent', holds: ['no-recover'] });
  const fleet = scriptedFleet(silent);
  const { page, done } = await show(fleet, 'machines/equinix/a');
  await becomes(page, '.sentence', 'no heartbeat came within 10m');
  await becomes(page, '[data-block=hold]', /a hold no-recover of ann\s*in \d+[hm].*an operator/s);
  await becomes(page, '.next', /its agent is restarted\s*in (2h 00m|1h 59m)/);
  await becomes(page, '.machine > header', /Running\s*silent/);
  fleet.set(silent.slot, { state: 'Recovering', substate: 'reboot' });
  await becomes(page, '.machine > header', /Recovering\s*reboot/);
  fleet.remove(silent.slot);
  await becomes(page, '.notice', 'equinix/a is gone');
  await done();
});

test('V34: shows the words of agents and providers as text only', async () => {
  const attack = `<img src=x onerror="document.title='owned'">\u0007\u202e`;
  const evil = machine('a', {
    ...{ state: 'Quarantined', substate: attack, reason: attack, address: attack },
    ...{ location: attack, providerId: `"><svg onload=alert(1)>` },
  });
  const { page, done } = await show(scriptedFleet(evil), 'machines');
  await page.locator(row('a')).waitFor();
  const shown = attack.replace('\u0007\u202e', String.raw`\u{7}\u{202e}`);
  expect(await page.textContent(`${row('a')} [data-column=address]`)).toBe(shown);
  expect(await page.textContent(`${row('a')} .state`)).toBe(`Quarantined${shown}`);
  await page.click(`${row('a')} a`);
  await page.locator('.facts').waitFor();
  expect(await page.locator(':is(.list, .machine) :is(img, script, svg[onload])').count()).toBe(0);
  expect(await page.title()).not.toContain('owned');
  await done();
});
