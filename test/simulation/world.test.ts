import { afterEach, beforeEach, expect, test } from 'vitest';
import { installState } from '../../src/domain/eligibility.ts';
import { targetOf } from '../contracts/requests-of.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { createPlayedWorld, type PlayedDaemon, type PlayedWorld } from '../support/played-world.ts';

const MINUTE = 60_000;

let world: PlayedWorld;
let daemon: PlayedDaemon;
beforeEach(async () => {
  const config = { provisioner: { maxMachines: 0 } };
  world = createPlayedWorld({ seed: 1, locations: { hall: 6 }, config, hasControllers: true });
  daemon = await world.start({ name: 'one' });
  await pass(15);
});
afterEach(async () => {
  await Promise.all([daemon.daemon.stop(), pass(1)]);
  world.end();
});
const pass = (minutes: number) => advance(world.clock, minutes * MINUTE);
const machines = () => {
  const rows = [...world.bmdb.tables.machines.values()].map(({ row }) => row);
  return rows.map((row) => ({ row, host: world.hosts.get(`${row.provided!.address}:22`)! }));
};
const places = () =>
  machines().map(({ row }) => {
    const entries = [...daemon.daemon.board.entries.values()];
    const { state, substate } = entries.find(({ view }) => view.machineId === row.machineId)!;
    return `${state} ${substate}`;
  });

test('a machine is what its operators and its hardware make of it', async () => {
  const [installed, foreign, hung, failing] = machines();
  const about = { by: 'ann', reason: 'test' };
  const image = {
    ...{ url: 'https://images.example/os.img', sha256: '0'.repeat(64) },
    ...({ compression: 'none', rootDevice: { name: 'sda' } } as const),
  };
  failing!.host.installs = 'Error';
  for (const { row } of [installed!, failing!]) {
    const what = { verb: 'install', target: targetOf(row), image } as const;
    await world.bmdb.requests.file({ key: row.machineId, ...about, what });
  }
  foreign!.host.impersonate('key of a stranger');
  const { providerId } = hung!.row.provided!;
  world.provider.hung.add(providerId);
  hung!.host.die('powerCycle');
  await pass(100);
  expect(world.provider.hung).toEqual(new Set());
  expect(hung!.host.executions).toBe(2);
  expect(machines().map(({ host }) => host.agents)).toEqual([0, 0, 1, 1, 1, 1]);
  expect(machines().map(({ row }) => installState(row))).toEqual([
    'DONE',
    'NONE',
    'NONE',
    'FAILED',
    'NONE',
    'NONE',
  ]);
  expect(places()).toEqual([
    'HandedOver installed',
    'Quarantined conflict',
    'Running healthy',
    'Running healthy',
    'Running healthy',
    'Running healthy',
  ]);
});

test('heartbeats are lost, doubled and late, and a machine is unwell only without them', async () => {
  const [lost, doubled, late] = machines();
  lost!.host.calls = { isLost: true };
  doubled!.host.calls = { isDoubled: true };
  late!.host.calls = { lateMs: 2 * MINUTE };
  await pass(20);
  expect(machines().map(({ host }) => host.executions)).toEqual([2, 1, 1, 1, 1, 1]);
});

test('a daemon goes by no wall clock, and agents find another way to the fleet', async () => {
  world.setClock('one', -60 * MINUTE);
  await pass(5);
  expect(places()).toEqual(Array.from({ length: 6 }, () => 'Running healthy'));
  world.deafen('one', true);
  const other = await world.start({ name: 'two' });
  await pass(15);
  expect(machines().map(({ host }) => host.executions)).toEqual([1, 1, 1, 1, 1, 1]);
  await Promise.all([other.daemon.stop(), pass(1)]);
});
