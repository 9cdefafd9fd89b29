import type { Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

test('/device shows who asks, warns, and confirms with the code and the role of the person', async () => {
  const { page, isClean } = await showPage(browser, scriptedFleet(machine('a')));
  const asked: Request[] = [];
  const person = {
    name: 'oidc:ann',
    role: 'operator',
    rights: ['see', 'report', 'operate'],
    providers: null,
  };
  await page.route('**/api/v1/whoami', (route) =>
    route.fulfill({ json: { ...person, via: 'cookie', proven: true } }),
  );
  await page.route('**/api/v1/device-logins', (route) => {
    asked.push(route.request());
    const json = { host: 'laptop <b>of</b> ann', address: '192.0.2.7', createdAtMs: AT_MS };
    return route.fulfill({ json });
  });
  await page.goto(new URL('/device', page.url()).href);
  await becomes(page, 'h1', 'Log in a terminal');
  await page.fill('.device input[name=code]', 'wdjb-mjht');
  await page.click('.device button.act');
  await becomes(page, '.device dl', /laptop <b>of<\/b> ann.*192\.0\.2\.7/s);
  await becomes(page, '.device .notice', 'Confirm only if you started this login yourself');
  await page.selectOption('.device select', 'viewer');
  await page.click('.device button.act');
  await becomes(page, '.device [role=status]', 'Confirmed');
  expect(asked.map((each) => each.postDataJSON() as object)).toEqual([
    { code: 'wdjb-mjht', decision: 'look' },
    { code: 'wdjb-mjht', decision: 'confirm', role: 'viewer' },
  ]);
  isClean();
});
