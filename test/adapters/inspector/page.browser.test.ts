import { afterEach, expect, test } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import { startInspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import type { InspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { withBrowser } from '../../support/browser.ts';

/** Does what the real one does first: says that it listens, and takes what it is sent. */
const STATELY_STAND_IN = `<!doctype html><script>
  const taken = [];
  addEventListener('message', ({ data }) => {
    taken.push(data.type + ' ' + data.sessionId);
    document.title = String(taken.length);
    const line = document.createElement('p');
    line.textContent = data.type + ' ' + (data.name ?? data.snapshot?.value ?? data.event?.type);
    document.body.append(line);
  });
  parent.postMessage({ type: '@statelyai.connected' }, '*');
</script><body></body>`;

const child = createMachine({
  id: 'lifecycle',
  initial: 'Reserved',
  states: { Reserved: { on: { go: 'Running' } }, Running: {} },
});
const cell = createMachine({
  id: 'cell',
  invoke: { id: 'equinix/<b>1</b>', src: child },
  initial: 'open',
  states: { open: {} },
});

let relay: InspectorRelay | null = null;
afterEach(async () => {
  await relay?.close();
  relay = null;
});

test('the page lists actors live, and hands them to the Stately inspector when asked', async () => {
  const inspection = createInspection({ clock: systemClock });
  const options = { host: '127.0.0.1', port: 0, log: silentLog } as const;
  relay = await startInspectorRelay({ ...options, inspector: inspection });
  const { url } = relay;
  const { inspect } = inspection;
  const actor = createActor(cell, { id: 'cell-0', inspect }).start();
  const other = createActor(cell, { id: 'cell-5', inspect }).start();
  await withBrowser(async ({ page, complaints }) => {
    const asked: string[] = [];
    await page.route(/^https:/, (route) => {
      asked.push(route.request().url());
      return route.fulfill({ contentType: 'text/html', body: STATELY_STAND_IN });
    });
    await page.goto(url);
    const line = page.locator('#list li').filter({ hasText: 'equinix/<b>1</b>' });
    await line.filter({ hasText: 'Reserved' }).waitFor();
    await line.getByRole('button').click();
    Object.values(actor.getSnapshot().children)[0]!.send({ type: 'go' });
    await line.filter({ hasText: 'Running' }).waitFor();
    await page.locator('#events li').filter({ hasText: 'go' }).waitFor();
    expect(asked).toEqual([]);
    await page.click('#tab-stately');
    expect(asked).toEqual([]);
    await page.click('#open');
    const stately = page.frameLocator('iframe');
    await stately.getByText('@xstate.actor cell-0').waitFor();
    await stately.getByText('@xstate.snapshot Running').waitFor();
    expect(asked).toEqual(['https://stately.ai/inspect']);
    await page.fill('#slot', 'equinix/<b>1</b>');
    await page.getByRole('button', { name: 'Look' }).click();
    await page.waitForURL(/\?slot=equinix%2F%3Cb%3E1/);
    await page.locator('#list li').nth(1).filter({ hasText: 'Reserved' }).waitFor();
    expect(await page.locator('#list li').filter({ hasText: 'cell-' }).count()).toBe(0);
    expect(await page.locator('#missing').isVisible()).toBe(false);
    await page.goto(`${url}?slot=equinix/none`);
    await page.locator('#missing').waitFor();
    expect(complaints).toEqual([]);
  });
  actor.stop();
  other.stop();
  inspection.close();
});
