import { expect, test } from 'vitest';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import type { ConsoleDeps } from '../../../src/console/console.ts';
import type { FleetView, GuardScope } from '../../../src/console/port.ts';
import { AT_MS, machine, member, pool, scriptedFleet, WATCHING } from '../scripted-fleet.ts';
import { seriesView } from '../scripted-series.ts';
import { manned } from './manned.ts';
import { PATIENCE } from '../../support/patience.ts';
import { becomes, consoleOf, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const show = (fleet: FleetView, path = '', more: Partial<ConsoleDeps> = {}) =>
  showPage(browser, fleet, { path, more });

const textOf = (page: Page, selector: string) => page.locator(selector).first().innerText();

test('shows live counts of the fleet by state, location and provider', async () => {
  const one = machine('a');
  const fleet = scriptedFleet(one, machine('b', { location: 'da11' }));
  const { page, done } = await show(fleet);
  await becomes(page, '.headline', /^2\s*free of 2/);
  fleet.set(one.slot, { state: 'Running', substate: 'healthy' });
  await becomes(page, '.headline', /^1\s*healthy · 1\s*free of 2/);
  expect(await textOf(page, '.tiles a[data-state=Running]')).toMatch(/^1\s*Running$/);
  await becomes(page, '.matrix tbody tr:first-child', /am6\s*1\s*·\s*1/);
  await becomes(page, '.matrix tbody tr:nth-child(2)', /da11\s*·\s*1\s*1/);
  await becomes(page, '[data-provider=equinix]', '1 healthy · 1 free of 2');
  expect(await page.title()).toBe('1 healthy · 1 free of 2 · Shepherd');
  await done();
});

test('shows why recovery is frozen, for which provider, and since when', async () => {
  const fleet = scriptedFleet(machine('a', { state: 'Running', substate: 'silent' }));
  const { page, done } = await show(fleet);
  await becomes(page, '.guard-sentence', 'Shepherd recovers machines that fall silent');
  const attack = `<img src=x onerror="document.title='owned'">\u0007`;
  const frozen: GuardScope = {
    ...{ scope: 'equinix', state: 'frozen', sinceMs: AT_MS - 125_000, reason: attack },
    ...{ started: 20, silent: 9, ends: 'Only a person ends it.', endsAtMs: null },
  };
  const scopes = WATCHING.scopes.map((scope) => ({ ...scope, silent: 12 }));
  fleet.guard({ state: 'frozen', scopes: [...scopes, frozen] });
  await becomes(page, '.needs-you li[data-need=guard]', /recovery is frozen for provider equinix/);
  await becomes(page, '.needs-you li[data-need=guard]', 'Only a person ends it.');
  await becomes(page, '.status-line', 'Needs you: recovery is frozen for provider equinix');
  await becomes(page, '.guard-sentence', /^Recovery is frozen$/);
  await becomes(
    page,
    '.guard tr[data-scope=equinix]',
    /Provider equinix.*frozen.*2m 0\ds.*9 of 20/s,
  );
  const shown = attack.replace('\u0007', String.raw`\u{7}`);
  expect(await page.locator('.guard tr.reason').innerText()).toBe(
    `${shown}. Only a person ends it.`,
  );
  expect(await page.title()).not.toBe('owned');
  await becomes(page, '.fleet-line', /Guard frozen/);
  await done();
});

test('D2: shows a fleet of dead machines in red everywhere, and each count leads to them', async () => {
  const silent = { state: 'Running', substate: 'silent' } as const;
  const dead = ['a', 'b', 'c'].map((name) => machine(name, silent));
  const { page, done } = await show(scriptedFleet(...dead));
  await becomes(page, '.headline .figures', /^3\s*silent of 3$/);
  await becomes(page, '.fleet-line', '3 silent of 3');
  await becomes(page, '[data-provider=equinix]', '3 silent of 3');
  await becomes(page, '.tiles a[data-state=Running]', '3 silent');
  expect(await page.title()).toBe('3 silent of 3 · Shepherd');
  expect(await page.locator('.bar i[data-tone=bad]').count()).toBe(2);
  expect(await page.locator('.bar i').count()).toBe(2);
  await page.click('.fleet-line .share');
  await becomes(page, '.rows .state[data-tone=bad]', 'Running');
  expect(new URL(page.url()).search).toBe('?filter=state:Running%2Fsilent');
  await done();
});

test('V21: announces the latest state to screen readers once in five seconds, however often the fleet changes', async () => {
  const fleet = scriptedFleet(machine('a', { state: 'Running', substate: 'healthy' }));
  const { page, done } = await show(fleet);
  const spoken = page.locator('.headline .spoken');
  await becomes(page, '.headline .spoken', '1 healthy of 1');
  await page.evaluate(`(() => {
    const region = document.querySelector('.headline .spoken');
    window.toldAt = [];
    new MutationObserver(() => window.toldAt.push(performance.now()))
      .observe(region, { childList: true, characterData: true, subtree: true });
  })()`);
  let count = 1;
  const change = () => fleet.put(machine(`m${count++}`, { state: 'Running', substate: 'healthy' }));
  const changes = setInterval(change, 100);
  const beganAt = await page.evaluate<number>('performance.now()');
  await expect.poll(() => page.evaluate('window.toldAt.length'), PATIENCE).toBe(1);
  clearInterval(changes);
  const [toldAt = 0] = await page.evaluate<number[]>('window.toldAt');
  expect(toldAt - beganAt).toBeGreaterThan(4_500);
  // Of about fifty changes it announces the last, and not the first.
  expect(Number.parseInt((await spoken.textContent())!, 10)).toBeGreaterThan(20);
  await done();
});

test('draws the last hour, and describes it to screen readers', async () => {
  const { page, done } = await show(scriptedFleet(machine('a')), '', { series: seriesView() });
  const graphs = page.locator('.last-hour .graph');
  await becomes(page, '.graph [data-line=Running]', '16');
  expect(await graphs.count()).toBe(3);
  const told = graphs.first().getByRole('img');
  expect(await told.getAttribute('aria-label')).toBe(
    'Running: from 16 to 19; Recovering: from 1 to 4; Quarantined: from 1 to 2; ' +
      'silent among them: from 0 to 3',
  );
  await becomes(page, '.graph [data-line="a second"]', '6.2');
  const line = graphs.first().locator('polyline[data-name=Quarantined]');
  const points = (await line.getAttribute('points'))!.split(' ');
  expect([points.length, points[0], points.at(-1)]).toEqual([360, '0.0,94.7', '1000.0,89.5']);
  await done();
});

test('tells which machines need a person, which provider cannot be listed, and where disks may be erased', async () => {
  const attack = 'connect <b>ECONNREFUSED</b>';
  const stuck = machine('b', { state: 'Quarantined', substate: 'needsHuman', reason: attack });
  const fleet = scriptedFleet(machine('a'), stuck);
  const { page, done } = await show(fleet, '', { mayEraseDisks: ['equinix', 'rack'] });
  await becomes(page, '.needs-you .calls', '1 machine needs a person');
  await becomes(page, '.needs-you li', /equinix\/b.*connect <b>ECONNREFUSED<\/b>/s);
  await becomes(page, '.notice', 'Recovery may erase disks at equinix, rack');
  fleet.unlist([{ provider: 'metal', sinceMs: AT_MS - 60_000, cause: attack }]);
  const unlisted = '.needs-you li[data-need=unlisted]';
  await becomes(page, unlisted, /provider metal cannot be listed.*1m 0\ds.*connect <b>/s);
  await becomes(page, '.status-line', '1 machine needs a person');
  fleet.unlist([]);
  await page.locator(unlisted).waitFor({ state: 'detached' });
  fleet.set(stuck.slot, { state: 'Running', substate: 'healthy' });
  await becomes(page, '.needs-you', 'No machine needs a person');
  await becomes(page, '.status-line', 'Nothing needs you');
  await done();
});

test('explains an empty fleet, and shows machines when they appear', async () => {
  const fleet = scriptedFleet();
  const { page, done } = await show(fleet);
  await becomes(page, '.notice', 'No machines yet');
  fleet.put(machine('a'));
  await becomes(page, '.matrix', 'am6');
  await done();
});

test('V11: tells that the connection is lost and how old the data is, and connects again', async () => {
  const fleet = scriptedFleet(machine('a'), machine('b'));
  const { page, console } = await show(fleet);
  await page.evaluate('window.sameDocument = true');
  await console.close();
  await becomes(page, '.link', 'Not connected');
  await becomes(page, '.notice', /connection to Shepherd is lost.*\ds old/);
  fleet.set(machine('a').slot, { state: 'Running', substate: 'healthy' });
  await consoleOf(fleet, Number(new URL(console.url).port));
  await becomes(page, '.link', 'Live');
  await becomes(page, '.headline', /^1\s*healthy · 1\s*free of 2/);
  expect(await page.locator('.notice').count()).toBe(0);
  expect(await page.evaluate('window.sameDocument')).toBe(true);
  await page.close();
});

test('tells that the page is from another version than the daemon, until it is loaded again', async () => {
  const fleet = scriptedFleet(machine('a'));
  const { page, console } = await show(fleet, 'machines');
  await becomes(page, '.version', '9.9.9');
  expect(await page.locator('.notice').count()).toBe(0);
  await console.close();
  const { port } = new URL(console.url);
  await consoleOf(fleet, Number(port), { version: '10.0.0' });
  await becomes(page, '.notice', 'Shepherd 10.0.0 answers, but this page is from version 9.9.9');
  await page.locator('.notice button').click();
  await becomes(page, '.version', '10.0.0');
  await becomes(page, '.link', 'Live');
  expect(await page.locator('.notice').count()).toBe(0);
  expect(new URL(page.url()).pathname).toBe('/machines');
  await page.close();
});

test('names each page in its title, before the figures of the fleet', async () => {
  const { page, console, done } = await show(scriptedFleet(machine('a')));
  const titles: Record<string, string> = {
    '': '1 free of 1 · Shepherd',
    machines: 'Machines · 1 free of 1 · Shepherd',
    'machines/equinix/a': 'equinix/a · 1 free of 1 · Shepherd',
    audit: 'Audit · 1 free of 1 · Shepherd',
  };
  for (const [path, title] of Object.entries(titles)) {
    await page.goto(`${console.url}${path}`);
    await expect.poll(() => page.title(), PATIENCE).toBe(title);
  }
  await page.locator('.menu').getByText('Guard').click();
  await expect.poll(() => page.title(), PATIENCE).toBe('Guard · 1 free of 1 · Shepherd');
  await done();
});

test('shows the link to the login to a reader without a login, and to nobody else', async () => {
  const world = manned();
  const { page, console, isClean } = await show(scriptedFleet(machine('a')), '', world.more);
  await page.locator('.top').getByRole('link', { name: 'Log in' }).click();
  await becomes(page, 'h1', 'Log in to Shepherd');
  for (const way of ['shepherd ui --config FILE', 'shepherd token create', 'within ten minutes']) {
    await becomes(page, 'main', way);
  }
  expect(await page.getByLabel('Token').isVisible()).toBe(true);
  expect(await page.getByText('organisation').first().isVisible()).toBe(false);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  }
  isClean();
  await page.getByRole('link', { name: 'Look at the fleet without a login' }).click();
  await becomes(page, '.link', 'Live');
  await world.logIn(page, console.url);
  await becomes(page, '.link', 'Live');
  await page.goto(`${console.url}settings`);
  await becomes(page, '.you', 'db:ann@host');
  expect(await page.locator('.top').getByRole('link', { name: 'Log in' }).count()).toBe(0);
  await page.close();
  await browser.context.clearCookies();
});

test('shows documents legibly on a phone in both themes, with links and a way back', async () => {
  const { page, console, isClean } = await show(scriptedFleet(machine('a')));
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 390, height: 844 });
    for (const path of ['docs/', 'runbooks/need-human', 'docs/ssh']) {
      await page.goto(`${console.url}${path}`);
      expect((await new AxeBuilder({ page }).analyze()).violations, path).toEqual([]);
      const cut = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(cut, path).toBe(0);
    }
  }
  await page.goto(`${console.url}runbooks/need-human`);
  await page.waitForURL(/\/docs\/runbooks#need-human$/);
  await page.getByRole('link', { name: 'States that need you' }).click();
  await page.waitForURL(/\/docs\/operating#states-that-need-you$/);
  await page.getByRole('link', { name: 'Fleet' }).first().click();
  await becomes(page, '.link', 'Live');
  isClean();
  await page.close();
});

test('keeps the chosen theme', async () => {
  const { page, done } = await show(scriptedFleet(machine('a')));
  const background = () =>
    page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>;
  const before = await background();
  await page.selectOption('.theme select', { label: 'dark' });
  expect(await background()).not.toBe(before);
  await page.reload();
  expect(await background()).not.toBe(before);
  await page.selectOption('.theme select', { label: 'same as the system' });
  await done();
});

test('shows the pools of balancers with their members and troubles', async () => {
  const attack = `<img src=x onerror="document.title='owned'">`;
  const asked = { atMs: AT_MS - 10_000, by: 'eva', reason: 'the balancer moves' };
  const ids = Array.from({ length: 13 }, (_, at) => `m${at + 10}`);
  const fleet = scriptedFleet(machine('a'));
  const draining = member('b', { state: 'draining', sessions: 7, note: 'eva asked for a reboot' });
  fleet.pool(
    pool({ members: [member('a'), draining] }),
    pool({
      ...{ balancer: 'cloud', state: 'failed', settledAtMs: null, reason: attack },
      frozen: { atMs: AT_MS, reason: '2 of 3 active members would be dropped at once' },
      members: [member('a', { refused: true, note: 'balancer edge cannot be reached' })],
    }),
    pool({ balancer: 'third', state: 'paused', paused: asked, tornDown: asked }),
    pool({ balancer: 'many', members: ids.map((id) => member(id)) }),
  );
  const { page, done } = await show(fleet, 'balancers');
  const of = (balancer: string) => page.locator(`[data-pool="api@${balancer}"]`);
  const edge = await of('edge').innerText();
  expect(edge).toMatch(
    /api.*at edge \(haproxy\).*settled.*1 active, 1 draining; at least 1 active/s,
  );
  expect(edge).toMatch(/equinix\/b\s+draining\s.*up\s+7\s+eva asked for a reboot/s);
  const link = of('edge').getByRole('link', { name: 'equinix/b' });
  expect(await link.getAttribute('href')).toBe('/machines/equinix/b');
  const cloud = await of('cloud').innerText();
  for (const said of ['failed', 'frozen', 'not settled yet', 'active, refused', attack]) {
    expect(cloud).toContain(said);
  }
  expect(cloud).toContain('Frozen: 2 of 3 active members would be dropped at once');
  const third = await of('third').innerText();
  expect(third).toContain('Paused by eva: the balancer moves');
  expect(third).toContain('Torn down by eva: the balancer moves');
  expect(third).toContain('no members');
  const many = of('many').locator('table');
  expect(await many.isVisible()).toBe(false);
  await of('many').locator('summary').click();
  await many.waitFor();
  fleet.pool(pool({ balancer: 'many', state: 'checking', members: ids.map((id) => member(id)) }));
  await of('many').locator('summary').filter({ hasText: 'checking' }).waitFor();
  expect(await many.isVisible()).toBe(true);
  expect(await page.title()).not.toBe('owned');
  const frozen = { atMs: AT_MS, reason: 'most would be dropped' };
  fleet.pool(pool({ balancer: 'third', reason: `frozen: ${frozen.reason}`, frozen }));
  await of('third').getByText('Frozen: most would be dropped').waitFor();
  expect(await of('third').innerText(), 'said once').not.toContain('frozen: most');
  await done();
});
