import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { Interrupted, NoConsole } from '../../../src/commands/remote/failures.ts';
import type { RollChange } from '../../../src/adapters/bmdb/port.ts';
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

const ORDER = roll(...REBOOT, '--batch', '2', '--expect-count', '4');
const SILENT = { slot: 'metal/slot-1', why: 'it is silent' };
const SAME = { state: 'running', note: null, position: 0, nextAtMs: null, failures: [] } as const;

/** Changes the only roll at each look of the command, in turn. */
const playing = (
  s: Awaited<ReturnType<typeof open>>,
  ...changes: readonly (Partial<RollChange> | (() => unknown))[]
) => {
  let looks = 0;
  return async () => {
    const change = changes[looks];
    looks += 1;
    if (typeof change === 'function') await change();
    else await s.bmdb.rolls.step(await s.only(), { ...SAME, ...change });
  };
};

test('without a terminal, each change is a line, and the command fails with the roll', async () => {
  const s = await open();
  const sleep = playing(
    s,
    { note: 'metal/slot-1: closed' },
    { note: 'metal/slot-1: closed' },
    { position: 1, failures: [SILENT] },
    { state: 'stopped', note: 'metal/slot-1: it is silent', position: 1, failures: [SILENT] },
  );
  const told = await s.run(ORDER, { sleep });
  const { id } = await s.only();
  expect(told).toEqual({
    code: 1,
    stderr: '',
    stdout: [
      '0/4 · batch 1 of 3',
      '0/4 · batch 1 of 3: metal/slot-1: closed',
      '1/4 · batch 2 of 3 · 1 failed',
      `${id}: reboot of 1/4 machines is stopped: metal/slot-1: it is silent`,
      '    metal/slot-1: it is silent\n',
    ].join('\n'),
  });
  await s.close();
});

test('the command waits while the roll is paused, and fails when it is aborted', async () => {
  const s = await open();
  const control = (verb: 'pause' | 'abort') => async () =>
    s.bmdb.rolls.control((await s.only()).id, verb, 'bob');
  const told = await s.run(ORDER, { sleep: playing(s, control('pause'), control('abort')) });
  expect(told).toMatchObject({ code: 1, stderr: '' });
  expect(told.stdout).toMatch(
    /^0\/4 · batch 1 of 3\n0\/4 · batch 1 of 3 · paused: bob asked to pause it\n.* is aborted: bob/,
  );
  await s.close();
});

test.each(['json', 'name'])('a program that wants %s gets only the end', async (format) => {
  const s = await open();
  const sleep = playing(s, { position: 1 }, { state: 'done', position: 4 });
  const told = await s.run([...ORDER, '-o', format], { sleep });
  const { id } = await s.only();
  expect(told).toMatchObject({ code: 0, stderr: '' });
  if (format === 'name') expect(told.stdout).toBe(`${id}\n`);
  else expect(JSON.parse(told.stdout)).toMatchObject({ id, state: 'done', position: 4 });
  await s.close();
});

test('an interrupt leaves the roll going on, and says how to pause it', async () => {
  const s = await open();
  const stopping = new AbortController();
  const interrupt = () => stopping.abort(new Interrupted('SIGINT'));
  const told = await s.run(ORDER, { sleep: playing(s, interrupt), signal: stopping.signal });
  const { id, state } = await s.only();
  expect(state).toBe('running');
  expect(told.code).toBe(130);
  expect(told.stderr).toBe(
    `shepherd: the rolling action goes on without this command; pause it with "shepherd fleet roll pause ${id}"\n`,
  );
  expect(told.stdout).toMatch(/is running\n$/);
  await s.close();
});

test('the command looks again when the console comes back', async () => {
  const s = await open();
  let isAway = false;
  const away = (gone: boolean) => () => void (isAway = gone);
  const send: typeof s.transport.send = (question) =>
    isAway ? Promise.reject(new NoConsole('nothing answers there')) : s.transport.send(question);
  const end = async () => {
    isAway = false;
    await s.bmdb.rolls.step(await s.only(), { ...SAME, state: 'done', position: 4 });
  };
  const told = await s.run(ORDER, {
    transport: { ...s.transport, send },
    sleep: playing(s, away(true), away(true), end),
  });
  expect(told).toMatchObject({ code: 0, stderr: '' });
  expect(told.stdout.match(/nothing answers there/g)).toHaveLength(1);
  expect(told.stdout).toMatch(/is done\n$/);
  await s.close();
});

test('a terminal shows a bar, which goes away at the end', async () => {
  const s = await open();
  const drawn: string[] = [];
  const write = (text: string) => drawn.push(stripVTControlCharacters(text)) > 0;
  // Some terminals report no size.
  const terminal = { columns: 0, rows: 0, write } as unknown as NodeJS.WriteStream;
  const sleep = playing(
    s,
    { position: 1, note: 'metal/slot-2: \u202eclosed' },
    { position: 3, failures: [SILENT] },
    { state: 'done', position: 4, note: 'it failed on 1 machine', failures: [SILENT] },
  );
  const told = await s.run(ORDER, { sleep, terminal });
  expect(drawn).toEqual([
    '░░░░░░░░░░░░░░░░░░░░░░░░ 0/4 · batch 1 of 3\n',
    '██████░░░░░░░░░░░░░░░░░░ 1/4 · batch 2 of 3\nmetal/slot-2: \\u{202e}closed\n',
    '██████████████████░░░░░░ 3/4 · batch 3 of 3 · 1 failed\n',
    '',
  ]);
  expect(told.code).toBe(1);
  expect(told.stdout).toMatch(/^\S+: reboot of 4\/4 machines is done: it failed on 1 machine\n/);
  await s.close();
});
