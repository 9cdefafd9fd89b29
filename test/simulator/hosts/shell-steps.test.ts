import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stopAgentCommand } from '../../../src/actors/tasks/stop-agent.ts';
import { uploadSteps } from '../../../src/adapters/ssh/upload-scripts.ts';
import { CommandFailed } from '../../../src/domain/errors.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { createStand, isAlive, live, nothing } from './stand.ts';
import type { Stand } from './stand.ts';

const content = Buffer.from('the new program');
const sha256 = createHash('sha256').update(content).digest('hex');
const names = {
  directory: '/root',
  stem: '.agent.part-',
  parts: '.agent.part-0123-',
  copy: '',
  own: '.agent.part-0123-mine',
  target: '/root/agent',
  sizeBytes: content.length,
  sha256,
  mode: '755',
};
const steps = uploadSteps(names, []);

let stand: Stand;
let session: ShellSession;
let home: string;
beforeEach(async () => {
  stand = await createStand();
  session = await stand.raise('a');
  home = join(stand.snapshot('a').root, 'root');
});
afterEach(() => stand.close());
const run = async (argv: readonly string[], stdin: Buffer = nothing) =>
  (await session.execute(argv, stdin, live)).stdout.toString().trim();

test('nothing is there: none; what is written is put in place with its mode', async () => {
  expect(await run(steps.prepare)).toBe('none');
  await run(steps.write, content.subarray(0, 4));
  await run(steps.append, content.subarray(4));
  await run(steps.install);
  expect(await readdir(home)).toEqual(['agent']);
  expect(await readFile(join(home, 'agent'))).toEqual(content);
  expect((await stat(join(home, 'agent'))).mode & 0o777).toBe(0o755);
});

test('the same is there: its mode is set, and what others left is removed', async () => {
  await writeFile(join(home, 'agent'), content, { mode: 0o600 });
  await writeFile(join(home, '.agent.part-9999-old'), 'old');
  expect(await run(steps.prepare)).toBe('same');
  expect(await readdir(home)).toEqual(['agent']);
  expect((await stat(join(home, 'agent'))).mode & 0o777).toBe(0o755);
});

test('a part of the same content is told with its hash, the longest first', async () => {
  await writeFile(join(home, '.agent.part-0123-a'), content.subarray(0, 3));
  await writeFile(join(home, '.agent.part-0123-b'), content.subarray(0, 9));
  await writeFile(join(home, '.agent.part-4567-c'), content);
  const sum = createHash('sha256').update(content.subarray(0, 9)).digest('hex');
  expect(await run(steps.prepare)).toBe(`part 9 ${sum}`);
  expect(existsSync(join(home, names.own))).toBe(true);
});

test('what differs from what was sent is not put in place', async () => {
  await writeFile(join(home, 'agent'), 'the old program');
  await run(steps.write, Buffer.from('torn'));
  await expect(run(steps.install)).rejects.toBeInstanceOf(CommandFailed);
  expect(await readFile(join(home, 'agent'), 'utf8')).toBe('the old program');
});

test('an upload is resumed and skipped as on any machine', async () => {
  await writeFile(join(home, `.agent.part-${sha256.slice(0, 16)}-torn`), content.subarray(0, 5));
  const file = uploadOf(content);
  expect(await session.upload('/root/agent', file, live)).toEqual({ skipped: false });
  expect(await session.upload('/root/agent', file, live)).toEqual({ skipped: true });
  expect(await readFile(join(home, 'agent'))).toEqual(content);
});

test('no step leads out of the machine', async () => {
  await writeFile(join(stand.dir, 'secret'), 'secret');
  await symlink(stand.dir, join(home, 'up'));
  const out = uploadSteps({ ...names, own: 'up/planted' }, []);
  await expect(run(out.write, content)).rejects.toBeInstanceOf(CommandFailed);
  const above = uploadSteps({ ...names, own: '../../../planted' }, []);
  await run(above.write, content);
  expect(existsSync(join(stand.dir, 'planted'))).toBe(false);
  expect(existsSync(join(stand.dir, 'machines', 'planted'))).toBe(false);
});

test('the agent is stopped, and stopping none is no error', async () => {
  const script = Buffer.from('#!/bin/sh\nsleep 1000 < /dev/null > /dev/null 2>&1 &\n');
  await session.upload('/root/agent', uploadOf(script), live);
  await run(['/root/agent']);
  const [pid] = stand.snapshot('a').agentPids;
  await run(stopAgentCommand('/root/agent'));
  expect(isAlive(pid!)).toBe(false);
  await run(stopAgentCommand('/root/agent'));
  expect(stand.snapshot('a').seen).toMatchObject({ programs: 1, stops: 2 });
});
