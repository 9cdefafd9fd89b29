import { expect, test } from 'vitest';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { failureOf } from '../driver-stand.ts';
import { callOf, createStand, hashOf, orderOf, WITNESS } from './setup.ts';

/** What a look prints of a system that was installed by the usual order. */
const installedBy = (secret: string) =>
  Buffer.from(JSON.stringify({ witness: WITNESS, tags: orderOf(secret).tags })).toString('base64');

async function installedStand() {
  const stand = createStand();
  const id = await stand.installed();
  stand.world.asked.length = 0;
  const one = stand.world.machine(321);
  one.resets.length = 0;
  return { ...stand, id, one };
}

test.each([
  ['vector 9', ['sw', 'hw', 'man'], ['sw', 'hw']],
  ['vector 10', ['power', 'power_long', 'hw', 'man'], ['hw', 'hw']],
  ['a technician alone', ['man'], ['not-implemented', 'not-implemented']],
])('%s: a server with the resets %j is rebooted, and by force, by %j', async (_, types, by) => {
  const { id, one, provider, run } = await installedStand();
  one.types = types;
  const told: string[] = [];
  for (const mode of ['graceful', 'force'] as const) {
    const reboot = run(provider.rebootMachine(id, mode, callOf()));
    const kind = await reboot.catch((error: ProviderError) => error.kind);
    told.push(typeof kind === 'string' ? kind : one.resets.at(-1)!);
  }
  expect(told).toEqual(by);
});

test.each([
  [
    'vector 11: a rescue system that is armed and not ours to use',
    { armed: { keys: [], hostKey: 'AAAA' } },
    'DELETE /boot/321/rescue',
    [],
  ],
  [
    'an installation that was ordered by hand',
    { ordered: ['linux' as const] },
    'DELETE /boot/321/linux',
    [expect.stringContaining('stock installation')],
  ],
])('%s is taken back before the reset', async (_, armed, request, told) => {
  const { id, one, provider, run, world, log } = await installedStand();
  Object.assign(one, armed);
  await run(provider.rebootMachine(id, 'force', callOf()));
  const asked = world.asked.filter((what) => /^(DELETE|POST)/.test(what));
  expect(asked).toEqual([request, 'POST /reset/321 hw']);
  const messages = log.lines.map(({ message }) => message);
  expect(messages.filter((message) => message.includes('stock'))).toEqual(told);
});

test('where such a one cannot be taken back from here, nothing is reset', async () => {
  const { id, one, provider, run, world } = await installedStand();
  one.ordered = ['windows'];
  for (const mode of ['graceful', 'force'] as const) {
    const error = await failureOf(run(provider.rebootMachine(id, mode, callOf())));
    expect(error).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  }
  const error = await failureOf(run(provider.reinstallMachine(id, orderOf('s9'), callOf())));
  expect(error).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(world.count(/^(POST|DELETE)/)).toBe(0);
});

test('vector 12: a reset that failed, perhaps: one request, and nobody knows', async () => {
  const { id, one, provider, run, world } = await installedStand();
  world.lose = (what) => what.startsWith('POST /reset');
  const error = await failureOf(run(provider.rebootMachine(id, 'graceful', callOf())));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(one.resets).toEqual(['sw']);
});

test('vector 14: a server without power_long is not switched off, and nothing is pressed', async () => {
  const { id, one, provider, run } = await installedStand();
  one.types = ['sw', 'hw', 'power'];
  one.operatingStatus = 'running';
  const error = await failureOf(run(provider.setPower!(id, 'off', callOf())));
  expect(error).toMatchObject({ kind: 'not-implemented' });
  expect(one.resets).toEqual([]);
});

test('vector 15: a server that runs is not switched on by a press that would end it', async () => {
  const { id, one, provider, run } = await installedStand();
  one.types = ['power', 'power_long', 'hw'];
  one.operatingStatus = 'running';
  await run(provider.setPower!(id, 'on', callOf()));
  expect(one.resets).toEqual([]);
});

test('where Robot cannot tell whether it runs nothing is switched: unknown is not off', async () => {
  const { id, one, provider, run } = await installedStand();
  one.types = ['power', 'power_long', 'hw'];
  for (const status of ['not supported', 'starting', 'läuft', null]) {
    one.operatingStatus = status;
    for (const want of ['off', 'on'] as const) {
      const error = await failureOf(run(provider.setPower!(id, want, callOf())));
      expect(error).toMatchObject({ kind: 'not-implemented' });
    }
  }
  expect(one.resets).toEqual([]);
  const { machines } = await run(provider.listMachines({}, callOf()));
  expect(machines[0]?.power).toBe('unknown');
});

test('nothing reboots a machine that is being installed', async () => {
  const { provider, run, create, world } = createStand();
  const { id } = await run(create());
  const before = world.machine(321).resets.length;
  for (const mode of ['graceful', 'force'] as const) {
    const error = await failureOf(run(provider.rebootMachine(id!, mode, callOf())));
    expect(error).toMatchObject({ kind: 'conflict' });
  }
  expect(world.machine(321).resets).toHaveLength(before);
});

test('a machine that has just come up can be rebooted before anybody’s round has seen it', async () => {
  const { provider, run, create, world, claim } = createStand();
  const { id } = await run(create());
  const one = world.machine(321);
  one.disk = {
    hostname: 'shep-prod-321',
    hostKey: 'bmV3',
    installed: installedBy('s1'),
    secret: 's1',
  };
  one.running = { kind: 'disk', bootId: 'new', hostKey: 'bmV3', guards: new Map() };
  await run(provider.rebootMachine(id!, 'graceful', callOf()));
  expect((await claim())!['phase']).toBe('ready');
});

test('tags of ours are replaced, and others stay', async () => {
  const { id, provider, run } = await installedStand();
  const before = (await run(provider.getMachine(id, callOf()))).tags;
  await run(provider.setTags(id, { ...before, mine: 'x' }, callOf()));
  await run(provider.setTags(id, { 'shepherd-op': 'y' }, callOf()));
  const { tags } = await run(provider.getMachine(id, callOf()));
  expect(tags).toEqual({ mine: 'x', 'shepherd-op': 'y' });
  const gone = failureOf(run(provider.setTags('322-aaaaaaaa', {}, callOf())));
  expect(await gone).toMatchObject({ kind: 'not-found' });
});

test('a reinstallation: the same id, a new secret, no reset where our own system reboots by itself', async () => {
  const { id, one, provider, run, pass, claim, world } = await installedStand();
  const order = orderOf('s9');
  await run(provider.reinstallMachine(id, order, callOf()));
  expect(await claim()).toMatchObject({ phase: 'rescue', tags: { [SECRET_TAG]: hashOf('s9') } });
  expect([one.resets, world.count(/^SSH 321 reboot/)]).toEqual([[], 1]);
  await pass(800_000);
  expect(await claim()).toMatchObject({ phase: 'ready', witness: expect.any(String) });
  expect(one).toMatchObject({ installs: 2, disk: { secret: 's9' } });
  expect((await run(provider.getMachine(id, callOf()))).id).toBe(id);
});

test('the system of before, by the same name, is not taken for the one that is being installed', async () => {
  const { id, one, provider, run, pass, claim } = await installedStand();
  one.installer = 'hangs';
  await run(provider.reinstallMachine(id, orderOf('s9'), callOf()));
  await pass(300_000);
  expect((await claim())!['phase']).toBe('installing');
  const { hostKey } = one.disk!;
  one.running = { kind: 'disk', bootId: 'another', hostKey, guards: new Map() };
  await pass(130_000);
  expect((await claim())!['phase']).toBe('installing');
});

test('a reinstallation whose daemon dies is begun anew by the next order', async () => {
  const { id, one, daemon, run, pass, provider } = await installedStand();
  await run(daemon().reinstallMachine(id, orderOf('s8'), callOf()));
  await provider.stop();
  await pass(100_000);
  const next = daemon();
  await run(next.reinstallMachine(id, orderOf('s9'), callOf()));
  await run(next.listMachines({}, callOf()));
  await pass(1_500_000);
  expect(one.disk?.secret).toBe('s9');
});

test('a reinstallation that nobody goes on with is shown as what nobody knows, and a reboot leads to the disks', async () => {
  const { id, one, daemon, run, pass, provider, claim, world } = await installedStand();
  await run(provider.reinstallMachine(id, orderOf('s8'), callOf()));
  await provider.stop();
  const next = daemon();
  const status = async () => (await run(next.getMachine(id, callOf()))).status;
  expect(await status()).toBe('Provisioning');
  await run(next.listMachines({}, callOf()));
  await pass(1_000_000);
  expect(await status()).toBe('Provisioning');
  await pass(400_000);
  expect(await status()).toBe('Unknown');
  const replaced = world.count(/^record replace/);
  await pass(600_000);
  expect(world.count(/^record replace/)).toBe(replaced);
  one.armed = { keys: [], hostKey: 'AAAA' };
  await run(next.rebootMachine(id, 'graceful', callOf()));
  expect(world.count(/^DELETE \/boot\/321\/rescue/)).toBe(1);
  await run(next.reinstallMachine(id, orderOf('s9'), callOf()));
  await pass(1_500_000);
  expect([one.disk?.secret, (await claim())!['phase']]).toEqual(['s9', 'ready']);
});

test('until the rescue system is armed the old tags count', async () => {
  const { id, provider, run, world } = await installedStand();
  world.strike = (what) => {
    if (what !== 'POST /boot/321/rescue') return null;
    throw new ProviderError('transient', 'not now');
  };
  await failureOf(run(provider.reinstallMachine(id, orderOf('s9'), callOf())));
  const { tags } = await run(provider.getMachine(id, callOf()));
  expect(tags?.[SECRET_TAG]).toBe(hashOf('s1'));
});
