import { expect, test } from 'vitest';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { md5OfLine } from '../../../../src/adapters/provider/hetzner-robot/systems.ts';
import { failureOf } from '../driver-stand.ts';
import {
  callOf,
  createStand,
  hashOf,
  orderOf,
  OTHER_WITNESS,
  OUR_NAME,
  PUBLIC_KEY,
  WITNESS,
} from './setup.ts';
import { dyingAt } from '../../../doubles/life.ts';

test('a creation: claim, name, rescue, reset, installation; then the machine is ours', async () => {
  const { world, provider, run, create, pass, claim } = createStand();
  const machine = await run(create());
  expect(machine).toMatchObject({
    id: expect.stringMatching(/^321-[a-z2-7]{8}$/),
    reservationId: '321',
    availability: 'KnownUsed',
    status: 'Provisioning',
    tags: { [SECRET_TAG]: hashOf('s1') },
  });
  const changing = world.asked.filter((what) => !/^(GET|record replace|SSH .* look)/.test(what));
  expect(changing).toEqual([
    'record make 321',
    `POST /server/321 ${OUR_NAME}`,
    'POST /key',
    'POST /boot/321/rescue',
    'POST /reset/321 sw',
    'SSH 321 install',
  ]);
  await pass(400_000);
  expect(await claim()).toMatchObject({ phase: 'ready', tags: { [SECRET_TAG]: hashOf('s1') } });
  expect(world.machine(321)).toMatchObject({ installs: 1, disk: { secret: 's1' } });
  await provider.stop();
});

test('vector 16: the answer to the rename is lost; a look shows our name, and it is sent once', async () => {
  const { world, run, create } = createStand();
  world.lose = (what) => what.startsWith('POST /server/321');
  await run(create());
  expect(world.count(/^POST \/server/)).toBe(1);
  expect(world.machine(321).server.name).toBe(OUR_NAME);
});

test("vector 17: a stranger's name after our rename: the race is lost, and nothing is reset", async () => {
  const { world, run, create, claim } = createStand();
  world.strike = (what) => {
    if (!what.startsWith('POST /server/321')) return null;
    const one = world.machine(321);
    return (one.server = { ...one.server, name: 'other-set-1' });
  };
  const error = await failureOf(run(create()));
  expect(error).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect(await claim()).toBeUndefined();
  expect(world.machine(321).resets).toEqual([]);
});

test('after an installation was begun, too, a rescue system is held to its key', async () => {
  const { world, run, daemon, pass } = createStand();
  const life = dyingAt(Infinity, 'before');
  world.strike = (what) => {
    if (what === 'record replace 321' && world.count(/^SSH 321 install/) > 0) life.isDead = true;
    return null;
  };
  void daemon(life)
    .createMachine(orderOf('s1'), callOf())
    .catch(() => undefined);
  for (let n = 0; n < 60 && !life.isDead; n++) await pass(10_000);
  world.strike = null;
  const one = world.machine(321);
  one.running = { ...one.running!, hostKey: 'c3RyYW5nZXI=', guards: new Map() };
  await run(daemon().createMachine(orderOf('s2', { resumed: true }), callOf()));
  expect(one.resets).toEqual(['sw', 'hw']);
});

test('vector 21: the rescue system never answers: the button twice, and nobody knows', async () => {
  const { world, run, create } = createStand();
  world.machine(321).boots = 'nothing';
  const error = await failureOf(run(create()));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(world.machine(321).resets).toEqual(['sw', 'hw', 'hw']);
});

test('where the server boots its disks in spite of all, it is sent there again after a minute', async () => {
  const { world, run, create, clock } = createStand();
  const one = world.machine(321);
  one.disk = { ...one.disk!, isClosed: false };
  one.boots = 'disk';
  world.strike = (what) => {
    if (what === 'POST /reset/321 hw') one.boots = 'as armed';
    return null;
  };
  const startedMs = clock.now();
  await run(create());
  expect(one.resets).toEqual(['sw', 'hw']);
  expect(clock.now() - startedMs).toBeLessThan(500_000);
});

test('vector 22: another host key than Robot told: nothing is run, and it is a conflict', async () => {
  const { world, run, create, log } = createStand();
  world.machine(321).tells = 'wrong';
  const error = await failureOf(run(create()));
  expect(error).toMatchObject({ kind: 'conflict' });
  expect([world.count(/^SSH/), world.looks]).toEqual([0, 1]);
  expect(log.lines.some(({ fields }) => fields['alarm'] === 'rescue-host-key')).toBe(true);
});

test('a disk that boots in spite of the rescue system is no false key, whatever Robot says is armed', async () => {
  const { world, run, create, log } = createStand();
  const one = world.machine(321);
  one.disk = { ...one.disk!, isClosed: false };
  one.boots = 'disk';
  world.strike = (what) => {
    if (what === 'GET /boot/321/rescue') one.armed = null;
    if (what === 'POST /reset/321 hw' && one.resets.length === 2) one.boots = 'as armed';
    return null;
  };
  await run(create());
  expect(one.resets).toEqual(['sw', 'hw', 'hw']);
  expect(log.lines.filter(({ fields }) => fields['alarm'] === 'rescue-host-key')).toEqual([]);
});

test('where Robot tells no host key, the one that is shown is taken, and logged', async () => {
  const { world, run, create, log } = createStand();
  world.machine(321).tells = 'nothing';
  await run(create());
  expect(log.lines.some(({ message }) => message.startsWith('Robot told no host key'))).toBe(true);
});

test('vector 23: an installation without the marker: failed, no reboot, the log is told', async () => {
  const { world, provider, run, create, pass, claim, log } = createStand();
  world.machine(321).installer = 'fails';
  await run(create());
  await pass(200_000);
  expect(await claim()).toMatchObject({ phase: 'failed' });
  expect(world.machine(321).resets).toEqual(['sw']);
  const alarm = log.lines.find(({ fields }) => fields['alarm'] === 'installation-failed');
  expect(alarm?.fields['lines']).toContain('it went wrong');
  const { machines } = await run(provider.listMachines({}, callOf()));
  expect(machines).toMatchObject([{ failed: true, status: 'ProvisioningFailedPermanent' }]);
});

test('an installation that never ends has failed when its time is over', async () => {
  const { world, run, create, pass, claim } = createStand();
  world.machine(321).installer = 'hangs';
  await run(create());
  await pass(2_300_000);
  expect((await claim())!['phase']).toBe('installing');
  await pass(200_000);
  expect((await claim())!['phase']).toBe('failed');
});

test('vector 26: the name comes back cut: refused, and the old name restored', async () => {
  const { world, run, create, claim } = createStand();
  world.strike = (what) => {
    const name = /^POST \/server\/321 (shep.*)/.exec(what)?.[1];
    if (name === undefined) return null;
    const one = world.machine(321);
    return (one.server = { ...one.server, name: name.slice(0, 20) });
  };
  expect(await failureOf(run(create()))).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  expect(world.machine(321).server.name).toBe('free-321');
  expect(await claim()).toBeUndefined();
});

test('vector 30: our key is there by another name: it is used, and none is stored', async () => {
  const { world, run, create } = createStand();
  world.keys.set(md5OfLine(PUBLIC_KEY), 'somebody’s');
  await run(create());
  expect([world.count(/^POST \/key/), world.count(/^SSH 321 install/)]).toEqual([0, 1]);
});

test.each([
  ['cancelled', { isCancelled: true }, 'invalid'],
  ['not ready', { isReady: false }, 'invalid'],
  ['without reset', { canReset: false }, 'invalid'],
  ['without rescue system', { canRescue: false }, 'invalid'],
  ['taken by a name', { name: 'mail1' }, 'race-lost'],
])('a server that is %s is not used, and nothing is changed', async (_what, change, kind) => {
  const { world, run, create, claim } = createStand();
  const one = world.machine(321);
  one.server = { ...one.server, ...change };
  expect(await failureOf(run(create()))).toMatchObject({ kind, outcome: 'not-done' });
  expect([await claim(), world.count(/^POST|^DELETE|^record/)]).toEqual([undefined, 0]);
});

test('what may not be announced makes nothing', async () => {
  const { world, run, provider } = createStand();
  const barred = new Error('not now');
  const order = { ...orderOf('s1'), onAttempt: () => Promise.reject(barred) };
  await expect(run(provider.createMachine(order, callOf()))).rejects.toBe(barred);
  expect(world.count(/^POST|^DELETE|^record/)).toBe(0);
});

test('a creation that stopped before its installation counts as free, and is not found', async () => {
  const { world, run, create, provider } = createStand();
  world.machine(321).boots = 'nothing';
  await failureOf(run(create()));
  const { machines } = await run(provider.listMachines({}, callOf()));
  expect(machines).toMatchObject([{ id: null, reservationId: '321', availability: 'KnownUnused' }]);
  expect(await run(provider.findByWitness!(WITNESS as never, '321', callOf()))).toBeNull();
});

test('a claim whose creation was given up an hour ago keeps nobody from the server', async () => {
  const { world, run, create, provider, pass, claim } = createStand();
  world.machine(321).boots = 'nothing';
  await failureOf(run(create()));
  const order = orderOf('s2', { witness: OTHER_WITNESS });
  const other = () => provider.createMachine(order, callOf({ operationId: OTHER_WITNESS }));
  expect(await failureOf(run(other()))).toMatchObject({ kind: 'race-lost' });
  world.machine(321).boots = 'as armed';
  await pass(3_700_000);
  await run(other());
  expect((await claim())!['witness']).toBe(OTHER_WITNESS);
});

test('a reset that was surely not sent is not waited for: the next attempt sends it at once', async () => {
  const { world, run, create, daemon, clock } = createStand();
  world.strike = (what) => {
    if (!what.startsWith('POST /reset')) return null;
    throw new ProviderError('transient', 'the budget is used up');
  };
  expect(await failureOf(run(create()))).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  world.strike = null;
  const startedMs = clock.now();
  await run(create('s2', daemon()));
  expect(world.machine(321).resets).toEqual(['sw']);
  expect(clock.now() - startedMs).toBeLessThan(300_000);
});

test.each(['before', 'after'] as const)(
  'a server that somebody names theirs %s the daemon was killed is not installed',
  async (when) => {
    const { world, run, daemon, claim, pass } = createStand();
    const life = dyingAt(Infinity, 'before');
    const one = world.machine(321);
    const rename = () => (one.server = { ...one.server, name: 'mail1' });
    void daemon(life)
      .createMachine(orderOf('s1'), callOf())
      .catch(() => undefined);
    for (let n = 0; n < 30 && one.resets.length === 0; n++) await pass(1_000);
    life.isDead = true;
    if (when === 'before') rename();
    const next = run(daemon().createMachine(orderOf('s2', { resumed: true }), callOf()));
    if (when === 'after') queueMicrotask(() => void pass(20_000).then(rename));
    expect(await failureOf(next)).toMatchObject({ kind: 'race-lost' });
    expect(one).toMatchObject({ installs: 0, server: { name: 'mail1' }, resets: ['sw'] });
    expect([world.count(/^SSH/), await claim()]).toEqual([0, undefined]);
  },
);

test('what cannot be installed keeps its claim until it has its old name again', async () => {
  const { world, run, create, claim } = createStand();
  world.strike = (what) => {
    if (what === 'SSH 321 install') return { exitCode: 45, stdout: '', stderr: 'no image' };
    return what === 'POST /server/321 free-321' ? world.machine(321).server : null;
  };
  expect(await failureOf(run(create()))).toMatchObject({ kind: 'invalid', outcome: 'unknown' });
  expect(await claim()).toMatchObject({ phase: 'rescue' });
  world.strike = null;
});

test('an installation that is watched costs no request for its server', async () => {
  const { world, run, create, pass } = createStand({ listCache: 3_600_000 });
  world.machine(321).installer = 'hangs';
  await run(create());
  world.asked.length = 0;
  await pass(1_200_000);
  expect(world.count(/^GET \/server\/321/)).toBe(0);
  expect(world.looks).toBeGreaterThan(15);
});
