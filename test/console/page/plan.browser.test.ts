import { test } from 'vitest';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { planView } from '../scripted-plan.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

test('V34: the page of the plan shows what Shepherd would do and why, and shows the words of others as text only', async () => {
  const more = { plan: planView() };
  const shown = await showPage(browser, scriptedFleet(machine('a')), { path: 'plan', more });
  const { page, done } = shown;
  const work = '.work-plan';
  await becomes(
    page,
    `${work} [data-slot="equinix/a"]`,
    /silent.*restart.*in (1m|59s).*no-recover/s,
  );
  await becomes(page, work, 'and 59 more');
  await becomes(page, work, 'There is nothing to do.');
  const provider = '.provider-plan';
  await becomes(page, provider, /this daemon.*may erase.*7 of 20 machines disagree/s);
  await becomes(page, provider, /3 managed \(limit 4\).*3 free slots stay free: maxMachines/s);
  await becomes(page, `${provider} [data-slot="equinix/d"]`, /create.*it is free/s);
  await becomes(page, `${provider} [data-case=orphan]`, '<img src=x onerror="alert(1)">');
  await becomes(page, '.pool-plan', /paused by ann: maintenance.*the pool is as desired/s);
  await becomes(page, '.pool-plan [data-member]', /equinix\/a.*active → draining/s);
  await becomes(page, '.pool-plan', /Pool api at core.*Only the daemon that manages/s);
  await done();
});
