import { expect, test } from 'vitest';
import { Unreachable } from '../../../src/domain/errors.ts';
import { daemon, daemonsView, loop, OTHER, SELF } from '../daemons-script.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

test('shows each daemon with its work and console, failing loops, and ended sessions', async () => {
  const { about } = daemon();
  const [gone, local] = [3, 4].map((at) => daemon().sessionId.replace(/1$/, String(at)));
  const failure = { count: 2, lastAtMs: AT_MS, cause: `<img src=x onerror="alert(1)">` };
  const daemons = daemonsView(
    [
      daemon({ work: [{ process: 'ShepherdRecovery', machines: 2 }] }),
      daemon({
        ...{ sessionId: OTHER, runtimeInfo: 'host rack2' },
        about: { ...about, version: '9.9.8', consoleUrl: 'https://two.example.org/' },
      }),
      daemon({
        ...{ sessionId: local as typeof SELF, runtimeInfo: 'host rack4' },
        about: { ...about, consoleUrl: 'javascript:alert(1)' },
      }),
      daemon({ sessionId: gone as typeof SELF, deadlineAtMs: null, endedAtMs: AT_MS - 60_000 }),
    ],
    [
      loop(),
      loop({ name: 'listing lab', lastSuccessAtMs: AT_MS - 60_000, failure }),
      loop({ name: 'provisioner rack', job: 'provisioner/rack' }),
    ],
  );
  const fleet = scriptedFleet(machine('a'));
  const shown = await showPage(browser, fleet, { path: 'daemons', more: { daemons } });
  const { page, done } = shown;
  await becomes(page, `.sessions [data-session="${SELF}"]`, /rack1.*serves this page/s);
  await becomes(page, `.sessions [data-session="${SELF}"]`, 'ShepherdRecovery on 2 machines');
  const other = page.locator(`.sessions [data-session="${OTHER}"]`);
  expect(await other.locator('a').getAttribute('href')).toBe('https://two.example.org/');
  expect(await page.locator(`[data-session="${SELF}"] a`).count()).toBe(0);
  expect(await page.locator(`[data-session="${local}"] a`).count()).toBe(0);
  await becomes(page, '.notice', 'Daemons of several versions run: 9.9.8, 9.9.9');
  await becomes(page, '.loops [data-loop=rows]', /every 5s.*OK/s);
  await becomes(page, '.loops [data-late]', /listing lab.*late.*failed 2 times.*<img src=x/s);
  await becomes(page, '[data-loop="provisioner rack"]', 'done by rack2');
  await becomes(page, `.ended [data-session="${gone}"]`, /rack1.*1m 0\ds ago/s);
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.locator('.headline').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await becomes(page, 'h1', 'Daemons');
  await done();
});

test('tells that the daemons cannot be read, and reads them again on request', async () => {
  let isAway = true;
  const view = daemonsView([daemon()]);
  const sessions = (signal: AbortSignal) =>
    isAway ? Promise.reject(new Unreachable('away')) : view.sessions(signal);
  const shown = await showPage(browser, scriptedFleet(), {
    path: 'daemons',
    more: { daemons: { ...view, sessions } },
  });
  try {
    await becomes(shown.page, '.notice', 'The database does not answer');
    isAway = false;
    await shown.page.click('.notice button');
    await becomes(shown.page, '.sessions', 'rack1');
    await becomes(shown.page, '.loops', 'This daemon runs no loops');
  } finally {
    await shown.page.close();
    await shown.console.close();
  }
});
