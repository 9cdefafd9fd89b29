import { expect, test } from 'vitest';
import { providerName } from '../../../src/domain/ids.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { manned } from './manned.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

test('lists open cases, and shows one with its evidence, which a person notes and closes', async () => {
  const { bmdb, more, logIn } = manned();
  const place = { provider: providerName('equinix'), slotId: 'a' };
  await bmdb.cases.addLine({
    ...{ ...place, kind: 'evidence-before', author: 'shepherd' },
    text: '$ uptime\n<img src=x onerror="alert(1)">',
  });
  const opened = { ...place, machineId: null, title: 'all was tried', by: 'shepherd' };
  const { caseId } = (await bmdb.cases.open(opened))!;
  const shown = await showPage(browser, scriptedFleet(machine('a')), {
    more: { ...more, cases: bmdb.cases },
  });
  const { page, done } = shown;
  const { url } = shown.console;
  await logIn(page, url);
  await page.locator('nav a[href="/cases"]').click();
  await becomes(page, `[data-case="${caseId}"]`, /a.*all was tried/s);
  await page.locator(`[data-case="${caseId}"] a`).first().click();
  await becomes(page, 'h1', `Case ${caseId}`);
  await becomes(page, '.evidence-before pre', /uptime.*<img src=x/s);
  const send = async (label: string, text: string, button: string) => {
    await page.getByLabel(label, { exact: true }).fill(text);
    await page.getByRole('button', { name: button }).click();
  };
  await send('Note', 'a new disk comes', 'Add the note');
  await becomes(page, '.note pre', 'a new disk comes');
  await send('Address of a ticket', 'https://tickets.example/7', 'Set the ticket');
  await becomes(page, '.facts', /https:\/\/tickets\.example\/7/);
  await send('Outcome', 'new disk', 'Close the case');
  await becomes(page, '.facts', /new disk/);
  expect(bmdb.tables.cases).toMatchObject([{ outcome: 'new disk', closedBy: 'db:ann@host' }]);
  await page.goto(`${url}cases`);
  await becomes(page, 'main', /No case is open/);
  await done();
});
