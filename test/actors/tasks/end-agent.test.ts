import { beforeEach, describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { Denied, ProviderError } from '../../../src/domain/errors.ts';
import type { ProviderMachine } from '../../../src/domain/machine.ts';
import type { TaskResult } from '../../../src/machines/task.ts';
import { agentStarted, deprovisionAsked, device, MACHINE, NOW_MS } from '../../support/facts.ts';
import { scriptedProvider } from '../../doubles/scripted-provider.ts';
import { createTaskStand, type TaskStand } from '../../support/task-stand.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { runDeprovision } from './run-deprovision.ts';

const MINUTE = 60_000;
let stand: TaskStand;
let isListed: boolean;
let lastSeen: ProviderMachine | null;
let provider: FleetProvider;

beforeEach(async () => {
  stand = createTaskStand();
  [isListed, lastSeen] = [true, device({ address: '192.0.2.1' })];
  provider = scriptedProvider({
    inventory: { lastSeen: () => lastSeen },
    getMachine: async (id) => {
      stand.done.push('get');
      if (!isListed) throw new ProviderError('not-found', `no machine ${id}`);
      return device({ address: '192.0.2.1' });
    },
    deprovisionMachine: async () => {
      stand.done.push('let go');
      if (!provider.inventory) isListed = false;
    },
    isReusable: async () => true,
  });
  stand.host.run = ([command, , , name]) => ({
    exitCode: command === 'sh' && name === 'stop-agent' ? 0 : 127,
  });
  await stand.openSession();
});

const begin = () => runDeprovision(stand, provider);
const given = (change = {}) =>
  stand.given({
    deprovision: deprovisionAsked({ reason: 'moved out' }),
    agentStarted: agentStarted(NOW_MS - MINUTE),
    hostKey: stand.host.hostKey,
    ...change,
  });
const isThere = () => stand.bmdb.tables.machines.has(MACHINE);
const lines = () => stand.bmdb.tables.events.map(({ kind, reason }) => `${kind} ${reason}`);
const stops = () => stand.done.filter((each) => each.includes('stop-agent')).length;
const finished = async (result: Promise<TaskResult>) => {
  await advance(stand.clock, 5 * MINUTE);
  expect(await result).toMatchObject({ outcome: 'done', failure: null });
  expect(isThere()).toBe(false);
};

describe('C2: giving back a machine that lives on', () => {
  test('stops its agent first and records that', async () => {
    given();
    await finished(begin());
    expect(stops()).toBe(1);
    const order = stand.done.filter((each) => /stop-agent|let go/.test(each));
    expect(order.at(-1)).toBe('let go');
    expect(order[0]).toContain('/root/agent');
    expect(stand.bmdb.tables.holds, 'C3: it is barred from being taken in again').toMatchObject([
      { kind: 'no-allocate', setBy: 'ann', reason: 'given back: moved out' },
    ]);
    expect(lines()).toContain(
      'deprovisioned device device-1; its agent was stopped, and none runs there any more',
    );
  });

  test.each([
    ['as it was listed last', () => undefined],
    ['as the BMDB knows it, after a restart', () => void (lastSeen = null)],
  ])('reaches a machine that is no longer listed %s', async (_name, arrange) => {
    isListed = false;
    arrange();
    given();
    await finished(begin());
    expect(stops()).toBe(1);
  });

  test('tries a machine that does not answer three times and lets it go', async () => {
    stand.host.unreachable = true;
    given();
    await finished(begin());
    expect(stand.done.filter((each) => each === 'connect')).toHaveLength(3);
    expect(lines().join()).toMatch(
      /its agent could not be stopped \(.*refused\); it ends by itself once it was refused for 30 min/,
    );
  });

  test('spends half a minute per try on a machine that hangs', async () => {
    stand.host.hangs = 'execute';
    given();
    await finished(begin());
    expect(stops()).toBe(3);
  });

  test.each([
    ['a key that it refuses', () => void (stand.connecting = new Denied('every key was refused'))],
    ['another host', () => void (stand.host.hostKey = 'b3RoZXI=')],
  ])('runs nothing behind %s and does not try again', async (_name, arrange) => {
    given();
    arrange();
    await finished(begin());
    expect(stand.done.filter((each) => each === 'connect')).toHaveLength(1);
    expect(stops()).toBe(0);
    expect(lines().join()).toContain('its agent could not be stopped');
  });

  test('does not connect to a machine on which no agent ever ran', async () => {
    given({ agentStarted: null });
    await finished(begin());
    expect(stand.done).not.toContain('connect');
    expect(lines()).toContain('deprovisioned device device-1; it had no agent');
  });

  test('asks nothing of a system whose device is deleted', async () => {
    delete (provider as { inventory?: unknown }).inventory;
    given();
    await finished(begin());
    expect(stand.done).not.toContain('connect');
  });
});

describe('a stop of the daemon while giving back', () => {
  test('does not wait for a machine that does not answer', async () => {
    stand.host.unreachable = true;
    given();
    const result = begin();
    await advance(stand.clock, 1_000);
    expect(stand.done).toContain('connect');
    const drained = stand.taskPool.drain(20_000);
    await advance(stand.clock, 1);
    expect(await result).toMatchObject({ outcome: 'failed', failure: { code: 'cancelled' } });
    await drained;
    expect(stand.done).not.toContain('let go');
    expect(stand.row().deprovision).not.toBeNull();
  });

  test('does not wait for a machine that can only wait', async () => {
    provider = { ...provider, deprovisionMachine: async () => undefined };
    delete (provider as { inventory?: unknown }).inventory;
    given();
    const result = begin();
    await advance(stand.clock, MINUTE);
    expect(stand.taskPool.busy).toBe(1);
    const drained = stand.taskPool.drain(20_000);
    await advance(stand.clock, 1);
    expect(await result).toMatchObject({ outcome: 'failed', failure: { code: 'cancelled' } });
    await drained;
    expect(stand.row().backoffs).toEqual([]);
    expect(stand.log.count('tasks are cancelled, because their time to end is over')).toBe(0);
  });
});
