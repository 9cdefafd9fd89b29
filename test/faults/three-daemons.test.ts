import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { shepherd } from '../e2e/commands.ts';
import { openThreeDaemons, OWNER, PREFIX, type ThreeDaemons } from './three-daemons.ts';

/** At default pacing each of three daemons makes a request every 6 s. */
const WAIT = { timeout: 600_000, interval: 250 };
const ALL_RUN = ['Running healthy', 'Running healthy'];

let world: ThreeDaemons;

beforeAll(async () => {
  world = await openThreeDaemons();
  const { first, daemons } = world;
  first.start();
  await vi.waitFor(async () => expect(await states(0)).toEqual(ALL_RUN), WAIT);
  await first.stop();
  for (const daemon of daemons) daemon.start();
  await everywhere(async (place) => expect(await states(place)).toEqual(ALL_RUN));
}, 2_400_000);

afterEach(() => {
  const { daemons, fake } = world;
  const warnings = daemons.map(({ warnings: tell }) => tell().slice(-5).join('\n'));
  expect(
    daemons.flatMap(({ deaths }) => deaths()),
    warnings.join('\n'),
  ).toEqual([]);
  expect(fake.requests().filter(({ method }) => method === 'DELETE')).toEqual([]);
  expect(fake.violations()).toEqual([]);
});
afterAll(() => world?.close());

interface Shown {
  readonly slot: string;
  readonly state: string;
  readonly substate: string;
}

const ask = async (place: number, path: string): Promise<unknown> =>
  (await fetch(`${world.daemons[place]!.consoleUrl}${path}`)).json();
const machines = async (place = 0) => {
  const body = await ask(place, '/api/v1/machines');
  return (body as { machines: Shown[] }).machines as [Shown, Shown];
};
const states = async (place: number) =>
  (await machines(place)).map(({ state, substate }) => `${state} ${substate}`);

/** Holds for all daemons at once, in the end. */
const everywhere = (question: (place: number) => Promise<void>) =>
  vi.waitFor(async () => {
    for (const place of world.daemons.keys()) await question(place);
  }, WAIT);

const reboots = () =>
  world.fake
    .requests()
    .filter(({ method, route }) => method === 'POST' && route === '/devices/{id}/actions');
const reboot = (slot: string) =>
  world.command('machine', 'reboot', slot, '--reason', 'a test', '--by', 'ann', '--wait', '150s');

test('A4: an operator’s reboot is sent once by three daemons at default pacing', async () => {
  const bootIds = () => world.hosts.list().map(({ bootId }) => bootId);
  const before = bootIds();
  const done = await reboot((await machines())[0].slot);
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('done: it was rebooted') });
  expect(bootIds().filter((id) => !before.includes(id))).toHaveLength(1);
  await everywhere(async (place) => expect(await states(place)).toEqual(ALL_RUN));
  expect(reboots()).toHaveLength(1);
}, 2_400_000);

test('A9: what a real BMDB knows is left alone by commands for an account', async () => {
  const { fake, command, dir, env } = world;
  const [{ slot }] = await machines();
  const { providerId } = (await ask(0, `/api/v1/machines/${slot}`)) as { providerId: string };
  const sent = fake.requests().filter(({ method }) => method !== 'GET');
  const agreed = ['--yes', '--expect-count', '2'];
  const yoink = ['--spec', 'm3.large.x86', '--metro', 'fr'];
  const target = ['--target-project', '77b20000-0000-4000-8000-000000000002'];
  for (const [verb, ...args] of [
    ['deprovision', 'delete', fake.projectId],
    ['reboot', 'reboot', fake.projectId, '--all'],
    ['reboot', 'reboot', fake.projectId, '--device', providerId],
    ['deprovision', 'yoink', '--source-project', fake.projectId, ...target, ...yoink],
  ] as const) {
    const spared = await command('equinix', ...args, ...agreed);
    expect(spared.stderr).toContain(`use shepherd machine ${verb} ${slot}`);
    expect(spared.code, spared.stderr).toBe(1);
  }
  const token = join(dir, 'token');
  writeFileSync(token, fake.tokens.user);
  chmodSync(token, 0o600);
  const access = ['--token-file', token, '--username', 'ann', '--base-url', fake.url];
  const whose = ['--prefix', PREFIX, '--owner', OWNER];
  const bare = ['equinix', 'delete', fake.projectId, ...access, ...whose, '--dry-run'];
  const told = await shepherd(bare, env).ended;
  expect(told.stderr).toContain('Without --config nobody can know');
  expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('2') });
  expect(fake.requests().filter(({ method }) => method !== 'GET')).toEqual(sent);
});

test('A6: equinix list tells of a server that never answers, and gives up', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const token = join(world.dir, 'token');
  writeFileSync(token, world.fake.tokens.user);
  chmodSync(token, 0o600);
  const access = ['--token-file', token, '--username', 'ann'];
  const where = ['--base-url', `http://127.0.0.1:${port}/metal/v1`, '--timeout', '6s'];
  const args = ['equinix', 'list', '--project', world.fake.projectId, ...access, ...where];
  const ended = await shepherd(args).ended;
  server.close();
  expect(ended.stderr).toMatch(/waiting for 4 s: http:\S+ has not answered yet/);
  expect(ended.stderr).toMatch(/gave up after 6 s: http:\S+ has not answered yet/);
  expect(ended.code).toBe(1);
});

test('A3: a pause without end is capped, told, and cleared for all daemons', async () => {
  const { fake, command } = world;
  fake.addFault({
    match: { method: 'GET', route: '/projects/{id}/devices' },
    times: 1,
    effect: { type: 'status', code: 429, headers: { 'Retry-After': '999999' } },
  });
  const status = async () => (await command('provider', 'status')).stdout;
  await vi.waitFor(async () => expect(await status()).toMatch(/throttle list/), WAIT);
  await everywhere(async (place) =>
    expect(await ask(place, '/readyz')).toHaveProperty(['checks', 'provider equinix']),
  );
  const cleared = await command('provider', 'clear', 'equinix', '--hold', 'throttle');
  expect(cleared, cleared.stderr).toMatchObject({ code: 0 });
  await listedEverywhere();
  expect(await status()).not.toMatch(/throttle/);
}, 2_400_000);

const listedEverywhere = () =>
  everywhere(async (place) => {
    expect(await ask(place, '/readyz')).not.toHaveProperty(['checks', 'provider equinix']);
    expect(await states(place)).toEqual(ALL_RUN);
  });
