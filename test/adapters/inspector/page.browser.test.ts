import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import { startInspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { withBrowser } from '../../support/browser.ts';
import { FIRST, startCast } from './cast.ts';

/** Starts like the real page: reports that it listens, and accepts messages. */
const STATELY_STAND_IN = `<!doctype html><script>
  addEventListener('message', ({ data }) => {
    const line = document.createElement('p');
    line.textContent = data.type + ' ' + (data.name ?? data.event?.type);
    document.body.append(line);
  });
  parent.postMessage({ type: '@statelyai.connected' }, '*');
</script><body></body>`;

test('hands the chosen machine to the Stately inspector once a person agrees', async () => {
  const inspection = createInspection({ clock: systemClock });
  const options = { host: '127.0.0.1', port: 0, log: silentLog } as const;
  const relay = await startInspectorRelay({ ...options, inspector: inspection });
  const cast = startCast(inspection, systemClock);
  await withBrowser(async ({ page, complaints }) => {
    const asked: string[] = [];
    await page.route(/^https:/, (route) => {
      asked.push(route.request().url());
      return route.fulfill({ contentType: 'text/html', body: STATELY_STAND_IN });
    });
    await page.goto(`${relay.url}?slot=${encodeURIComponent(FIRST)}`);
    const button = page.getByRole('button', { name: 'Open the Stately inspector' });
    await button.waitFor();
    expect(asked).toEqual([]);
    await button.click();
    const stately = page.frameLocator('iframe');
    await stately.getByText(`@xstate.actor ${FIRST}`).waitFor();
    cast.first.send({ type: 'noise' });
    await stately.getByText('@xstate.event noise').waitFor();
    expect(await stately.getByText('@xstate.actor fleet').count()).toBe(0);
    expect(await page.getByRole('status').innerText()).toBe('Live');
    expect(asked).toEqual(['https://stately.ai/inspect']);
    await relay.close();
    await page.getByRole('status').filter({ hasText: 'The daemon has ended' }).waitFor();
    expect(complaints).toEqual([]);
  });
  cast.stop();
  inspection.close();
});
