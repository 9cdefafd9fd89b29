import { expect, test } from 'vitest';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { md5OfLine } from '../../../../src/adapters/provider/hetzner-robot/systems.ts';
import { immortal } from '../../../doubles/life.ts';
import { testRows } from '../../../support/rows.ts';
import {
  at,
  callOf,
  failureOf,
  hashOf,
  orderOf,
  OTHER_WITNESS,
  OUR_NAME,
  PUBLIC_KEY,
  refusal,
  startStand,
  WITNESS,
} from './stand.ts';

const RENAME = 'POST /server/{n}';
const BOOTS_DISK = { id: 'boots-disk', effect: { type: 'bootsDisk' } } as const;

/** No armed system ever boots. */
async function startDead() {
  const stand = await startStand({ servers: [{ first: 'nothing' }] });
  stand.fake.addFault(BOOTS_DISK);
  return stand;
}

test('creates by claim, name, rescue, reset and installation, and then owns the machine', async () => {
  const { create, pass, claim, sent, ran, machine, secret } = await startStand();
  expect(await create()).toMatchObject({
    id: expect.stringMatching(/^321-[a-z2-7]{8}$/),
    reservationId: '321',
    availability: 'KnownUsed',
    status: 'Provisioning',
    tags: { [SECRET_TAG]: hashOf('s1') },
  });
  expect(sent().filter((line) => !line.startsWith('GET'))).toEqual([
    `POST /server/321 ${OUR_NAME}`,
    'POST /key',
    'POST /boot/321/rescue',
    'POST /reset/321 sw',
  ]);
  expect(ran).toEqual(['look', 'install']);
  await pass(400_000);
  expect(await claim()).toMatchObject({ phase: 'ready', tags: { [SECRET_TAG]: hashOf('s1') } });
  expect([machine().installs, await secret()]).toEqual([1, 's1']);
});

test('vector 16: finds our name by a look after a lost answer, and sends the rename once', async () => {
  const { fake, create, count, machine } = await startStand();
  fake.addFault(at(RENAME, { type: 'drop', phase: 'after' }, 1));
  await create();
  expect([count(/^POST \/server/), machine().name]).toEqual([1, OUR_NAME]);
});

test('vector 17: loses the race if another name follows our rename, and resets nothing', async () => {
  const { fake, create, claim, clock, resets } = await startStand();
  fake.addFault({ effect: { type: 'rename', does: 'ignored' } });
  fake.addFault(at(RENAME, { type: 'latency', ms: 5_000 }));
  clock.setTimeout(() => fake.rename(321, 'other-set-1'), 1_000);
  expect(await failureOf(create())).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect([await claim(), resets()]).toEqual([undefined, []]);
});

test('checks the key of a rescue system after an installation was begun, too', async () => {
  const { fake, run, daemon, until, hooks, ask, resets } = await startStand();
  const life = immortal();
  hooks.script = (name) => void (life.isDead ||= name === 'install');
  void daemon({ life }).createMachine(orderOf('s1'), callOf());
  await until(() => life.isDead);
  hooks.script = null;
  const form = `os=linux&authorized_key[]=${md5OfLine(PUBLIC_KEY)}`;
  await ask('POST', '/boot/321/rescue', form);
  fake.press(321, 'hw');
  await run(daemon().createMachine(orderOf('s2', { resumed: true }), callOf()));
  expect(resets()).toEqual(['sw', 'hw', 'hw']);
});

test('vector 21: presses the button twice if the rescue system never answers, and reports it unknown', async () => {
  const { run, provider, clock, resets } = await startDead();
  const late = new AbortController();
  clock.setTimeout(() => late.abort(new Error('it never ends')), 3_600_000);
  const created = run(provider.createMachine(orderOf('s1'), callOf({ signal: late.signal })));
  expect(await failureOf(created)).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(resets()).toEqual(['sw', 'hw', 'hw']);
});

test('vector 22: runs nothing on a host key that Robot did not report, and reports a conflict', async () => {
  const { create, ran, log } = await startStand({ tells: 'wrong' });
  expect(await failureOf(create())).toMatchObject({ kind: 'conflict' });
  expect(ran).toEqual(['look']);
  expect(log.lines.some(({ fields }) => fields['alarm'] === 'rescue-host-key')).toBe(true);
});

test('accepts and logs the shown host key if Robot reports none', async () => {
  const { create, log } = await startStand({ tells: 'nothing' });
  await create();
  expect(log.lines.some(({ message }) => message.startsWith('Robot reported no host key'))).toBe(
    true,
  );
});

test('vector 23: reports an installation without the marker as failed with its log, and does not reboot', async () => {
  const { fake, list, create, pass, claim, log, resets } = await startStand();
  fake.addFault({ effect: { type: 'installimage', does: 'fails' } });
  await create();
  await pass(200_000);
  expect([(await claim())!.phase, resets()]).toEqual(['failed', ['sw']]);
  const alarm = log.lines.find(({ fields }) => fields['alarm'] === 'installation-failed');
  expect(alarm?.fields['lines']).toContain('the last script of the new system did not end');
  expect(await list()).toMatchObject([{ failed: true, status: 'ProvisioningFailedPermanent' }]);
});

test('fails an endless installation when its time is over, without a request for its server', async () => {
  const { fake, create, pass, claim, count, forget, ran } = await startStand({
    settings: { listCache: '1h' },
  });
  fake.addFault({ effect: { type: 'installimage', does: 'hangs' } });
  await create();
  forget();
  await pass(2_300_000);
  expect((await claim())!.phase).toBe('installing');
  await pass(200_000);
  expect((await claim())!.phase).toBe('failed');
  expect(count(/^GET \/server\/321/)).toBe(0);
  expect(ran.length).toBeGreaterThan(30);
});

test('vector 26: refuses a name that comes back cut, and restores the old name', async () => {
  const { fake, create, claim, machine } = await startStand();
  fake.addFault({ effect: { type: 'rename', does: 'cut', length: 20 }, times: 1 });
  expect(await failureOf(create())).toMatchObject({ kind: 'invalid', outcome: 'not-done' });
  expect([machine().name, await claim()]).toEqual(['free-321', undefined]);
});

test('vector 30: uses our key stored under another name, and stores none', async () => {
  const { ask, create, count, forget, machine } = await startStand();
  await ask('POST', '/key', `name=theirs&data=${encodeURIComponent(PUBLIC_KEY)}`);
  forget();
  await create();
  expect([count(/^POST \/key/), machine().phase]).toEqual([0, 'rescue']);
});

testRows([
  ['cancelled', {}, { cancelled: true }, 'invalid'],
  ['not ready', {}, { status: 'in process' }, 'invalid'],
  ['without reset', { resetTypes: null }, {}, 'invalid'],
  ['without rescue system', { hasRescue: false }, {}, 'invalid'],
  ['taken by a name', { name: 'mail1' }, {}, 'race-lost'],
] as const)(
  'does not use a server that is %s, and changes nothing',
  async (_, seed, fields, kind) => {
    const { fake, create, claim, count } = await startStand({ servers: [seed] });
    fake.addFault({ effect: { type: 'fields', fields } });
    expect(await failureOf(create())).toMatchObject({ kind, outcome: 'not-done' });
    expect([await claim(), count(/^POST|^DELETE/)]).toEqual([undefined, 0]);
  },
);

test('makes nothing if the announcement is refused', async () => {
  const { run, provider, claim, count } = await startStand();
  const barred = new Error('not now');
  const order = { ...orderOf('s1'), onAttempt: () => Promise.reject(barred) };
  await expect(run(provider.createMachine(order, callOf()))).rejects.toBe(barred);
  expect([await claim(), count(/^POST|^DELETE/)]).toEqual([undefined, 0]);
});

test('treats a creation that stopped before its installation as free, and holds the server for an hour at most', async () => {
  const { fake, run, create, provider, pass, claim, list } = await startDead();
  await failureOf(create());
  expect(await list()).toMatchObject([{ id: null, availability: 'KnownUnused' }]);
  expect(await run(provider.findByWitness!(WITNESS as never, '321', callOf()))).toBeNull();
  const order = orderOf('s2', { witness: OTHER_WITNESS });
  const other = () => run(provider.createMachine(order, callOf({ operationId: OTHER_WITNESS })));
  expect(await failureOf(other())).toMatchObject({ kind: 'race-lost' });
  fake.clearFaults();
  await pass(3_700_000);
  await other();
  expect((await claim())!.witness).toBe(OTHER_WITNESS);
});

test('sends a reset that was certainly not sent again at the next attempt, without a wait', async () => {
  const { fake, create, daemon, clock, resets } = await startStand();
  fake.addFault(at('POST /reset/{n}', refusal(409, 'RESET_MANUAL_ACTIVE'), 1));
  expect(await failureOf(create())).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  const startedMs = clock.now();
  await create('s2', daemon());
  expect(resets()).toEqual(['sw']);
  expect(clock.now() - startedMs).toBeLessThan(300_000);
});

test.each(['before', 'after'] as const)(
  'does not install a server that was renamed by others %s the daemon was killed',
  async (when) => {
    const { fake, run, daemon, claim, pass, until, resets, machine, ran } = await startStand();
    const life = immortal();
    void daemon({ life }).createMachine(orderOf('s1'), callOf());
    await until(() => resets().length > 0);
    life.isDead = true;
    if (when === 'before') fake.rename(321, 'mail1');
    const next = failureOf(run(daemon().createMachine(orderOf('s2', { resumed: true }), callOf())));
    if (when === 'after')
      queueMicrotask(() => void pass(20_000).then(() => fake.rename(321, 'mail1')));
    expect(await next).toMatchObject({ kind: 'race-lost' });
    expect(machine()).toMatchObject({ installs: 0, name: 'mail1' });
    expect([resets(), ran.includes('install'), await claim()]).toEqual([['sw'], false, undefined]);
  },
);

testRows([
  ['is free again', undefined, 'not-done'],
  ['keeps its claim until it has its old name again', 2, 'unknown'],
] as const)('cannot install without the image, so that the server %s', async (_, nth, outcome) => {
  const { fake, provider, run, claim, machine } = await startStand();
  if (nth) fake.addFault({ match: { nth }, effect: { type: 'rename', does: 'ignored' } });
  const created = run(provider.createMachine(orderOf('s1', { image: 'none.tar.gz' }), callOf()));
  const error = await failureOf(created);
  expect(error).toMatchObject({ kind: 'invalid', outcome });
  expect(error.message).toMatch(/there is no image .*none\.tar\.gz; there are: Debian/);
  expect((await claim())?.phase).toBe(nth && 'rescue');
  expect(machine().name).toBe(nth ? OUR_NAME : 'free-321');
});
