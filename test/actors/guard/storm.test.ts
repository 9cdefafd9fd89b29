import { providerName } from '../../../src/domain/ids.ts';
import { describe, expect, test } from 'vitest';
import { createSmallWorld } from '../../support/small-world.ts';
import type { SimulatedMachine, SmallWorld, SmallWorldOptions } from '../../support/small-world.ts';
import { advance } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;
const STEP_MS = 5_000;

/** Whole daemons over in-memory adapters, in virtual time, while many machines fail at once. */
let world: SmallWorld;

async function begin(options: SmallWorldOptions) {
  world = createSmallWorld({
    places: 50,
    provisioner: { reservationChunkSize: 100, deviceCreationRate: '1ms', concurrentCreations: 50 },
    ...options,
  });
  await world.fleet();
  await advance(world.clock, 15 * MINUTE);
  expect(new Set([...world.views.values()].map(({ state }) => state))).toEqual(
    new Set(['Running']),
  );
  expect(world.watch.view().state).toBe('watching');
}

const hostsIn = (location: string): SimulatedMachine[] =>
  [...world.views.values()]
    .filter((view) => view.location === location)
    .map((view) => world.hosts.get(`${view.address}:22`)!);
const permitsHeld = (): number =>
  [...world.bmdb.tables.machines.values()].filter(({ permitGrantedAtMs }) => permitGrantedAtMs)
    .length;
const recovering = (): number =>
  [...world.views.values()].filter(({ state }) => state === 'Recovering').length;
const starts = (): number =>
  [...world.hosts.values()].reduce((sum, { executions }) => sum + executions, 0);
const asked = () => world.metrics.count('ladderAttempt') + world.metrics.count('reboot');
/** Runs on, looking in between. */
async function watch(totalMs: number, look: () => void): Promise<void> {
  for (let passedMs = 0; passedMs < totalMs; passedMs += STEP_MS) {
    await advance(world.clock, STEP_MS);
    look();
  }
}
const stateOf = (scope: string) =>
  world.watch.view().standings.find((each) => each.scope === scope)?.state;

describe('all machines of a provider fall silent at once', () => {
  test('none is recovered, and when they are back all is as it was', async () => {
    await begin({ machines: 30 });
    const begun = starts();
    const seen = new Set<string>();
    for (const host of world.hosts.values()) host.unreachable = true;
    await watch(40 * MINUTE, () => {
      seen.add(world.watch.view().state);
      expect(permitsHeld() + recovering() + asked()).toBe(0);
    });
    expect([...seen]).toEqual(['watching', 'suspicious', 'frozen']);
    const alarms = world.log.lines.filter(({ level }) => level === 'error');
    expect(alarms.map(({ fields }) => fields)).toMatchObject([
      { scope: 'fleet', kind: 'silence', started: 30 },
      { scope: 'stub', kind: 'silence', started: 30 },
    ]);
    await revive();
    await watch(9 * MINUTE, () => expect(world.watch.view().state).toBe('frozen'));
    await watch(6 * MINUTE, () => expect(asked()).toBe(0));
    expect(world.watch.view().state).toBe('watching');
    expect(world.log.lines.filter(({ message }) => message.includes('thawed'))).toHaveLength(2);
    expect({ starts: starts(), permits: world.permits.heldMax }).toEqual({
      starts: begun,
      permits: 0,
    });
    expect(world.watch.view().frozenSeconds).toBeGreaterThan(30 * 60);
  });

  test('those that stay away are recovered after the thaw, within the budget', async () => {
    await begin({ machines: 30 });
    const [dead] = world.hosts.values();
    for (const host of world.hosts.values()) host.unreachable = true;
    await advance(world.clock, 20 * MINUTE);
    expect(stateOf('stub')).toBe('frozen');
    await revive((host) => host !== dead);
    await watch(25 * MINUTE, () => expect(permitsHeld()).toBeLessThanOrEqual(1));
    expect(world.permits.heldMax).toBe(1);
    await advance(world.clock, 10 * MINUTE);
    expect([...world.views.values()].every(({ substate }) => substate === 'healthy')).toBe(true);
    expect(dead!.executions).toBe(2);
  });

  /** They can be reached again, and their agents, which never died, report as before. */
  async function revive(which: (host: SimulatedMachine) => boolean = () => true): Promise<void> {
    for (const host of [...world.hosts.values()].filter(which)) {
      host.unreachable = false;
    }
    await advance(world.clock, MINUTE);
  }
});

describe('A8: a small fleet falls silent at once', () => {
  test.each([2, 3, 4, 5])(
    '%i machines: none is touched, and it thaws by itself',
    async (machines) => {
      await begin({ machines });
      const begun = starts();
      const seen = new Set<string>();
      for (const host of world.hosts.values()) host.unreachable = true;
      await watch(40 * MINUTE, () => {
        seen.add(world.watch.view().state);
        expect(permitsHeld() + recovering() + asked()).toBe(0);
      });
      expect([...seen]).toEqual(['watching', 'suspicious', 'frozen']);
      for (const host of world.hosts.values()) host.unreachable = false;
      await watch(16 * MINUTE, () => expect(permitsHeld() + asked()).toBe(0));
      expect(world.watch.view().state).toBe('watching');
      expect([...world.views.values()].every(({ substate }) => substate === 'healthy')).toBe(true);
      expect(starts()).toBe(begun);
    },
  );

  test('really dead ones are recovered once an operator has thawed it', async () => {
    await begin({ machines: 4 });
    const [first, ...dead] = world.hosts.values();
    for (const host of dead) host.unreachable = true;
    await advance(world.clock, 60 * MINUTE);
    expect([stateOf('fleet'), stateOf('stub'), permitsHeld() + asked()]).toEqual([
      'frozen',
      'frozen',
      0,
    ]);
    for (const scope of ['fleet', providerName('stub')] as const) {
      const what = { verb: 'thaw' as const, scope };
      await world.bmdb.requests.file({ key: scope, by: 'ann', reason: 'no power there', what });
    }
    await watch(60 * MINUTE, () => expect(permitsHeld()).toBeLessThanOrEqual(2));
    expect(asked()).toBeGreaterThan(0);
    expect(first!.executions).toBe(1);
  });

  test.each([
    [1, 1],
    [2, 1],
    [4, 2],
  ])('of %i machines %i may die, and is recovered', async (machines, gone) => {
    await begin({ machines });
    const begun = starts();
    for (const host of [...world.hosts.values()].slice(0, gone)) host.killAgent();
    const seen = new Set<string>();
    await watch(60 * MINUTE, () => seen.add(world.watch.view().state));
    expect([...seen]).toEqual(['watching']);
    expect(starts()).toBe(begun + gone);
  });
});

describe('the agent server is out for longer than the deadline', () => {
  test('nobody is recovered for it, and silence means nothing until it was up for a while', async () => {
    let isListening = true;
    await begin({ machines: 12, isListening: () => isListening });
    const begun = starts();
    const [dead] = world.hosts.values();
    isListening = false;
    const seen = new Set<string>();
    const look = () => {
      seen.add(world.watch.view().state);
      expect(permitsHeld() + asked()).toBe(0);
    };
    await watch(15 * MINUTE, look);
    dead!.killAgent();
    isListening = true;
    await watch(9 * MINUTE, look);
    expect([...seen]).not.toContain('blind');
    expect(stateOf('fleet')).not.toBe('watching');
    await advance(world.clock, 25 * MINUTE);
    expect(world.watch.view().state).toBe('watching');
    expect([...world.views.values()].every(({ substate }) => substate === 'healthy')).toBe(true);
    expect(starts()).toBe(begun + 1);
    expect(world.metrics.count('reboot')).toBe(0);
  });

  test('a database that is out makes the guard blind, then careful', async () => {
    await begin({ machines: 12 });
    const begun = starts();
    world.bmdb.tables.reachable = false;
    await advance(world.clock, 15 * MINUTE);
    expect(world.watch.view().state).toBe('blind');
    world.bmdb.tables.reachable = true;
    const seen = new Set<string>();
    await watch(25 * MINUTE, () => {
      seen.add(world.watch.view().state);
      expect(permitsHeld() + asked()).toBe(0);
    });
    expect([...seen].at(-1)).toBe('watching');
    expect(seen.has('grace')).toBe(true);
    expect(starts()).toBe(begun);
  });
});

test('a rack that dies is no storm: only the budget recovers at once, the others never notice', async () => {
  await begin({ locations: { hall: 52, rack: 8 } });
  const [rack, hall] = [hostsIn('rack'), hostsIn('hall')];
  expect([rack.length, hall.length]).toEqual([8, 52]);
  for (const host of rack) killForEver(host);
  let most = 0;
  await watch(90 * MINUTE, () => {
    most = Math.max(most, permitsHeld());
    expect(permitsHeld()).toBeLessThanOrEqual(2);
    expect(stateOf('fleet')).toBe('watching');
  });
  expect(most).toBe(2);
  expect(hall.every(({ executions }) => executions === 1)).toBe(true);
  const away = [...world.views.values()].filter(({ substate }) => substate !== 'healthy');
  expect(away.map(({ location }) => location)).toEqual(rack.map(() => 'rack'));
});

/** Whatever is done to it, it does not answer again. */
function killForEver(host: SimulatedMachine): void {
  host.killAgent();
  Object.defineProperty(host, 'unreachable', { get: () => true, set() {} });
}
