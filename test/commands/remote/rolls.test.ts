import { expect, test } from 'vitest';
import type { Roll } from '../../../src/commands/remote/answers.ts';
import { progressText } from '../../../src/commands/remote/rolls.ts';
import { SIGNAL } from '../../contracts/bmdb-stage.ts';
import { commandStand } from '../shown.ts';

const roll = (...more: readonly string[]) => ['fleet', 'roll', ...more];
const WHY = ['--reason', 'new kernel'];
const REBOOT = ['--action', 'reboot', '--filter', 'provider:metal', ...WHY];

async function open() {
  const stand = await commandStand();
  for (const at of [1, 2, 3, 4]) stand.add(at);
  const rolls = () => stand.bmdb.rolls.list({ limit: 10 }, SIGNAL);
  const only = async () => (await rolls())[0]!;
  return { ...stand, rolls, only };
}

test('a plan shows the batches and asks for nothing', async () => {
  const s = await open();
  const told = await s.run(roll(...REBOOT, '--batch', '50%', '--dry-run'));
  expect(told).toMatchObject({ code: 0, stderr: '' });
  await expect(told.stdout).toMatchFileSnapshot('golden/roll-plan.txt');
  const erasing = ['--action', 'reinstall', '--filter', 'provider:metal', ...WHY];
  const plan = await s.run(roll(...erasing, '--expect-count', '4'));
  expect(plan.stdout).toMatch(/nothing was done; confirm with --yes\n$/);
  expect(await s.rolls()).toEqual([]);
  await s.close();
});

test('the machines must be counted, and an empty filter chooses none', async () => {
  const s = await open();
  const failed = async (...args: readonly string[]) => (await s.run(roll(...args))).stderr;
  expect(await failed(...REBOOT)).toMatch(/4 machines are selected; confirm with expectCount 4/);
  expect(await failed(...REBOOT, '--expect-count', '3')).toMatch(/not 3 as expectCount says/);
  const none = ['--action', 'reboot', ...WHY];
  expect(await failed(...none, '--filter', '')).toMatch(/filter: it is empty/);
  expect(await failed(...none, '--filter', 'provider:moon')).toMatch(/it matches no machine/);
  expect(await failed(...REBOOT, '--batch', 'some', '--expect-count', '4')).toMatch(/batch: give/);
  expect(await s.rolls()).toEqual([]);
  await s.close();
});

test('a roll begins, is listed, pauses, goes on and is aborted', async () => {
  const s = await open();
  const more = ['--batch', '3', '--pause', '5m', '--no-drain', '--no-stop-on-failure'];
  const begun = await s.run(roll(...REBOOT, ...more, '--expect-count', '4', '--no-wait'));
  const { id, ...row } = await s.only();
  expect(begun).toMatchObject({
    ...{ code: 0, stderr: '', stdout: `${id}: reboot of 0/4 machines is running\n` },
  });
  expect(row).toMatchObject({
    ...{ action: 'reboot', drain: 'skip', canary: 1, batch: 3, pauseMs: 300_000 },
    ...{ stopOnFailure: false, by: 'token:ann', role: 'admin', reason: 'new kernel' },
  });
  expect(row.slots.map(({ slotId }) => slotId)).toEqual(['slot-1', 'slot-2', 'slot-3', 'slot-4']);
  expect((await s.run(['fleet', 'rolls'])).stdout).toContain('token:ann');
  const asked = async (verb: string) => (await s.run(roll(verb, id))).stdout.trim();
  expect(await asked('pause')).toMatch(/is paused: token:ann asked to pause it$/);
  expect((await s.run(roll('pause', id))).stderr).toMatch(/It is paused already/);
  expect(await asked('resume')).toMatch(/is running/);
  expect(await asked('abort')).toMatch(/is aborted/);
  expect((await s.only()).state).toBe('aborted');
  await s.close();
});

test('the command follows the roll to its end, and fails with it', async () => {
  const s = await open();
  let looks = 0;
  const sleep = async () => {
    looks += 1;
    if (looks < 3) return;
    const why = { slot: 'metal/slot-1', why: 'it is silent' };
    const end = { state: 'stopped', note: 'metal/slot-1: it is silent', nextAtMs: null } as const;
    await s.bmdb.rolls.step(await s.only(), { ...end, position: 0, failures: [why] });
  };
  const told = await s.run(roll(...REBOOT, '--expect-count', '4'), { sleep });
  expect(told).toMatchObject({ code: 1 });
  expect(told.stdout).toMatch(/is stopped: metal\/slot-1: it is silent\n {4}metal\/slot-1: it is/);
  await s.close();
});

test('a terminal shows a bar', () => {
  const at = { position: 1, count: 4, note: 'metal/a: closed' } as Roll;
  expect(progressText(at)).toBe('██████░░░░░░░░░░░░░░░░░░ 1/4\nmetal/a: closed');
});
