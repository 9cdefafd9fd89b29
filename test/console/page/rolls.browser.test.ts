import { AxeBuilder } from '@axe-core/playwright';
import { expect, test } from 'vitest';
import type { RollChange } from '../../../src/adapters/bmdb/port.ts';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import type { Role } from '../../../src/domain/access.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { manned } from './manned.ts';
import { becomes, showPage, useBrowser } from './page-scene.ts';

const browser = useBrowser();

const SLOTS = ['a', 'b', 'c', 'd'].map((slotId) => ({
  provider: providerName('equinix'),
  slotId,
  machineId: machineId('00000000-0000-4000-8000-000000000001'),
}));
const SAME = { state: 'running', note: null, position: 0, nextAtMs: null, failures: [] } as const;
const idOf = (at: number) => `00000000-0000-4000-8000-00000000000${at}`;

/** The page of a console with rolls of four machines, seen by a person with this role. */
async function open(role: Role = 'admin') {
  const { bmdb, more, logIn } = manned();
  const begin = (at: number, action: 'reboot' | 'reinstall' = 'reboot') =>
    bmdb.rolls.create({
      ...{ id: idOf(at), action, drain: null, filter: 'provider:equinix', slots: SLOTS },
      ...{ canary: 1, batch: 2, pauseMs: 600_000, stopOnFailure: true },
      ...{ by: 'ann', role: 'admin', proven: true, reason: '<b>new kernel</b>' },
    });
  const step = async (at: number, change: Partial<RollChange>) => {
    const roll = (await bmdb.rolls.read(idOf(at)))!;
    await bmdb.rolls.step(roll, { ...SAME, ...change });
  };
  const fleet = scriptedFleet(machine('a'));
  const shown = await showPage(browser, fleet, { more: { ...more, rolls: bmdb.rolls } });
  const enter = () => logIn(shown.page, shown.console.url, role);
  const li = (at: number) => `[data-roll="${idOf(at)}"]`;
  const buttons = (at: number) => shown.page.locator(`${li(at)} button`).allInnerTexts();
  return { ...shown, bmdb, begin, step, enter, li, buttons };
}

test('shows how far a roll is, what it waits for, who asked for it and why', async () => {
  const { page, begin, step, enter, li, done } = await open();
  await begin(1);
  await step(1, { position: 1, note: 'equinix/b: the window opens later' });
  await enter();
  await becomes(page, li(1), /running.*reboot of 4 machines provider:equinix/);
  await becomes(page, li(1), /1 of 4 · batch 2 of 3.*equinix\/b: the window opens later/);
  await becomes(page, li(1), /ann, .* ago: <b>new kernel<\/b>/);
  await page.locator(`${li(1)} progress[value="1"][max="4"]`).waitFor();
  expect((await new AxeBuilder({ page }).include('.rolls').analyze()).violations).toEqual([]);
  await step(1, { position: 3, nextAtMs: AT_MS + 3_600_000 });
  await becomes(page, li(1), /3 of 4 · batch 3 of 3.*The next batch begins in 5\dm/);
  await done();
});

test('shows on which machines a roll failed, and unfolds older rolls', async () => {
  const { page, begin, step, enter, li, done } = await open();
  for (const at of [1, 2, 3, 4]) await begin(at);
  const failures = [{ slot: 'equinix/a', why: 'it is silent' }];
  for (const at of [1, 2, 3])
    await step(at, { state: 'stopped', note: 'equinix/a: it is silent', failures });
  await enter();
  await becomes(page, li(3), /stopped.*0 of 4 · 1 failed.*equinix\/a it is silent.*ann/s);
  expect(await page.locator('.rolls > ul > li').count()).toBe(3);
  expect(await page.locator(li(1)).isVisible()).toBe(false);
  await page.getByText('1 older').click();
  await page.locator(li(1)).waitFor();
  await page.locator(`${li(3)} .failures a`).click();
  await page.waitForURL('**/machines/equinix/a');
  await done();
});

test('pauses, resumes and aborts a roll after a confirmation', async () => {
  const { page, bmdb, begin, enter, li, buttons, done } = await open();
  await begin(1);
  await enter();
  const state = async () => (await bmdb.rolls.read(idOf(1)))!.state;
  const ask = async (label: string) => {
    await page.locator(`${li(1)} button`, { hasText: label }).click();
    const command = `shepherd fleet roll ${label.toLowerCase()} ${idOf(1)}`;
    await becomes(page, 'dialog .command code', command);
  };
  const confirm = async (label: string) => {
    await ask(label);
    await page.locator('dialog .act').click();
  };
  await ask('Pause');
  await page.locator('dialog button', { hasText: 'Cancel' }).click();
  expect(await state()).toBe('running');
  await confirm('Pause');
  await becomes(page, li(1), /paused.*db:ann@host asked to pause it/s);
  expect(await buttons(1)).toEqual(['Resume', 'Abort']);
  await confirm('Resume');
  await becomes(page, li(1), /running/);
  await ask('Abort');
  await becomes(page, 'dialog', /Abort the reboot of 4 machines.*cannot be resumed/s);
  await page.locator('dialog .act').click();
  await becomes(page, li(1), /aborted/);
  expect(await state()).toBe('aborted');
  expect(await buttons(1)).toEqual([]);
  await done();
});

test('offers each person only what they may do, and is hidden before the first roll', async () => {
  const { page, begin, enter, li, buttons, done } = await open('operator');
  await enter();
  await becomes(page, '.last-hour', /Last hour/);
  expect(await page.locator('.rolls').count()).toBe(0);
  await begin(1, 'reinstall');
  await begin(2);
  await page.reload();
  await becomes(page, li(2), /running/);
  expect(await buttons(2)).toEqual(['Pause', 'Abort']);
  expect(await buttons(1)).toEqual([]);
  await done();
});
