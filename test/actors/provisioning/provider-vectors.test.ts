import { describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { slotIdOf } from '../../../src/domain/ids.ts';
import type { HoldKind } from '../../../src/domain/machine.ts';
import { DEFAULT_ESCALATION } from '../../../src/domain/policy.ts';
import { WITNESS_TAG, holdsMeantBy } from '../../../src/domain/provisioning/provider-tags.ts';
import { PROVIDER } from '../../support/facts.ts';
import { createProvisionStand } from '../../support/provision-stand.ts';
import { createSmallWorld } from '../../support/small-world.ts';
import type { SimulatedMachine, SmallWorld } from '../../support/small-world.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';

/** Vectors that no other test of the core covers. */

const MINUTE = 60_000;

describe('equinix vector 1', () => {
  test('commits the intent before the first call; the device has its one creation key', async () => {
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
  test('makes neither call nor intent without a slot', async () => {
    const stand = createProvisionStand({ reservations: 0 });
    const life = await stand.life();
    expect(await life.round()).toBe(0);
    expect(stand.intents()).toEqual([]);
    expect(stand.provider.calls.count('create')).toBe(0);
  });
});

describe('equinix vector 5', () => {
  test('records one device that appears after a delay', async () => {
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

describe('provider vector 23, a boot that never succeeds', () => {
  /** Calls that end a machine's stay with us, or delete its content. */
  const TAKEN = ['destroy', 'reinstall', 'power'] as const;

  /** A machine that boots and refuses every login; its probe is the agent start. */
  async function deaf(holds: readonly HoldKind[]) {
    const world = createSmallWorld({ machines: 1 });
    const actor = await world.fleet();
    await advance(world.clock, 1_000);
    const [slot] = world.views.keys();
    for (const kind of holds) {
      world.bmdb.tables.holds.push({
        provider: PROVIDER,
        slotId: slotIdOf(slot as never),
        kind,
        untilMs: null,
        setBy: 'ann',
        reason: 'under inspection',
      });
    }
    while (world.hosts.size === 0) await advance(world.clock, 100);
    for (const host of world.hosts.values()) host.unreachable = true;
    const probes = () => world.log.count('agent start failed');
    const asked = (call: 'reboot' | (typeof TAKEN)[number]) => world.provider.calls.count(call);
    return {
      world,
      probes,
      asked,
      view: () => [...world.views.values()][0]!,
      device: () => world.provider.devices().map(({ id }) => id),
      /** Waits until the condition holds, at most three hours. */
      async until(condition: () => boolean): Promise<void> {
        const endMs = world.clock.now() + 180 * MINUTE;
        while (!condition() && world.clock.now() < endMs) await advance(world.clock, 10_000);
        expect(condition(), 'within three hours').toBe(true);
      },
      async end(): Promise<void> {
        actor.send({ type: 'fleet.stop' });
        await advance(world.clock, MINUTE);
        world.end();
        await settled();
      },
    };
  }

  test('run: enters the ladder and is never given back', async () => {
    const { world, probes, asked, until, device, view, end } = await deaf([]);
    const [id] = device();
    await until(() => asked('reboot') > 0);
    expect(probes(), 'all of its probes were made first').toBe(DEFAULT_ESCALATION.failuresMax);
    expect(view().state).toBe('Recovering');
    expect([asked('reboot'), asked('reinstall'), asked('power')]).toEqual([1, 0, 0]);
    expect([asked('destroy'), device()]).toEqual([0, [id]]);
    expect(world.bmdb.tables.requests.size, 'nobody asked to give it back').toBe(0);
    await end();
  });

  test('hold: is watched without end and left untouched', async () => {
    const { probes, asked, until, device, view, end } = await deaf(holdsMeantBy('hold'));
    const [id] = device();
    await until(() => probes() > DEFAULT_ESCALATION.failuresMax + 1);
    expect(asked('reboot')).toBe(0);
    expect(TAKEN.map(asked)).toEqual([0, 0, 0]);
    expect(device()).toEqual([id]);
    expect(view().state).toBe('Provisioned');
    await end();
  });

  test('drain: is not even watched', async () => {
    const { world, probes, asked, device, view, end } = await deaf(holdsMeantBy('drain'));
    const [id] = device();
    await advance(world.clock, 60 * MINUTE);
    expect([probes(), asked('reboot'), ...TAKEN.map(asked)]).toEqual([0, 0, 0, 0, 0]);
    expect([device(), view()]).toMatchObject([[id], { state: 'Provisioned', next: null }]);
    await end();
  });
});

describe('provider vector 24, an address after ten minutes, then another', () => {
  test('is dialled only with an address, and always at the newest', async () => {
    const dialled: { host: string; atMs: number }[] = [];
    let address: string | null = null;
    const world: SmallWorld = createSmallWorld({
      machines: 1,
      driven: (driven) => ({
        ...driven,
        getMachine: async (...about) => ({ ...(await driven.getMachine(...about)), address }),
      }),
      shell: (shell) => ({
        connect: (target, signal) => {
          dialled.push({ host: target.host, atMs: world.clock.now() });
          return shell.connect(target, signal);
        },
      }),
    });
    const actor = await world.fleet();
    const state = () =>
      [...world.views.values()].map((view) => `${view.state} ${view.substate}`)[0];
    /** Its agent was started this often, and reports. */
    const runs = async (starts: number) => {
      const endMs = world.clock.now() + 120 * MINUTE;
      const isThere = () => host.executions === starts && state() === 'Running healthy';
      while (!isThere() && world.clock.now() < endMs) await advance(world.clock, 10_000);
      expect([host.executions, state()]).toEqual([starts, 'Running healthy']);
    };
    const hosts = world.hosts as Map<string, SimulatedMachine>;
    while (hosts.size === 0) await advance(world.clock, 100);
    const [[first, host]] = [...hosts.entries()] as [[string, SimulatedMachine]];

    await advance(world.clock, 10 * MINUTE);
    expect(dialled).toEqual([]);
    const failures = world.log.lines.filter(({ message }) => message === 'agent start failed');
    expect(failures.length).toBeGreaterThan(1);
    for (const { fields } of failures)
      expect(fields['cause']).toMatch(/has no available addresses$/);
    expect(world.provider.calls.count('reboot')).toBe(0);

    address = first.split(':')[0]!;
    await runs(1);
    expect(new Set(dialled.map((each) => each.host))).toEqual(new Set([address]));

    // The same machine at another address, where its agent is lost.
    const movedAtMs = world.clock.now();
    address = '192.0.2.77';
    hosts.delete(first);
    hosts.set(`${address}:22`, host);
    host.killAgent();
    await runs(2);
    const later = dialled.filter(({ atMs }) => atMs >= movedAtMs);
    expect(new Set(later.map((each) => each.host))).toEqual(new Set([address]));
    expect(world.provider.calls.count('reboot'), 'it was reached').toBe(0);
    actor.send({ type: 'fleet.stop' });
    await advance(world.clock, MINUTE);
    world.end();
    await settled();
  });
});
