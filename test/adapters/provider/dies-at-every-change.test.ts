import { expect, test } from 'vitest';
import { sleep } from '../../../src/adapters/clock/port.ts';
import type { FleetProvider, Provider } from '../../../src/adapters/provider/port.ts';
import { explain, isProviderError } from '../../../src/domain/errors.ts';
import { witness } from '../../../src/domain/ids.ts';
import { SECRET_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { dyingAt, immortal, type DaemonLife } from '../../doubles/life.ts';
import { advance, runOut, type VirtualClock } from '../../doubles/simulated-clock.ts';
import * as equinix from './equinix/stand.ts';
import * as robot from './hetzner-robot/stand.ts';
import * as latitude from './latitude/stand.ts';
import { type Installs, startInstalls, WITNESS } from './redfish/install/stand.ts';

/**
 * A daemon is dropped, never stopped, before or after each change that it makes: at the vendor, on
 * a machine, in the records. Another daemon continues with the same records.
 */
interface Scenario<W extends { readonly clock: VirtualClock }> {
  readonly title: string;
  /** Changes of an undisturbed daemon. */
  readonly changes: number;
  start(): Promise<W>;
  act(world: W, life: DaemonLife): Promise<unknown>;
  /** @param wasDone the first daemon died after its last change. */
  goOn(world: W, wasDone: boolean): Promise<void>;
}

function scenario<W extends { readonly clock: VirtualClock }>(of: Scenario<W>): void {
  const { title, changes, start, act, goOn } = of;
  test(`${title}`, async () => {
    const world = await start();
    const life = immortal();
    await runOut(world.clock, act(world, life));
    expect(life.count).toBe(changes);
    const complaints: string[] = [];
    for (let at = 1; at <= changes; at++) {
      for (const when of ['before', 'after'] as const) {
        await dies(dyingAt(at, when), at === changes && when === 'after').catch((error: unknown) =>
          complaints.push(`${when} change ${at}: ${explain(error)}`),
        );
      }
    }
    expect(complaints).toEqual([]);
  });

  async function dies(life: DaemonLife, wasDone: boolean): Promise<void> {
    const world = await start();
    let end = 'not at all';
    void act(world, life).then(
      () => (end = 'well'),
      (error: unknown) => (end = explain(error)),
    );
    for (let n = 0; n < 400 && !life.isDead; n++) await advance(world.clock, 5_000);
    await advance(world.clock, 3_000);
    expect([life.isDead, end]).toEqual([true, 'not at all']);
    await goOn(world, wasDone);
  }
}

// Latitude.sh: records are a field at the vendor, and an order may be lost on its way.

async function latitudeWorld() {
  const stand = await latitude.startStand();
  const unused = await stand.free(stand.fleet());
  const order = { unused, hostname: latitude.nameOf(1), witness: latitude.witnessOf(1) };
  return { clock: stand.clock, stand, order, second: stand.fleet() };
}
async function latitudeMachine() {
  const stand = await latitude.startStand();
  const { id } = await stand.made(stand.fleet());
  return { clock: stand.clock, stand, id: id!, second: stand.fleet() };
}
const { live } = latitude;

scenario({
  title: 'latitude makes one server and one record, wherever a daemon dies in a creation',
  changes: 3,
  start: latitudeWorld,
  act: ({ stand, order }, life) => stand.fleet({ life }).createMachine(order, live),
  async goOn({ stand, order, second }) {
    const machine = await stand.run(second.createMachine({ ...order, resumed: true }, live));
    await stand.wait(20 * 60_000);
    expect(stand.fake.servers().map(({ id }) => id)).toEqual([machine.id]);
    expect(stand.fake.userData()).toHaveLength(1);
    const { machines, complete } = await stand.run(second.listMachines(live));
    expect(complete).toBe(true);
    const [one, two] = [1, 2].map(latitude.slotOf);
    expect(machines).toMatchObject([
      { id: machine.id, ownership: 'ours', status: 'Running', reservationId: one },
      { reservationId: two, availability: 'KnownUnused' },
    ]);
    expect(machines[0]!.tags['shepherd-op']).toBe(latitude.witnessOf(1));
  },
});

scenario({
  title:
    'latitude installs a machine once and keeps it ours, wherever a daemon dies in a reinstallation',
  changes: 3,
  start: latitudeMachine,
  act: ({ stand, id }, life) => stand.fleet({ life }).reinstallMachine(id, live),
  async goOn({ stand, id, second }) {
    const look = () => stand.run(second.getMachine(id, live));
    const { tags } = await look();
    expect((await look()).ownership).toBe('ours');
    await stand.wait(20 * 60_000);
    expect(stand.count('POST /servers/{id}/reinstall')).toBeLessThanOrEqual(1);
    expect((await look()).tags).toEqual(tags);
    // The machine has the record whose secret its tags mention.
    const { userData } = stand.fake.servers()[0]!;
    await stand.wait(3_700_000);
    await stand.run(second.sweep({ ...live, dryRun: false }));
    expect(stand.fake.userData().map((record) => record.id)).toEqual([userData]);
    expect(await look()).toMatchObject({ ownership: 'ours', tags, status: 'Running' });
  },
});

const latitudeGivesBack = async (provider: FleetProvider, id: string) => {
  await provider.deprovisionMachine(id, live);
  return provider.isReusable(latitude.slotOf(1), live);
};
scenario({
  title:
    'latitude frees the slot and deletes the server once, wherever a daemon dies in giving it back',
  changes: 2,
  start: latitudeMachine,
  act: ({ stand, id }, life) => latitudeGivesBack(stand.fleet({ life }), id),
  async goOn({ stand, id, second }) {
    expect(await stand.run(latitudeGivesBack(second, id))).toBe(true);
    expect([stand.fake.servers(), stand.fake.userData()]).toEqual([[], []]);
    await stand.free(second);
  },
});

// Equinix Metal: the device itself states its creation.

const EQUINIX_SLOT = equinix.reservationId(1);
const EQUINIX_MARK = witness('0b6e1111-1111-4111-8111-111111111111');

scenario({
  title: 'equinix makes one device, wherever a daemon dies in a creation',
  changes: 2,
  async start() {
    const stand = await equinix.startStand({ reservations: [{ id: EQUINIX_SLOT }] });
    const [unused] = (await stand.provider.listMachines(live)).machines;
    const hostname = stand.provider.hostnameFor(EQUINIX_SLOT);
    const order = { unused: unused!, hostname, witness: EQUINIX_MARK };
    return { clock: stand.deps.clock, stand, order };
  },
  async act({ stand, order }, life) {
    const daemon = stand.mortal(life);
    await daemon.prepare(live);
    return daemon.createMachine(order, live);
  },
  async goOn({ stand, order }, wasDone) {
    const { provider, fake } = stand;
    const found = await provider.findByWitness(EQUINIX_MARK, EQUINIX_SLOT, live);
    if (wasDone) expect(found).not.toBe(null);
    const made = found ?? (await provider.createMachine({ ...order, resumed: true }, live));
    const tags = expect.arrayContaining([`shepherd-idempotency-${EQUINIX_MARK}`]);
    expect(fake.devices()).toMatchObject([{ id: made.id, hostname: order.hostname, tags }]);
    expect(fake.violations()).toEqual([]);
  },
});

scenario({
  title:
    'equinix frees the slot and deletes the device once, wherever a daemon dies in giving it back',
  changes: 2,
  async start() {
    const device = { hostname: 'shepherd-ci-x', tags: equinix.OURS, reservation: EQUINIX_SLOT };
    const stand = await equinix.startStand({
      reservations: [{ id: EQUINIX_SLOT }],
      devices: [device],
    });
    return { clock: stand.deps.clock, stand, id: stand.deviceId('shepherd-ci-x') };
  },
  act: ({ stand, id }, life) => stand.mortal(life).deprovisionMachine(id, live),
  async goOn({ clock, stand, id }) {
    await stand.provider.deprovisionMachine(id, live);
    await advance(clock, 60_000);
    expect(await stand.provider.isReusable(EQUINIX_SLOT, live)).toBe(true);
    expect([stand.fake.devices(), stand.count('DELETE /devices/{id}')]).toEqual([[], 1]);
  },
});

// Redfish: a record has the operation in progress, and the machine reports to the seed server.

const redfishOrder = (rack: Installs, secret: string) => ({
  tags: { ...rack.tagsOf(WITNESS), [SECRET_TAG]: secret },
  initCommand: `#!/bin/sh\nprintf %s ${secret} > /root/secret`,
});

scenario({
  title:
    'redfish installs and switches on once, with its own secret, wherever a daemon dies in a creation',
  changes: 9,
  async start() {
    const rack = await startInstalls({ machines: true, settings: { powerPoll: '2h' } });
    await rack.boot();
    const order = await rack.request(redfishOrder(rack, 's1'));
    return { clock: rack.clock, rack, order };
  },
  act: ({ rack, order }, life) =>
    rack.mortal(life).createMachine(order, rack.call({ operationId: WITNESS })),
  async goOn({ rack }, wasDone) {
    const next = rack.open();
    const call = rack.call({ operationId: WITNESS });
    // A found device is recorded. Otherwise the creation resumes if its slot is free.
    const found = await rack.inTime(next.findByWitness!(witness(WITNESS), 'system-1', call));
    expect(found !== null).toBe(wasDone);
    const again = async () => {
      const unused = rack.seen(await rack.free('system-1', next));
      expect(unused).toMatchObject({ id: null, availability: 'KnownUnused' });
      return rack.create({ ...redfishOrder(rack, 's2'), unused, resumed: true }, WITNESS, next);
    };
    const machine = found ?? (await again());
    expect(machine).toMatchObject({ id: 'system-1.11112222', reservationId: 'system-1' });
    await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
    await rack.until(() => rack.hosts.list()[0]!.up);
    await rack.after(60 * 60_000);
    const [host] = rack.hosts.list();
    expect(host!.installs).toBe(1);
    // A lost order is sent again.
    const resets = rack.resets();
    expect([...new Set(resets)]).toEqual(['ForceOff', 'On']);
    expect(resets.length).toBeLessThanOrEqual(3);
    expect(await rack.records.all(rack.call())).toHaveLength(1);
    const { tags, result } = (await rack.claim())!;
    expect(result).toMatchObject({ end: 'done' });
    expect(host!.disk.userdata).toContain(`printf %s ${tags[SECRET_TAG]}`);
    expect([rack.media()[0]!.image, rack.system().boot.enabled]).toEqual([null, 'Disabled']);
  },
});

// Hetzner Robot: records have the operations in progress on the machines.

/**
 * A daemon's handling of an unfinished creation: it repeats the call while the creation may have
 * worked.
 */
async function createAgain(stand: robot.RobotStand): Promise<string> {
  const provider = stand.daemon();
  for (let attempt = 1; attempt < 5; attempt++) {
    const listed = await stand.list(provider);
    const made = listed.find(({ availability }) => availability === 'KnownUsed');
    if (made) return made.id!;
    expect(listed, 'the server is neither free nor a machine').toHaveLength(1);
    const order = robot.orderOf(`again-${attempt}`, { resumed: true });
    try {
      return (await stand.run(provider.createMachine(order, robot.callOf()))).id!;
    } catch (error) {
      if (!isProviderError(error) || error.outcome !== 'unknown') throw error;
    }
  }
  throw new Error('the creation never ended');
}

async function expectOneMachine(stand: robot.RobotStand, id: string): Promise<void> {
  await stand.pass(700_000);
  const { name, installs } = stand.machine();
  const claim = (await stand.claim())!;
  expect([claim.phase, name, installs]).toEqual(['ready', robot.OUR_NAME, 1]);
  expect(claim.tags[SECRET_TAG]).toBe(robot.hashOf(await stand.secret()));
  expect((await stand.list(stand.daemon())).map((each) => each.id)).toEqual([id]);
}

for (const [when, afterMs] of [
  ['', 0],
  [', and nobody comes for ten minutes', 600_000],
] as const) {
  scenario({
    title: `hetzner-robot takes and installs a server once, wherever a daemon dies in a creation${when}`,
    changes: 15,
    start: robot.startStand,
    act: (stand, life) => stand.daemon({ life }).createMachine(robot.orderOf('s1'), robot.callOf()),
    async goOn(stand) {
      await stand.pass(afterMs);
      await expectOneMachine(stand, await createAgain(stand));
    },
  });
}

function expectNotFreeUnwiped({ machine }: robot.RobotStand): void {
  const { name, drives } = machine();
  if (name.startsWith('free-')) expect(Object.values(drives)).toEqual(['nothing', 'nothing']);
}

async function robotGivesBack(
  stand: robot.RobotStand,
  provider: Provider,
  id: string,
): Promise<void> {
  await provider.deprovisionMachine(id, robot.callOf()).catch((error: unknown) => {
    if (!isProviderError(error, 'not-found')) throw error;
  });
  for (let n = 0; n < 20 && !(await provider.isReusable!('321', robot.callOf())); n++) {
    expectNotFreeUnwiped(stand);
    await sleep(stand.clock, 100_000);
  }
}
scenario({
  title:
    'hetzner-robot never frees an unwiped server, and frees it in the end, wherever a daemon dies',
  changes: 13,
  start: robot.startInstalled,
  act: (stand, life) => robotGivesBack(stand, stand.daemon({ life }), stand.id),
  async goOn(stand) {
    expectNotFreeUnwiped(stand);
    await stand.run(robotGivesBack(stand, stand.daemon(), stand.id));
    expect([stand.machine().name, await stand.claim()]).toEqual(['free-321', undefined]);
    expectNotFreeUnwiped(stand);
  },
});
