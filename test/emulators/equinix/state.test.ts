import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createStateFile } from '../../../emulators/equinix/state/state-file.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { judgedChild } from '../../published/children.ts';
import { ACTIVE_MS, clientOf, createDevice, KEY, start } from './harness.ts';

let stateFile: string;
beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'equinix-'));
  stateFile = join(directory, 'state.json');
  // The state may still be being written.
  return () => rm(directory, { recursive: true, maxRetries: 20, retryDelay: 50 });
});

test('vector 37: keeps ids, states, tokens, faults and remaining times over a restart', async () => {
  const first = await start({ stateFile });
  await clientOf(first)('POST', '/ssh-keys', { label: 'fleet', key: KEY });
  const witness = await createDevice(first, 0, { tags: ['witness'], customdata: { devices: 1 } });
  const leaving = await createDevice(first, 1);
  await first.advance(ACTIVE_MS);
  await clientOf(first)('DELETE', `/devices/${leaving}`);
  await first.advance(100_000);
  await createDevice(first, 2);
  await first.advance(40_000);
  const added = first.addFault({ match: { nth: 3 }, effect: { type: 'status', code: 503 } });
  for (const _ of [1, 2]) await clientOf(first)('GET', '/projects');
  const seq = first.requests().at(-1)!.seq;
  const seen = (fake: typeof first) => [
    ...[fake.tokens, fake.projectId, fake.devices(), fake.reservations(), fake.faults()],
  ];
  const before = seen(first);
  await first.close();
  expect(await readdir(join(stateFile, '..'))).toEqual(['state.json']);

  const dayLater = createManualClock(first.now() + 86_400_000);
  const second = await start({ stateFile, reservations: 99, clock: dayLater });
  expect(seen(second)).toEqual(before);
  expect((await clientOf(second)('GET', '/projects')).status).toBe(503);
  expect(second.requests().map((one) => one.seq)).toEqual([seq + 1]);
  expect(second.addFault({ effect: { type: 'tokenRevoked' } }).id).not.toBe(added.id);
  second.clearFaults();
  const things = () => [second.devices()[1]!.state, second.reservations()[1]!.cleaning];
  await second.advance(160_000 - 1);
  expect(things()).toEqual(['provisioning', true]);
  await second.advance(1);
  expect(things()).toEqual(['provisioning', false]);
  await second.advance(ACTIVE_MS - 200_000 - 1);
  const installing = `/devices/${second.devices()[1]!.id}`;
  const last = (await clientOf(second)('GET', installing)).body['provisioning_events']!.at(-1)!;
  expect([...things(), last['created_at']]).toEqual(['provisioning', false, null]);
  await second.advance(1);
  expect(things()).toEqual(['active', false]);
  const { body } = await clientOf(second)('GET', `/devices/${witness}`);
  expect([body['tags'], body['ssh_keys']!.length]).toEqual([['witness'], 1]);
  expect(before[2]).not.toContainEqual({ id: await createDevice(second, 3) });
  expect(second.violations()).toEqual([]);
});

test('refuses a state file of another program', async () => {
  for (const content of ['not JSON', '{"version":1}', '[]']) {
    await writeFile(stateFile, content, { mode: 0o600 });
    await expect(start({ stateFile })).rejects.toThrow(`${stateFile} is not a state file`);
  }
});

test('keeps every acknowledged create when the process is killed', async () => {
  const script = fileURLToPath(new URL('./child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, stateFile], {
    env: { ...process.env, ...judgedChild },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { url, token, projectId } = JSON.parse(line) as Record<string, string>;
  const create = async (i: number) => {
    const response = await fetch(`${url}/projects/${projectId}/devices`, {
      method: 'POST',
      headers: { 'x-auth-token': token!, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ hostname: `m-${i}`, plan: 'm3.large.x86', operating_system: 'ubuntu_22_04' },
        metro: 'fr',
      }),
    });
    return ((await response.json()) as { id: string }).id;
  };
  const acknowledged: string[] = [];
  const creates = Array.from({ length: 20 }, async (_, i) => {
    acknowledged.push(await create(i));
    if (acknowledged.length === 10) child.kill('SIGKILL');
  });
  const exited = once(child, 'exit');
  await Promise.allSettled(creates);
  await exited;

  const again = await start({ stateFile });
  const known = new Set(again.devices().map((one) => one.id));
  expect(acknowledged.length).toBeGreaterThanOrEqual(10);
  expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
  expect([again.tokens.user, again.violations()]).toEqual([token, []]);
});

test('stores a change made during a write before it acknowledges the change', async () => {
  let value = 1;
  const file = createStateFile(stateFile, () => JSON.stringify(value), silentLog);
  onTestFinished(() => file.close());
  const both = [file.save()];
  value = 2;
  file.touch();
  both.push(file.save());
  await both[1];
  expect(await readFile(stateFile, 'utf8')).toBe('2');
});
