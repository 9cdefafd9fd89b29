import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NewRequest } from '../../src/adapters/bmdb/port.ts';
import { mayServe, type MemberRow } from '../../src/domain/balancing/members.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { createPlanView } from '../../src/daemon/views/plan-view.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { MemoryBalancer } from '../doubles/memory-balancer.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { PROVIDER } from '../support/facts.ts';
import { createPlayedWorld, type PlayedDaemon, type PlayedWorld } from '../support/played-world.ts';

/**
 * A whole daemon with a pool at a balancer in memory, and machines that come up, fall silent, and are
 * rebooted and given back: all in virtual time, with default settings and pacing.
 */

const SECOND = 1_000;
const MINUTE = 60_000;
const MACHINES = 12;
const LOST_MS = DEFAULT_LOSS.heartbeatMs;

let world: PlayedWorld;
let balancer: MemoryBalancer;
let daemon: PlayedDaemon;
/** What happened to machines that may have been getting traffic. */
let harmed: string[];

beforeEach(async () => {
  world = createPlayedWorld({
    seed: 1,
    locations: { hall: MACHINES },
    config: { provisioner: { maxMachines: 0 } },
    hasPool: true,
  });
  balancer = world.balancer!;
  harmed = [];
  daemon = await world.start({ name: 'one' });
  await pass(15 * MINUTE);
});
afterEach(async () => {
  await Promise.all([daemon.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

const rows = (): readonly MachineRow[] =>
  [...world.bmdb.tables.machines.values()].map(({ row }) => row);
const rowOf = (id: MachineId) => rows().find(({ machineId }) => machineId === id);
const memberOf = (id: MachineId): MemberRow | undefined => rowOf(id)?.members[0];
const stateOf = (id: MachineId) => memberOf(id)?.state ?? null;
const hostOf = ({ provided }: MachineRow): SimulatedMachine | undefined =>
  world.hosts.get(`${provided?.address}:22`);
const serverOf = (id: MachineId) => balancer.servers(id)[0];
const viewOf = (id: MachineId) =>
  [...daemon.daemon.board.entries.values()].find(({ view }) => view.machineId === id)?.view;
const reasonOf = (id: MachineId) => viewOf(id)?.reason;
const substateOf = (id: MachineId) => {
  const found = viewOf(id);
  return found && `${found.state} · ${found.substate}`;
};

/** Lets time pass, and watches for machines that are rebooted while they may be serving. */
async function pass(ms: number): Promise<void> {
  const serving = new Map(
    rows().flatMap((row) => {
      const host = hostOf(row);
      return host ? [[host, { id: row.machineId, bootId: host.bootId }] as const] : [];
    }),
  );
  await advance(world.clock, ms, () => {
    for (const [host, { id, bootId }] of serving) {
      if (host.bootId === bootId) continue;
      serving.delete(host);
      if (isServing(id)) harmed.push(`${id} was rebooted while ${stateOf(id)}`);
    }
  });
}
async function until(isSo: () => boolean, limitMs: number): Promise<void> {
  for (let waitedMs = 0; !isSo(); waitedMs += SECOND) {
    if (waitedMs > limitMs) throw new Error(`not so within ${limitMs} ms: ${isSo}`);
    await pass(SECOND);
  }
}
const isServing = (id: MachineId) => {
  const member = memberOf(id);
  return member !== undefined && mayServe(member);
};
/** What the daemon would do next. */
const planned = () => {
  const { insight, parts } = daemon.daemon;
  return createPlanView({ config: world.config, insight, parts }).plan();
};
const ask = (what: NewRequest['what']) =>
  world.bmdb.requests.file({ key: `ann-${what.verb}`, by: 'ann', reason: 'test', what });
const targetOf = ({ machineId, provided }: MachineRow) => ({
  provider: PROVIDER,
  slotId: provided!.reservationId!,
  machineId,
});

test('machines come up and serve', async () => {
  expect(rows()).toHaveLength(MACHINES);
  expect(rows().map(({ machineId }) => stateOf(machineId))).toEqual(
    Array.from({ length: MACHINES }, () => 'active'),
  );
  for (const { machineId } of rows()) expect(serverOf(machineId)).toMatchObject({ mode: 'active' });
  const [standing] = world.bmdb.tables.pools.values();
  expect(standing).toMatchObject({ state: 'settled', reason: null, frozen: null });
});

test('an order waits until the balancer has let the machine go, which then serves again', async () => {
  const row = rows()[3]!;
  const { machineId } = row;
  const host = hostOf(row)!;
  const { bootId } = host;
  serverOf(machineId)!.sessions = 3;
  await ask({ verb: 'reboot', target: targetOf(row), force: false });
  await pass(15 * SECOND);
  expect(memberOf(machineId)).toMatchObject({ state: 'draining', sessions: 3 });
  expect(serverOf(machineId)).toMatchObject({ mode: 'drain' });
  expect(substateOf(machineId)).toBe('Running · healthy');
  expect(reasonOf(machineId)).toContain(
    'waits until pool api at edge lets it go: 3 connections, until ',
  );
  expect(host.bootId, 'it is not touched while it serves').toBe(bootId);
  serverOf(machineId)!.sessions = 0;
  await pass(10 * SECOND);
  expect(memberOf(machineId)).toMatchObject({ state: 'drained', how: 'no-sessions' });
  await pass(15 * MINUTE);
  expect(host.bootId).not.toBe(bootId);
  expect(stateOf(machineId)).toBe('active');
  expect(serverOf(machineId)).toMatchObject({ mode: 'active' });
  expect(harmed).toEqual([]);
});

test('the plan tells what would be done while the pool is paused, and then it is done', async () => {
  const [atRest] = planned().pools;
  expect(atRest).toMatchObject({ isHere: true, plan: { held: null, moves: [], failure: null } });
  expect(atRest!.plan!.plan).toMatchObject({ stage: 'settled', isComplete: true });
  const row = rows()[3]!;
  const { machineId } = row;
  await ask({ verb: 'pause-pool', pool: 'api', balancer: null });
  await pass(10 * SECOND);
  await ask({ verb: 'reboot', target: targetOf(row), force: false });
  await pass(15 * SECOND);
  expect(stateOf(machineId)).toBe('active');
  const [paused] = planned().pools;
  const [provider] = planned().providers;
  expect(paused!.plan).toMatchObject({ held: 'paused by ann: test' });
  expect(paused!.plan!.moves).toMatchObject([
    { member: viewOf(machineId)!.slot, from: 'active', to: 'draining' },
  ]);
  expect(provider).toMatchObject({ isHere: true, unlisted: null, mayEraseDisks: false });
  expect(provider!.planned!.foresight.summary).toMatchObject({ used: MACHINES, free: 0 });
  await ask({ verb: 'resume-pool', pool: 'api', balancer: null });
  await until(() => stateOf(machineId) !== 'active', MINUTE);
});

test('a silent machine is dropped at once, and brought back', async () => {
  const { machineId } = rows()[1]!;
  hostOf(rows()[1]!)!.killAgent();
  await pass(LOST_MS - MINUTE);
  expect(stateOf(machineId)).toBe('active');
  const heardAtMs = rowOf(machineId)!.heartbeat!.atMs;
  await until(() => !isServing(machineId), 2 * MINUTE);
  const silentMs = world.clock.now() - heardAtMs;
  expect(silentMs).toBeGreaterThanOrEqual(LOST_MS);
  expect(silentMs).toBeLessThan(LOST_MS + 15 * SECOND);
  await until(() => stateOf(machineId) === 'active', 20 * MINUTE);
  expect(harmed).toEqual([]);
});

test('while the guard is frozen a silent machine stays where it is', async () => {
  const { machineId } = rows()[2]!;
  await ask({ verb: 'freeze', scope: 'fleet' });
  await pass(10 * SECOND);
  hostOf(rows()[2]!)!.killAgent();
  await pass(LOST_MS + 5 * MINUTE);
  expect(substateOf(machineId)).toBe('Running · silent');
  expect(stateOf(machineId)).toBe('active');
  expect(planned().work).toMatchObject([
    {
      ...{ work: 'recovery', count: 1 },
      machines: [
        {
          ...{ slot: viewOf(machineId)!.slot, state: 'Running', substate: 'silent' },
          explanation: {
            blockedBy: [{ kind: 'freeze' }, { kind: 'turn' }],
            next: { work: 'recovery' },
          },
        },
      ],
    },
    { work: 'agentStart', count: 0 },
    { work: 'deprovision', count: 0 },
  ]);
  await ask({ verb: 'thaw', scope: 'fleet' });
  await until(() => !isServing(machineId), MINUTE);
  await until(() => stateOf(machineId) === 'active', 30 * MINUTE);
  expect(harmed).toEqual([]);
});

test('a machine is drained before it is given back', async () => {
  const row = rows()[5]!;
  const { machineId } = row;
  const devices = world.provider.devices().length;
  serverOf(machineId)!.sessions = 1;
  await ask({ verb: 'hold', kind: 'no-allocate', untilMs: null, target: targetOf(row) });
  await ask({ verb: 'deprovision', target: targetOf(row) });
  await pass(15 * SECOND);
  expect(substateOf(machineId)).toBe('Deprovisioning · draining');
  expect(world.provider.devices()).toHaveLength(devices);
  serverOf(machineId)!.sessions = 0;
  await pass(10 * MINUTE);
  expect(rowOf(machineId)).toBeUndefined();
  expect(serverOf(machineId)).toBeUndefined();
  expect(world.provider.devices().length).toBeLessThan(devices);
});
