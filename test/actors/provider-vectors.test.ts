import { describe, expect, test } from 'vitest';
import { takeOverSlots, type TakeOverDeps } from '../../src/actors/take-over.ts';
import type { FleetProvider } from '../../src/adapters/provider/port.ts';
import { AGENT_START_BACKOFF } from '../../src/domain/backoff.ts';
import { slotIdOf } from '../../src/domain/ids.ts';
import type { HoldKind } from '../../src/domain/machine.ts';
import { WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { device, PROVIDER } from '../support/facts.ts';
import { createProvisionStand } from '../support/provision-stand.ts';
import { runSlot } from '../support/run-slot.ts';
import { createSmallWorld } from '../support/small-world.ts';
import { createTaskStand, JOB } from '../support/task-stand.ts';
import { advance, settled } from '../support/watched-clock.ts';

/** Vectors that no other test of the core is about. */

const MINUTE = 60_000;

describe('equinix vector 1', () => {
  test('the intent is committed before the first call; the device has its one witness', async () => {
    const stand = createProvisionStand();
    const seen: string[][] = [];
    const provider: FleetProvider = {
      ...stand.provider,
      createMachine: (request, options) => {
        seen.push(stand.states());
        return stand.provider.createMachine(Object.freeze(request), options);
      },
    };
    const life = await stand.life({ provider, limits: { chunkSize: 1 } });
    await life.round();
    expect(seen).toEqual([['open']]);
    expect(stand.states()).toEqual(['adopted']);
    const [made] = stand.provider.devices();
    expect(made!.tags[WITNESS_TAG]).toBe(stand.intents()[0]!.witness);
  });
});

describe('equinix vector 2', () => {
  test('without a slot there is neither call nor intent', async () => {
    const stand = createProvisionStand({ reservations: 0 });
    const life = await stand.life();
    expect(await life.round()).toBe(0);
    expect(stand.intents()).toEqual([]);
    expect(stand.provider.account.calls.count('create')).toBe(0);
  });
});

describe('equinix vector 5', () => {
  test('a device that nobody shows for a while is recorded once it shows; one device', async () => {
    const stand = createProvisionStand();
    stand.provider.inject({ operation: 'create', effect: 'loseReply' });
    let isStale = true;
    const stale: FleetProvider = {
      ...stand.provider,
      findByWitness: async (...args) => (isStale ? null : stand.provider.findByWitness(...args)),
      listMachines: async (options) => {
        const { machines, complete } = await stand.provider.listMachines(options);
        return {
          machines: isStale ? machines.filter(({ id }) => id === null) : machines,
          complete,
        };
      },
    };
    const life = await stand.life({ provider: stale, limits: { chunkSize: 1, machinesMax: 1 } });
    for (let at = 0; at < 5; at += 1) {
      await life.round();
      await advance(stand.clock, MINUTE);
    }
    expect(stand.provider.devices()).toHaveLength(1);
    isStale = false;
    await life.round();
    expect(stand.states()).toEqual(['adopted']);
    expect(stand.provider.devices()).toHaveLength(1);
  });
});

describe('provider vector 23: the boot probe never passes', () => {
  async function deaf(holds: readonly HoldKind[]) {
    const world = createSmallWorld({ machines: 1 });
    const actor = world.fleet();
    await advance(world.clock, 1_000);
    const [slot] = world.views.keys();
    for (const kind of holds) {
      world.bmdb.tables.holds.push({
        ...{ provider: PROVIDER, slotId: slotIdOf(slot as never), kind, untilMs: null },
        ...{ setBy: 'ann', reason: 'under inspection' },
      });
    }
    while (world.hosts.size === 0) await advance(world.clock, 100);
    for (const host of world.hosts.values()) host.unreachable = true;
    await advance(world.clock, 60 * MINUTE);
    const reboots = world.provider.account.calls.count('reboot');
    const [view] = world.views.values();
    actor.send({ type: 'fleet.stop' });
    await advance(world.clock, MINUTE);
    world.end();
    await settled();
    return { reboots, view, devices: world.provider.devices().length, log: world.log };
  }

  test('run: it enters the ladder, and is never given back', async () => {
    const { reboots, devices } = await deaf([]);
    expect(reboots).toBeGreaterThan(0);
    expect(devices).toBe(1);
  });

  test('hold: it is left untouched', async () => {
    const { reboots, view, devices, log } = await deaf(['no-start', 'no-recover']);
    expect([reboots, devices]).toEqual([0, 1]);
    expect(view).toMatchObject({ state: 'Provisioned', next: null });
    expect(log.count('agent start failed')).toBe(0);
  });
});

describe('provider vector 24: no address for a while, then another one', () => {
  test('nobody is dialled without one; then its newest is', async () => {
    const stand = createTaskStand();
    await stand.openSession();
    stand.given();
    const slots = takeOverSlots({
      ...stand.deps(),
      agent: {
        file: { content: Buffer.from(''), sha256: '', mode: 0o755 },
        targetPath: '/root/agent',
      },
      protocol: {} as TakeOverDeps['protocol'],
      backoff: AGENT_START_BACKOFF,
    });
    await stand.grant('agentStart');
    await runSlot(slots.claimStart, JOB).result;
    stand.whereIs = async () => device({ address: null });
    await expect(runSlot(slots.connect, JOB).result).rejects.toThrow('no available addresses');
    expect(stand.done).toEqual([]);
    stand.whereIs = async () => device({ address: '192.0.2.1' });
    await runSlot(slots.connect, JOB).result;
    expect(stand.done).toEqual(['connect']);
    await stand.close();
  });
});
