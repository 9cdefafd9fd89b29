import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NewRequest } from '../../../src/adapters/bmdb/port.ts';
import { fleetPlan } from '../../../src/daemon/views/plan-view.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { targetOf } from '../../contracts/requests-of.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
} from '../../support/played-world.ts';

/** The plan of a daemon with a pool at a balancer in memory, and then its actions. */

const SECOND = 1_000;
const MINUTE = 60_000;
const MACHINES = 12;

let world: PlayedWorld;
let daemon: PlayedDaemon;
beforeEach(async () => {
  world = createPlayedWorld({
    seed: 1,
    locations: { hall: MACHINES },
    config: { provisioner: { maxMachines: 0 } },
    hasPool: true,
  });
  daemon = await world.start({ name: 'one' });
  await pass(15 * MINUTE);
});
afterEach(async () => {
  await Promise.all([daemon.daemon.stop(), pass(MINUTE)]);
  world.end();
});

const pass = (ms: number) => advance(world.clock, ms);
const rowAt = (at: number) => [...world.bmdb.tables.machines.values()][at]!.row;
const memberAt = (at: number) => rowAt(at).members[0]?.state;
const viewAt = (at: number) =>
  [...daemon.daemon.board.entries.values()].find(
    ({ view }) => view.machineId === rowAt(at).machineId,
  )!;
const planned = () => {
  const { insight, parts } = daemon.daemon;
  return fleetPlan(parts, insight);
};
const ask = (what: NewRequest['what']) =>
  world.bmdb.requests.submit({ key: `ann-${what.verb}`, by: 'ann', reason: 'test', what });

test('plans actions while the pool is paused, and then carries them out', async () => {
  const [atRest] = planned().pools;
  expect(atRest).toMatchObject({ isHere: true, plan: { held: null, moves: [], failure: null } });
  expect(atRest!.plan).toMatchObject({ stage: 'settled', isComplete: true });
  await ask({ verb: 'pause-pool', pool: 'api', balancer: null });
  await pass(10 * SECOND);
  await ask({ verb: 'reboot', target: targetOf(rowAt(3)), force: false });
  await pass(15 * SECOND);
  expect(memberAt(3)).toBe('active');
  const [paused] = planned().pools;
  const [provider] = planned().providers;
  expect(paused!.plan).toMatchObject({ held: 'paused by ann: test' });
  expect(paused!.plan!.moves).toMatchObject([
    { member: viewAt(3).view.slot, from: 'active', to: 'draining' },
  ]);
  expect(provider).toMatchObject({ isHere: true, unlisted: null, mayEraseDisks: false });
  expect(provider!.plan!.summary).toMatchObject({ used: MACHINES, free: 0 });
  await ask({ verb: 'resume-pool', pool: 'api', balancer: null });
  await pass(MINUTE);
  expect(memberAt(3)).not.toBe('active');
});

test('leaves a silent machine alone while the guard is frozen, and gives the reason in the plan', async () => {
  await ask({ verb: 'freeze', scope: 'fleet' });
  await pass(10 * SECOND);
  world.hosts.get(`${rowAt(2).provided!.address}:22`)!.killAgent();
  await pass(DEFAULT_LOSS.heartbeatMs + 5 * MINUTE);
  const { state, substate, view } = viewAt(2);
  expect([state, substate, memberAt(2)]).toEqual(['Running', 'silent', 'active']);
  const why = { blockedBy: [{ kind: 'freeze' }, { kind: 'turn' }], next: { work: 'recovery' } };
  expect(planned().work).toMatchObject([
    { ...{ work: 'recovery', count: 1 }, machines: [{ slot: view.slot, state, substate, ...why }] },
    { work: 'agentStart', count: 0 },
    { work: 'deprovision', count: 0 },
  ]);
});
