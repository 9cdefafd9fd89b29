import { describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { witness } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { facetsOf } from '../../../../src/domain/provisioning/provider-facets.ts';
import {
  IDLE_TAG,
  PLAN_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { takeStock } from '../../../../src/domain/provisioning/stock.ts';
import { machineRow, PROVIDER } from '../../../support/facts.ts';
import { inFleet } from '../../../support/in-fleet.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import type { FaultRule } from '../../../../src/adapters/provider/stub/faults.ts';
import { CAT_BOOT_ID, createMachineStand } from './proofs-machines.ts';
import {
  BOOT_MS,
  createStubStand,
  errorOf,
  PROVISIONING_MS,
  SET_ID,
  type StubStand,
  type StubStandOptions,
} from './stand.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const OTHER = witness('0b6e2222-2222-4222-8222-222222222222');
const live = { signal: new AbortController().signal };
const MINUTE_MS = 60_000;

/** A stub in the core's hands. */
function fleetOf(stand: StubStand, provider = stand.provider): FleetProvider {
  const options = { instanceSetId: SET_ID, sharedTags: { team: 'metal' } };
  return inFleet(provider, options, stand.clock);
}
function start(faults: readonly FaultRule[] = [], options: StubStandOptions = {}) {
  const stand = createStubStand(faults, options);
  return { stand, provider: fleetOf(stand), devices: () => stand.account.world.devices() };
}
const list = async (provider: FleetProvider) => (await provider.listMachines(live)).machines;
const idsOf = async (provider: FleetProvider) => (await list(provider)).map(({ id }) => id);

async function firstFree(provider: FleetProvider): Promise<ProviderMachine> {
  return (await list(provider)).find(({ availability }) => availability === 'KnownUnused')!;
}
async function create(provider: FleetProvider, mark = WITNESS, given?: ProviderMachine) {
  const unused = given ?? (await firstFree(provider));
  const hostname = provider.hostnameFor(unused.reservationId ?? 'none');
  return provider.createMachine({ unused, hostname, witness: mark }, live);
}
async function running(stand: StubStand, provider: FleetProvider): Promise<string> {
  const { id } = await create(provider);
  stand.clock.increment(PROVISIONING_MS);
  return id!;
}

test('provider vector 2: a created machine is in the next listing, tags complete', async () => {
  const { provider } = start();
  const { id } = await create(provider);
  expect(id).not.toBeNull();
  const listed = (await list(provider)).find((machine) => machine.id === id);
  expect(listed!.tags).toEqual({
    team: 'metal',
    [SET_ID_TAG]: SET_ID,
    [WITNESS_TAG]: WITNESS,
    [PLAN_TAG]: 'c3',
    [SECRET_TAG]: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test.each(['reply-lost', 'truncated-body', 'hangs-after'] as const)(
  'provider vector 3: a creation replayed after %s is the same device',
  async (fault) => {
    const { stand, provider, devices } = start([{ fault, operation: 'create', times: 1 }]);
    const unused = await firstFree(provider);
    const ended = errorOf(create(provider, WITNESS, unused));
    await advance(stand.clock, 60 * MINUTE_MS);
    expect(facetsOf(await ended).outcome).toBe('unknown');
    const again = await create(provider, WITNESS, unused);
    expect(devices().map(({ id }) => id)).toEqual([again.id]);
  },
);

describe('provider vector 4', () => {
  test('a reservation that was taken meanwhile is a lost race; nothing is touched', async () => {
    const { stand, provider, devices } = start();
    const unused = await firstFree(provider);
    stand.account.snatch(unused.reservationId!, { hostname: 'stub-of-theirs' });
    const before = devices();
    expect(await errorOf(create(provider, WITNESS, unused))).toMatchObject({ code: 'race-lost' });
    expect(devices()).toEqual(before);
  });

  test('one that is taken during the announcement is a lost race too', async () => {
    const { stand, provider, devices } = start();
    const unused = await firstFree(provider);
    const order = { unused, hostname: 'stub-1', witness: WITNESS };
    const onAttempt = async () => void stand.account.snatch(unused.reservationId!);
    const creation = provider.createMachine({ ...order, onAttempt }, live);
    expect(await errorOf(creation)).toMatchObject({ code: 'race-lost' });
    expect(devices()).toHaveLength(1);
  });

  test('capacity of no or another provider is invalid; nothing is touched', async () => {
    const { provider, devices } = start();
    const unused = await firstFree(provider);
    for (const other of [
      { ...unused, reservationId: null },
      { ...unused, reservationId: 'of another driver' },
      { ...unused, id: 'a device', availability: 'KnownUsed' as const },
    ]) {
      const creation = create(provider, WITNESS, other);
      expect(await errorOf(creation)).toMatchObject({ code: 'invalid' });
    }
    expect(devices()).toEqual([]);
  });
});

describe('provider vector 6: 429 says when to come back', () => {
  test('to creations, while listings and destructions go on', async () => {
    const { stand, provider } = start([
      { fault: 'rate-limit', operation: 'create', calls: [2], amount: 2 * MINUTE_MS },
    ]);
    const id = await running(stand, provider);
    const error = await errorOf(create(provider, OTHER));
    expect(facetsOf(error)).toMatchObject({
      retryAtMs: stand.clock.now() + 2 * MINUTE_MS,
      outcome: 'not-done',
    });
    expect(await idsOf(provider)).toContain(id);
    await provider.deprovisionMachine(id, live);
  });

  test('to listings, while creations and destructions go on', async () => {
    const { stand, provider, devices } = start([
      { fault: 'rate-limit', operation: 'list', from: 2, amount: 2 * MINUTE_MS },
    ]);
    const unused = await firstFree(provider);
    const error = await errorOf(list(provider));
    expect(facetsOf(error).retryAtMs).toBe(stand.clock.now() + 2 * MINUTE_MS);
    const { id } = await create(provider, WITNESS, unused);
    await provider.deprovisionMachine(id!, live);
    expect(devices()).toEqual([]);
  });
});

test('provider vector 9: spot capacity is of a group of its own, and so is another place', () => {
  const { provider } = start();
  const plan = { name: 'c3', location: 'm1', spot: false };
  const others = [
    { ...plan, spot: true },
    { ...plan, location: 'm2' },
    { ...plan, name: 'c4' },
  ];
  const groups = [plan, ...others].map((each) => provider.capacityGroup(each));
  expect(new Set(groups).size).toBe(4);
});

test('provider vector 10: capacity is recognised inside two causes', async () => {
  const { provider } = start([{ fault: 'capacity-wrapped', scope: 'group' }]);
  expect(facetsOf(await errorOf(create(provider))).capacity).toBe('group');
});

test('provider vector 11: an id that is listed twice is one machine, the last one', async () => {
  const { stand, provider } = start([{ fault: 'duplicates' }]);
  const id = await running(stand, provider);
  const listed = (await list(provider)).filter((machine) => machine.id === id);
  expect(listed).toEqual([await provider.getMachine(id, live)]);
});

test('provider vector 12: when a page fails there is no listing; nothing is lost', async () => {
  const { stand, provider } = start([{ fault: 'page-fails', calls: [2] }]);
  const id = await running(stand, provider);
  await errorOf(list(provider));
  expect(await idsOf(provider)).toContain(id);
});

test('provider vector 12: a listing without one of its pages says that it is incomplete', async () => {
  const { provider } = start([{ fault: 'partial-page' }]);
  expect(await provider.listMachines(live)).toMatchObject({ complete: false });
});

test('provider vector 15: what is not marked as ours is never changed', async () => {
  const { stand, provider, devices } = start();
  const names = { hostname: 'stub-of-theirs' };
  const [one, two] = stand.account.world.slots();
  const untagged = stand.account.snatch(one!.id, names);
  const theirs = { [SET_ID_TAG]: 'other-other-otherotherother' };
  const foreign = stand.account.snatch(two!.id, { ...names, tags: theirs });
  stand.clock.increment(PROVISIONING_MS);
  const before = devices();
  for (const id of [untagged, foreign]) {
    for (const act of [
      () => provider.deprovisionMachine(id, live),
      () => provider.rebootMachine(id, 'force', live),
      () => provider.reinstallMachine(id, live),
      () => provider.setPower(id, 'off', live),
      () => provider.setTags(id, { [IDLE_TAG]: 'hold' }, live),
    ]) {
      expect(await errorOf(act())).toMatchObject({ code: 'conflict' });
    }
  }
  stand.clock.increment(60 * MINUTE_MS);
  expect(devices()).toEqual(before);
});

test('provider vector 16: another instance reads the same tags; foreign keys are intact', async () => {
  const { stand, provider } = start();
  const id = await running(stand, provider);
  stand.account.putTag(id, 'rack', 'r7');
  await provider.setTags(id, { [IDLE_TAG]: 'drain' }, live);
  const { tags } = await provider.getMachine(id, live);
  expect(tags).toMatchObject({ rack: 'r7', team: 'metal', [IDLE_TAG]: 'drain' });
  const elsewhere = fleetOf(stand, stand.open());
  expect((await elsewhere.getMachine(id, live)).tags).toEqual(tags);
});

test('provider vector 17: PossiblyUsed is used if the BMDB knows the id, else unused', async () => {
  const { stand, provider } = start([{ fault: 'id-absent', calls: [3] }], {
    inventory: { publicKey: '', tags: { [SET_ID_TAG]: SET_ID } },
  });
  const [known, unknown, nameless] = stand.account.world.slots().map(({ id }) => id);
  const listed = await list(provider);
  const provided = { ...machineRow().provided!, providerId: known!, provider: PROVIDER };
  const stock = takeStock({
    provider: PROVIDER,
    listed,
    intents: [],
    machines: [machineRow({ provided })],
  });
  expect(stock.used.map(({ device }) => device.id)).toEqual([known]);
  const free = stock.free.map(({ slotId }) => slotId);
  expect(free).toContain(unknown);
  expect(free).toContain(nameless);
});

describe('provider vector 20: a reboot is done when the boot id has changed', () => {
  test('an accepted one is no evidence yet', async () => {
    const stand = createMachineStand();
    const provider = fleetOf(stand);
    const id = await stand.running({ tags: {} });
    const bootId = async () => (await (await stand.ssh(id)).run(CAT_BOOT_ID)).stdout;
    const before = await bootId();
    await provider.rebootMachine(id, 'graceful', live);
    await errorOf(stand.ssh(id));
    stand.clock.increment(BOOT_MS);
    expect(await bootId()).not.toBe(before);
    await stand.close();
  });

  test('one that is ignored changes nothing; force does', async () => {
    const stand = createMachineStand([{ fault: 'reboot-ignored', times: 1 }]);
    const provider = fleetOf(stand);
    const id = await stand.running();
    const bootId = async () => (await (await stand.ssh(id)).run(CAT_BOOT_ID)).stdout;
    const before = await bootId();
    await provider.rebootMachine(id, 'graceful', live);
    stand.clock.increment(60 * MINUTE_MS);
    expect(await bootId()).toBe(before);
    await provider.rebootMachine(id, 'force', live);
    stand.clock.increment(BOOT_MS);
    expect(await bootId()).not.toBe(before);
    await stand.close();
  });
});

describe('provider vector 21', () => {
  test('a reinstall that is not supported is not-implemented, and changes nothing', async () => {
    const { stand, provider, devices } = start([], { without: ['reinstall', 'hostKey'] });
    const id = await running(stand, provider);
    const before = devices();
    const refusal = await errorOf(provider.reinstallMachine(id, live));
    expect(refusal).toMatchObject({ code: 'not-implemented', outcome: 'not-done' });
    stand.clock.increment(60 * MINUTE_MS);
    expect(devices()).toEqual(before);
  });

  test('one that is supported keeps the id and brings a new host key and secret', async () => {
    const stand = createMachineStand();
    const { publicKey } = stand.login;
    const options = { instanceSetId: SET_ID, publicKey };
    const provider = inFleet(stand.provider, options, stand.clock);
    const id = await running(stand, provider);
    const { hostKey } = await stand.ssh(id);
    const { tags } = await provider.getMachine(id, live);
    await provider.reinstallMachine(id, live);
    stand.clock.increment(PROVISIONING_MS);
    const after = await provider.getMachine(id, live);
    expect(after).toMatchObject({ id, status: 'Running', ownership: 'ours' });
    expect(after.tags[SECRET_TAG]).not.toBe(tags[SECRET_TAG]);
    expect((await stand.ssh(id)).hostKey).not.toEqual(hostKey);
    await stand.close();
  });
});

test('provider vector 22: destroying twice succeeds; what is still listed can be asked again', async () => {
  const { stand, provider } = start([
    { fault: 'destroy-not-found', times: 1 },
    { fault: 'destroy-listed', amount: 2, times: 1 },
  ]);
  const id = await running(stand, provider);
  await provider.deprovisionMachine(id, live);
  stand.clock.increment(10_000);
  expect(await idsOf(provider)).toContain(id);
  await provider.deprovisionMachine(id, live);
  expect(await idsOf(provider)).toContain(id);
  await provider.deprovisionMachine(id, live);
  expect(await idsOf(provider)).toContain(id);
  expect(await idsOf(provider)).not.toContain(id);
  await provider.deprovisionMachine(id, live);
});

test('provider vector 24: no address for ten minutes, and then another one', async () => {
  const { stand, provider } = start([
    { fault: 'address-absent', amount: 10 * MINUTE_MS },
    { fault: 'address-changing', amount: 15 * MINUTE_MS },
  ]);
  const id = await running(stand, provider);
  const address = async () => (await provider.getMachine(id, live)).address;
  expect(await address()).toBeNull();
  stand.clock.increment(10 * MINUTE_MS - 1);
  expect(await address()).toBeNull();
  stand.clock.increment(1);
  const first = await address();
  expect(first).not.toBeNull();
  stand.clock.increment(5 * MINUTE_MS);
  expect(await address()).not.toBe(first);
});

test('provider vector 25: a stop ends a creation within 10 s; later calls are stopped', async () => {
  const { stand, provider, devices } = start([{ fault: 'hangs', operation: 'create' }]);
  const unused = await firstFree(provider);
  const ended = errorOf(create(provider, WITNESS, unused));
  await advance(stand.clock, 1_000);
  const stopped = provider.stop();
  await advance(stand.clock, 10_000);
  await stopped;
  expect(['aborted', 'stopped']).toContain(((await ended) as { code?: string }).code);
  expect(devices()).toEqual([]);
  expect(await errorOf(list(provider))).toMatchObject({ code: 'stopped' });
  await provider.stop();
});
