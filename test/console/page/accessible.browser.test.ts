import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, expect, test } from 'vitest';
import type { Page, Route } from 'playwright-core';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import type { Episode } from '../../../src/domain/failures.ts';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import { root } from '../../repo/sources.ts';
import { daemon, daemonsView, loop } from '../daemons-script.ts';
import { AT_MS, machine, member, pool, scriptedFleet } from '../scripted-fleet.ts';
import { guardInsight } from '../scripted-guard.ts';
import { planView } from '../scripted-plan.ts';
import { providersView, troubled } from '../scripted-providers.ts';
import { manned } from './manned.ts';
import { showPage, useBrowser } from './page-scene.ts';

/** Every page of the router, also with parameters. */
const PAGES = [...readFileSync(join(root, 'web/router.tsx'), 'utf8').matchAll(/path: '\/([^']*)'/g)]
  .map(([, path]) => path!.replace('$provider', 'equinix').replace('$slot', 'c'))
  .concat('machines?filter=nobody', 'audit?kind=logins', 'audit?kind=tokens', 'audit?kind=events');

/** 1,280 px at a zoom of 400 %: the narrowest width that a page must support. */
const NARROW = { width: 320, height: 256 };
const WIDE = { width: 1280, height: 800 };

const browser = useBrowser();

const inspector = createInspection({ clock: systemClock });
afterAll(() => inspector.close());

const RECOVERY: Episode = {
  ...{ provider: providerName('equinix'), slotId: 'gone', machineId: machineId('gone') },
  ...{ location: 'x'.repeat(60), silentSinceMs: AT_MS - 600_000, beganAtMs: AT_MS - 500_000 },
  ...{ rung: 'rebooting', attempts: 1, healedAtMs: AT_MS - 60_000, endedAtMs: AT_MS },
};

/** A fleet with many problems, seen by an admin. */
function troubledFleet() {
  const all = machine('c', { state: 'Running', substate: 'silent', reason: 'x'.repeat(300) });
  const stuck = machine('b', { state: 'Quarantined', substate: 'needsHuman', reason: 'no power' });
  const fleet = scriptedFleet(machine('a'), stuck, all);
  fleet.unlist([{ provider: 'metal', sinceMs: AT_MS - 60_000, cause: 'no answer' }]);
  fleet.pool(pool({ members: [member('a')] }));
  const daemons = daemonsView([daemon()], [loop()]);
  const guard = guardInsight();
  const plan = planView();
  const records = { episodes: async () => ({ episodes: [RECOVERY], isCut: false }) } as never;
  return { fleet, more: { providers: providersView(troubled()), daemons, guard, plan, records } };
}

async function show({ isEmpty }: { readonly isEmpty: boolean }) {
  const world = manned();
  const { fleet, more } = isEmpty ? { fleet: scriptedFleet(), more: {} } : troubledFleet();
  const shown = await showPage(browser, fleet, { more: { ...world.more, ...more, inspector } });
  const { page, console } = shown;
  await world.logIn(page, console.url);
  if (!isEmpty) await fill(world);
  return { page, url: console.url, close: () => console.close() };
}

async function fill({ bmdb }: ReturnType<typeof manned>): Promise<void> {
  const grant = { role: 'operator', providers: ['equinix'] } as const;
  const token = { ...grant, id: 'abcd', digest: new Uint8Array(32), name: 'ci', owner: 'ann' };
  await bmdb.access.tokens.add({ ...token, forMs: 86_400_000 });
  const asked = { by: 'ann', reason: 'works on the switches' };
  const what = { verb: 'freeze', scope: 'fleet' } as const;
  await bmdb.requests.submit({ ...asked, key: 'one', what });
}

interface Look {
  readonly colorScheme: 'light' | 'dark';
  readonly viewport: typeof WIDE;
}
const DARK_WIDE: Look = { colorScheme: 'dark', viewport: WIDE };
const LIGHT_NARROW: Look = { colorScheme: 'light', viewport: NARROW };
const DARK_NARROW: Look = { colorScheme: 'dark', viewport: NARROW };

/** States of a page, and the looks in which each is checked. */
const STATES = {
  shown: { isEmpty: false, looks: [DARK_WIDE, LIGHT_NARROW] },
  empty: { isEmpty: true, looks: [DARK_NARROW] },
} as const;

const refuse = (route: Route) =>
  route.fulfill({
    status: 503,
    contentType: 'application/problem+json',
    json: { code: 'unavailable', title: 'Not now', status: 503, detail: 'It is away' },
  });

/** Violations on the page, and whether it is wider than the window. */
async function faultsOf(page: Page, within = 'body'): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).include(within).analyze();
  const cut = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
    ...(cut > 0 ? [`${cut} px too wide`] : []),
  ];
}

async function looks(page: Page, where: string, all: readonly Look[], within?: string) {
  const faults: string[] = [];
  for (const { colorScheme, viewport } of all) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await faultsOf(page, within);
    faults.push(...found.map((each) => `${where}, ${colorScheme} ${viewport.width}: ${each}`));
  }
  return faults;
}

test.each(Object.entries(STATES))(
  'V19, V22: finds no fault of accessibility on any page, %s, in both themes, wide, at 320 px and at 400 %%',
  async (state, { isEmpty, looks: views }) => {
    expect(PAGES.length).toBeGreaterThan(12);
    const { page, url, close } = await show({ isEmpty });
    try {
      const faults: string[] = [];
      for (const path of PAGES) {
        await page.goto(`${url}${path}`, { waitUntil: 'domcontentloaded' });
        await settled(page, state);
        faults.push(...(await looks(page, `${path} ${state}`, views)));
      }
      expect(faults).toEqual([]);
    } finally {
      await page.close();
      await close();
    }
  },
);

test('V19, V22: finds no fault of accessibility on any page while answers are late or refused', async () => {
  const { page, url, close } = await show({ isEmpty: false });
  try {
    let awaited: Route[] = [];
    let isRefused = false;
    await page.route('**/api/v1/**', (route) =>
      isRefused ? refuse(route) : void awaited.push(route),
    );
    const faults: string[] = [];
    for (const path of PAGES) {
      [awaited, isRefused] = [[], false];
      await page.goto(`${url}${path}`, { waitUntil: 'domcontentloaded' });
      await settled(page, 'awaited');
      faults.push(...(await looks(page, `${path} awaited`, [LIGHT_NARROW])));
      isRefused = true;
      await Promise.all(awaited.map(refuse));
      await settled(page, 'failed');
      faults.push(...(await looks(page, `${path} failed`, [DARK_NARROW])));
    }
    expect(faults).toEqual([]);
  } finally {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.close();
    await close();
  }
});

/** Waits until the page shows its data, that it waits, or that it failed. */
async function settled(page: Page, state: string): Promise<void> {
  await page.locator('main > *').first().waitFor();
  if (state === 'awaited') return;
  if (state === 'failed') {
    await page.locator('main :is([role=alert], .waiting, .notice, [data-chart])').first().waitFor();
    return;
  }
  await page.locator('.link', { hasText: 'Live' }).waitFor();
  await page.locator('main .waiting').first().waitFor({ state: 'detached' });
}

const PREVIEW = {
  ...{ dryRun: true, verb: 'reboot', would: 'be rebooted', count: 1, lost: 'its disks' },
  ...{ isDestroying: true, refusals: [{ reason: 'a hold', count: 1, slots: [] }] },
  ...{ waits: [{ reason: 'a permit', count: 1, slots: [] }], outcomes: [] },
};

test('V19, V20: opens and leaves every dialog by keys alone, with no fault of accessibility, and gives the focus back', async () => {
  const { page, url, close } = await show({ isEmpty: false });
  try {
    await page.route('**/requests?dryRun=true', (route) => route.fulfill({ json: PREVIEW }));
    const verbs = ['reboot', 'deprovision'].map((verb) => ({ verb, refusal: null }));
    await page.route('**/api/v1/machines/*/*/verbs', (route) => route.fulfill({ json: { verbs } }));
    const faults: string[] = [];
    const seen = new Set<string>();
    for (const path of PAGES) {
      await page.setViewportSize(WIDE);
      await page.goto(`${url}${path}`);
      await settled(page, 'shown');
      const openers = page.locator('[aria-haspopup=dialog]:enabled');
      for (const opener of await openers.all()) {
        const name = await opener.evaluate((e) => e.getAttribute('aria-label') ?? e.textContent);
        if (seen.has(name)) continue;
        seen.add(name);
        await page.setViewportSize(WIDE);
        await opener.focus();
        await page.keyboard.press('Enter');
        const dialog = page.locator('dialog[open]');
        await dialog.waitFor();
        faults.push(...(await looks(page, `${path} ${name}`, [DARK_NARROW], 'dialog[open]')));
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        const isBack = await opener.evaluate((e) => e.matches(':focus'));
        if (!isBack) faults.push(`${path} ${name}: the focus is lost`);
      }
    }
    expect(faults).toEqual([]);
    expect([...seen]).toEqual(
      expect.arrayContaining(['Go to Ctrl K', 'Reboot', 'Deprovision', 'New token']),
    );
  } finally {
    await page.close();
    await close();
  }
});
