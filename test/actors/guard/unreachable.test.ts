import { expect, test } from 'vitest';
import type { NewRequest } from '../../../src/adapters/bmdb/port.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { PROVIDER } from '../../support/facts.ts';
import { createSmallWorld } from '../../support/small-world.ts';
import type { SimulatedMachine, SmallWorld } from '../../support/small-world.ts';
import { advance } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;

/** A whole daemon over in-memory adapters, in virtual time. */
let world: SmallWorld;

const rows = (): MachineRow[] => [...world.bmdb.tables.machines.values()].map(({ row }) => row);
const permitsHeld = (): number =>
  [...world.bmdb.tables.machines.values()].filter(({ permitGrantedAtMs }) => permitGrantedAtMs)
    .length;
const file = (key: string, what: NewRequest['what']) =>
  world.bmdb.requests.file({ key, by: 'ann', reason: 'it is theirs', what });
const stateOf = (scope: string) =>
  world.watch.view().standings.find((each) => each.scope === scope)?.state;
/** Runs on until it is so. */
async function until(what: () => boolean, withinMs: number, look = () => {}): Promise<void> {
  for (let passedMs = 0; !what() && passedMs < withinMs; passedMs += 10_000) {
    await advance(world.clock, 10_000);
    look();
  }
  expect(what(), String(what)).toBe(true);
}

test('machines that could never be reached freeze it; a thaw holds, and the ladder goes on', async () => {
  world = createSmallWorld({ machines: 10, places: 10 });
  const hosts = world.hosts as Map<string, SimulatedMachine>;
  const add = hosts.set.bind(hosts);
  hosts.set = (address, host) => {
    if (hosts.size >= 4) Object.defineProperty(host, 'unreachable', { get: () => true, set() {} });
    return add(address, host);
  };
  await world.fleet();
  await until(() => stateOf('fleet') === 'frozen', 60 * MINUTE);
  const started = () => rows().filter(({ agentStarted }) => agentStarted).length;
  await until(() => started() === 4, 10 * MINUTE);
  await file('thaw-1', { verb: 'thaw', scope: 'fleet' });
  await file('thaw-2', { verb: 'thaw', scope: PROVIDER });
  await until(() => world.watch.view().state !== 'frozen', MINUTE);
  await until(() => world.watch.view().state === 'watching', 15 * MINUTE);
  const begun = new Set<string>();
  let most = 0;
  await until(
    () => begun.size === 6,
    24 * 60 * MINUTE,
    () => {
      expect(world.watch.view().state).toBe('watching');
      most = Math.max(most, permitsHeld());
      for (const { recovery, machineId } of rows()) if (recovery) begun.add(machineId);
    },
  );
  expect([most, world.permits.heldMax]).toEqual([2, 2]);
  expect(world.metrics.count('escalation', 'stub', 'rebooting')).toBeGreaterThanOrEqual(6);
});

test('a machine that was left switched off is switched on again in a freeze', async () => {
  world = createSmallWorld({ machines: 3 });
  await world.fleet();
  const isWell = () => [...world.views.values()].every(({ substate }) => substate === 'healthy');
  await until(() => world.views.size === 3 && isWell(), 30 * MINUTE);
  const [machine] = world.bmdb.tables.machines.values();
  const { providerId } = machine!.row.provided!;
  const power = () => world.provider.devices().find(({ id }) => id === providerId)!.power;
  await world.provider.setPower(providerId, 'off', { signal: new AbortController().signal });
  expect(power()).toBe('off');
  await file('freeze-1', { verb: 'freeze', scope: 'fleet' });
  await until(() => stateOf('fleet') === 'frozen', MINUTE);
  // As a daemon leaves it that dies in the midst of a power cycle.
  const nowMs = world.bmdb.tables.now();
  machine!.permitGrantedAtMs = nowMs - 2_000;
  machine!.row = {
    ...machine!.row,
    agentStarted: { ...machine!.row.agentStarted!, atMs: nowMs - 60 * MINUTE },
    heartbeat: { atMs: nowMs - 50 * MINUTE, bootId: null },
    recovery: {
      rung: 'powerCycling',
      attempts: 1,
      nextAtMs: null,
      orderKey: null,
      operationRef: null,
      askedAtMs: nowMs - 1_000,
      askedRung: 'powerCycling',
      bootIdBefore: 'an old one',
      hostKeyBefore: null,
      offSeenAtMs: nowMs,
      powerOffAskedAtMs: nowMs - 1_000,
    },
  };
  world.bmdb.tables.touch(machine!.row.machineId);
  await until(() => power() === 'on', 10 * MINUTE);
  await until(isWell, 30 * MINUTE);
  expect(stateOf('fleet')).toBe('frozen');
});
