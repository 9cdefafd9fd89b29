import { expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { DISPUTED, SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { callOf, createStand, OUR_NAME } from './setup.ts';

async function installedStand(config = {}) {
  const stand = createStand(config);
  const id = await stand.installed();
  stand.world.asked.length = 0;
  return { ...stand, id, one: stand.world.machine(321) };
}

test('a give-back: leaving, rescue, button; then wiped, free, and the claim is gone', async () => {
  const { id, one, provider, run, pass, claim } = await installedStand();
  await run(provider.deprovisionMachine(id, callOf()));
  expect(one.server.name).toBe('shep-prod-leaving-321');
  expect(await run(provider.listMachines({}, callOf()))).toMatchObject({ machines: [] });
  expect(await run(provider.isReusable!('321', callOf()))).toBe(false);
  await pass(200_000);
  expect(await run(provider.isReusable!('321', callOf()))).toBe(true);
  expect(one).toMatchObject({ wiped: 1, disk: null, server: { name: 'free-321' } });
  expect(await claim()).toBeUndefined();
  const { machines } = await run(provider.listMachines({}, callOf()));
  expect(machines).toMatchObject([{ id: null, availability: 'KnownUnused' }]);
});

test('vector 28: what cannot be wiped is never free, and an alarm says so', async () => {
  const { id, one, provider, run, pass, log } = await installedStand();
  one.wipes = false;
  await run(provider.deprovisionMachine(id, callOf()));
  for (let n = 0; n < 40; n++) {
    expect(await run(provider.isReusable!('321', callOf()))).toBe(false);
    await pass(60_000);
  }
  expect(one.resets.filter((type) => type === 'hw')).toHaveLength(3);
  expect(one.server.name).toBe('shep-prod-leaving-321');
  expect(await run(provider.listMachines({}, callOf()))).toMatchObject({ machines: [] });
  const alarms = log.lines.filter(({ fields }) => fields['alarm'] === 'unwiped-server');
  expect(alarms).toHaveLength(1);
});

test.each(['leaving', 'renamed back', 'ready'])(
  'a server that has left the account (%s) is out of our hands, and its claim goes',
  async (when) => {
    const { id, one, provider, run, pass, world, claim } = await installedStand();
    if (when !== 'ready') await run(provider.deprovisionMachine(id, callOf()));
    if (when === 'renamed back') one.wipes = false;
    world.machines.delete(321);
    await pass(700_000);
    const isFree = () => run(provider.isReusable!('321', callOf()));
    await isFree();
    await pass(61_000);
    expect(await isFree()).toBe(true);
    expect(await claim()).toBeUndefined();
    expect(await isFree()).toBe(true);
  },
);

test('that Robot does not find a server by its number is no proof while the list shows it', async () => {
  const { id, provider, run, pass, world, claim } = await installedStand();
  await run(provider.deprovisionMachine(id, callOf()));
  world.strike = (what) => {
    if (what !== 'GET /server/321') return null;
    throw new ProviderError('not-found', 'there is no server 321');
  };
  for (let n = 0; n < 6; n++) {
    expect(await run(provider.isReusable!('321', callOf()))).toBe(false);
    await pass(70_000);
  }
  expect(world.count(/^GET \/server\/321/)).toBeGreaterThan(0);
  expect(await claim()).toMatchObject({ phase: 'leaving' });
});

test('a name that somebody sets free by hand makes no unwiped server free', async () => {
  const { id, one, provider, run, pass } = await installedStand();
  one.wipes = false;
  await run(provider.deprovisionMachine(id, callOf()));
  one.server = { ...one.server, name: 'free-321' };
  await pass(70_000);
  expect(await run(provider.listMachines({}, callOf()))).toMatchObject({ machines: [] });
  expect(await run(provider.isReusable!('321', callOf()))).toBe(false);
});

test('where nothing is to be wiped the name says free at once, and the system runs on', async () => {
  const { id, one, provider, run, claim } = await installedStand({ wipe: 'none' });
  await run(provider.deprovisionMachine(id, callOf()));
  expect(one).toMatchObject({ wiped: 0, server: { name: 'free-321' } });
  expect(one.resets).toEqual(['sw']);
  expect([await claim(), one.disk?.secret]).toEqual([undefined, 's1']);
});

test('a server of which only the name says that it was leaving is wiped too', async () => {
  const { one, provider, run, pass, world } = await installedStand();
  const [record] = await world.records.all(callOf());
  await world.records.drop(record!.key, record!.version, callOf());
  one.server = { ...one.server, name: 'shep-prod-leaving-321' };
  expect(await run(provider.isReusable!('321', callOf()))).toBe(false);
  await pass(200_000);
  expect(await run(provider.isReusable!('321', callOf()))).toBe(true);
  expect(one.wiped).toBe(1);
});

test('a machine whose claim was lost is shown by its name, without a secret, and can be given back', async () => {
  const { id, one, provider, run, world } = await installedStand();
  const [record] = await world.records.all(callOf());
  await world.records.drop(record!.key, record!.version, callOf());
  expect(one.server.name).toBe(OUR_NAME);
  const { machines } = await run(provider.listMachines({}, callOf()));
  expect(machines).toMatchObject([{ id, availability: 'KnownUsed' }]);
  expect(Object.keys(machines[0]!.tags!)).toHaveLength(2);
  await run(provider.deprovisionMachine(id, callOf()));
  expect(one.server.name).toBe('shep-prod-leaving-321');
});

test('a reset that Robot refused is none of the three: the server is wiped once it lets us', async () => {
  const { id, one, provider, run, pass, world, claim, log } = await installedStand();
  one.resets.length = 0;
  world.strike = (what) => {
    if (!what.startsWith('POST /reset')) return null;
    throw new ProviderError('transient', 'a technician is at it');
  };
  const refused = run(provider.deprovisionMachine(id, callOf())).catch((error: unknown) => error);
  expect(await refused).toMatchObject({ kind: 'transient' });
  expect(await claim()).toMatchObject({ phase: 'leaving', resetAtMs: null, hardResets: 0 });
  for (let n = 0; n < 4; n++) {
    await run(provider.isReusable!('321', callOf())).catch(() => false);
    await pass(700_000);
  }
  world.strike = null;
  expect(await run(provider.isReusable!('321', callOf()))).toBe(false);
  await pass(200_000);
  expect(await run(provider.isReusable!('321', callOf()))).toBe(true);
  expect(one).toMatchObject({ wiped: 1, resets: ['hw'], server: { name: 'free-321' } });
  expect(log.lines.some(({ fields }) => fields['alarm'] === 'unwiped-server')).toBe(false);
});

test('a server that somebody named theirs is neither given back nor wiped nor reset', async () => {
  const { id, one, provider, run, pass, world, claim } = await installedStand();
  one.resets.length = 0;
  await run(provider.deprovisionMachine(id, callOf()));
  one.server = { ...one.server, name: 'mail1' };
  await pass(200_000);
  expect(await run(provider.isReusable!('321', callOf()))).toBe(true);
  expect(one).toMatchObject({ wiped: 0, resets: ['hw'], server: { name: 'mail1' } });
  expect(world.count(/^SSH 321 wipe/)).toBe(0);
  expect(await claim()).toBeUndefined();
});

test('a machine with a stranger’s name is disputed, and no order about it is carried out', async () => {
  const { id, one, provider, run, pass, world } = await installedStand();
  one.server = { ...one.server, name: 'mail1' };
  await pass(70_000);
  const { machines } = await run(provider.listMachines({}, callOf()));
  expect(machines).toMatchObject([{ id, tags: { [SET_ID_TAG]: DISPUTED } }]);
  world.asked.length = 0;
  const failure = run(provider.deprovisionMachine(id, callOf())).catch((error: unknown) => error);
  expect(await failure).toMatchObject({ kind: 'conflict' });
  expect(world.count(/^(POST|DELETE)/)).toBe(0);
  // One that was cut, or cleared, is nobody's.
  one.server = { ...one.server, name: 'shep-pr' };
  await pass(70_000);
  await run(provider.deprovisionMachine(id, callOf()));
  expect(one.server.name).toBe('shep-prod-leaving-321');
});

test('what is given back while a round of looks is under way is not named ours again', async () => {
  const { id, one, provider, daemon, run, pass, world } = await installedStand({ wipe: 'none' });
  await provider.stop();
  let isLate = false;
  const other = daemon();
  await run(other.listMachines({}, callOf()));
  const shown = { ...one.server, name: 'free-321' };
  const given = daemon();
  world.strike = (what) => {
    if (what !== 'GET /server' || isLate) return null;
    isLate = true;
    // Between its look at the claims and at the names.
    return given
      .deprovisionMachine(id, callOf())
      .then(() => ({ servers: [shown], unreadable: [], nameless: 0 }));
  };
  await pass(70_000);
  expect(isLate).toBe(true);
  expect(one.server.name).toBe('free-321');
});

test('a server that is no more among those that may be touched is left as it is', async () => {
  const { id, one, provider, daemon, run, pass } = await installedStand();
  await run(provider.deprovisionMachine(id, callOf()));
  await pass(200_000);
  const narrow = daemon(undefined, { servers: [322] });
  expect(await run(narrow.isReusable!('321', callOf()))).toBe(true);
  expect(one.wiped).toBe(0);
});
