import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { PLAIN_ORDER } from '../../../emulators/equinix/state/device-order.ts';
import { createStateFile } from '../../../emulators/equinix/state/state-file.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { judgedChild } from '../../published/children.ts';
import { ACTIVE_MS, adminOf, clientOf, createDevice, createOn, KEY, start } from './harness.ts';

let stateFile: string;
beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fakequinix-'));
  stateFile = join(directory, 'state.json');
  // A write of the state may still be under way.
  return () => rm(directory, { recursive: true, maxRetries: 20, retryDelay: 50 });
});

test('vector 37: a restart keeps ids, states, tokens, faults and what is left to wait', async () => {
  const first = await start({ stateFile });
  await clientOf(first)('POST', '/ssh-keys', { label: 'fleet', key: KEY });
  const ending = { tags: ['witness'], termination_time: '2026-08-01T11:00:00Z' };
  const witness = await createDevice(first, 0, ending);
  const leaving = await createDevice(first, 1);
  await first.advance(ACTIVE_MS);
  await clientOf(first)('DELETE', `/devices/${leaving}`);
  await first.advance(100_000);
  await createDevice(first, 2);
  await first.advance(40_000);
  const added = first.addFault({ match: { nth: 3 }, effect: { type: 'status', code: 503 } });
  for (const _ of [1, 2]) await clientOf(first)('GET', '/user');
  const seq = first.requests().at(-1)!.seq;
  const seen = async (fake: typeof first) => [
    [fake.tokens, fake.projectId, fake.devices(), fake.reservations(), fake.faults()],
    (await adminOf(fake)('GET', '/state')).body['timers'],
  ];
  const before = await seen(first);
  await first.close();
  expect(await readdir(join(stateFile, '..'))).toEqual(['state.json']);

  const second = await start({ stateFile, reservations: 99 });
  expect(await seen(second)).toEqual(before);
  expect((await clientOf(second)('GET', '/user')).status).toBe(503);
  expect(second.requests().map((one) => one.seq)).toEqual([seq + 1]);
  expect(second.addFault({ effect: { type: 'stuck' } }).id).not.toBe(added.id);
  second.clearFaults();
  const things = () => [second.devices()[1]!.state, second.reservations()[1]!.cleaning];
  await second.advance(160_000 - 1);
  expect(things()).toEqual(['provisioning', true]);
  await second.advance(1);
  expect(things()).toEqual(['provisioning', false]);
  await second.advance(ACTIVE_MS - 200_000);
  expect(things()).toEqual(['active', false]);
  const { body } = await clientOf(second)('GET', `/devices/${witness}`);
  expect([body['tags'], body['ssh_keys']!.length]).toEqual([['witness'], 1]);
  await second.advance(3_600_000);
  expect(second.devices().map(({ state }) => state)).toEqual(['active']);
  expect(first.devices().map(({ id }) => id)).not.toContain(await createDevice(second, 3));
  expect(second.violations()).toEqual([]);
});

test('vector 37: on the real clock all waits stand still while it is away, but a termination', async () => {
  const startMs = Date.parse('2026-08-01T10:00:00Z');
  const begin = createManualClock(startMs);
  const first = await start({ stateFile, clock: begin });
  await createDevice(first, 0, { termination_time: '2026-08-01T11:00:00Z' });
  await createDevice(first, 1);
  while (begin.stepTowards(startMs + 100_000));
  await first.close();
  const dayMs = 86_400_000;
  const later = createManualClock(startMs + dayMs);
  const second = await start({ stateFile, clock: later });
  const states = [0, 144, 145].map((seconds) => {
    while (later.stepTowards(startMs + dayMs + seconds * 1_000));
    return second.devices().map(({ state }) => state);
  });
  expect(states).toEqual([['deprovisioning', 'provisioning'], ['provisioning'], ['active']]);
});

test('never shows an earlier time than before, whatever the clock says', async () => {
  const first = await start({ stateFile, clock: createManualClock(1_800_000_000_000) });
  await createDevice(first);
  await first.close();
  const second = await start({ stateFile, clock: createManualClock(1_000_000_000_000) });
  await createDevice(second, 1);
  const [early, late] = second.devices();
  expect(late!.createdAtMs).toBeGreaterThanOrEqual(early!.createdAtMs);
});

test('reads a file of an earlier release, whose devices have plain orders', async () => {
  const first = await start({ stateFile });
  const id = await createDevice(first);
  await first.close();
  const state = JSON.parse(await readFile(stateFile, 'utf8')) as { devices: object[] };
  state.devices = state.devices.map((device) =>
    Object.fromEntries(Object.entries(device).filter(([name]) => !(name in PLAIN_ORDER))),
  );
  await writeFile(stateFile, JSON.stringify(state), { mode: 0o600 });
  const second = await start({ stateFile });
  await second.advance(30_000);
  const { body } = await clientOf(second)('GET', `/devices/${id}`);
  expect(body).toMatchObject({ billing_cycle: 'hourly', network_frozen: false });
  expect(body['ip_addresses']).toHaveLength(3);
});

test('refuses a file of something else', async () => {
  for (const content of ['not JSON', '{"version":99}', '[]']) {
    await writeFile(stateFile, content);
    await expect(start({ stateFile })).rejects.toThrow(stateFile);
  }
});

test('holds every acknowledged create when the process is killed', async () => {
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
        hardware_reservation_id: 'next-available',
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

test('writes a small state with each change, and a large one when a pause or the end comes', async () => {
  for (const [smallMaxLength, gapMs, atOnce] of [
    [1_000, 3_600_000, true],
    [0, 3_600_000, false],
    [0, 20, false],
  ] as const) {
    let [value, writes] = [0, 0];
    const text = () => ((writes += 1), `{"value":${value}}`);
    const file = createStateFile(stateFile, text, silentLog, { smallMaxLength, gapMs });
    onTestFinished(() => file.close());
    const stored = async () =>
      (JSON.parse(await readFile(stateFile, 'utf8')) as { value: number }).value;
    for (value = 1; value <= 50; value += 1) {
      file.touch();
      await file.save();
      if (atOnce || value === 1) expect(await stored()).toBe(value);
    }
    value = 50;
    if (gapMs === 20) await expect.poll(stored).toBe(50);
    await file.close();
    expect(await stored()).toBe(50);
    expect(writes < 50).toBe(!atOnce);
  }
  expect(await readdir(join(stateFile, '..'))).toEqual(['state.json']);
});

/** Everything that clients and observers see of a busy life. */
async function life(seed: number): Promise<string> {
  const fake = await start({ seed, knobs: { shuffleUnsorted: true } });
  const call = clientOf(fake);
  const seen: unknown[] = [fake.projectId];
  fake.addFault({ match: { probability: 0.3 }, effect: { type: 'status', code: 503 } });
  fake.addFault({ match: { every: 4 }, effect: { type: 'unstablePages', mode: 'duplicate' } });
  const race = { type: 'race', when: 'betweenCheckAndCreate' } as const;
  fake.addFault({ match: { every: 3 }, times: 9, effect: race });
  for (let i = 0; i < 30; i++) {
    const path = `/projects/${fake.projectId}/devices`;
    seen.push((await call('POST', path, createOn(fake, i % 6))).body);
    seen.push((await call('GET', `/projects/${fake.projectId}/hardware-reservations`)).body);
    await fake.advance(20_000);
  }
  seen.push(fake.devices(), fake.requests(), await adminOf(fake)('GET', '/state'));
  expect(fake.violations()).toEqual([]);
  // What lets somebody in is random always.
  return JSON.stringify(seen).replaceAll(/"root_password":"\w+"/g, '');
}

test('gives the same answers for the same seed, clock and requests, and others for another', async () => {
  const [one, again, other] = [await life(5), await life(5), await life(6)];
  expect(again).toBe(one);
  expect(other).not.toBe(one);
});
