import { beforeEach, describe, expect, test } from 'vitest';
import { STRAY_MS } from '../../../src/actors/guard/provide-guard.ts';
import type { NewRequest, RequestedThing, RequestState } from '../../../src/adapters/bmdb/port.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { PROVIDER } from '../../support/facts.ts';
import { createSmallWorld, type SmallWorld } from '../../support/small-world.ts';
import { advance } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;

/** A whole daemon over in-memory adapters, in virtual time, with an operator who asks for things. */
let world: SmallWorld;

beforeEach(async () => {
  world = createSmallWorld({ machines: 3 });
  await world.fleet();
  await advance(world.clock, 15 * MINUTE);
  expect(world.watch.view().state).toBe('watching');
});

const ask = (key: string, what: RequestedThing, change: Partial<NewRequest> = {}) =>
  world.bmdb.requests.file({ key, by: 'ann', reason: 'works on the switches', what, ...change });
const stateOf = async (key: string): Promise<RequestState> => {
  const [found] = await world.bmdb.requests.read([key], new AbortController().signal);
  return found!;
};
const views = () => [...world.views.values()];
const kill = () => {
  const [host] = world.hosts.values();
  host!.killAgent();
  return host!;
};
/** Where the machine on that host is. */
const targetOf = (host: ReturnType<typeof kill>) => {
  const view = views().find(({ address }) => world.hosts.get(`${address}:22`) === host)!;
  return { provider: PROVIDER, slotId: view.reservationId!, machineId: view.machineId };
};

describe.each([['fleet'], [PROVIDER]] as const)('a freeze of %s by an operator', (scope) => {
  test('is carried out at once, and holds until an operator thaws', async () => {
    await ask('freeze-1', { verb: 'freeze', scope });
    await advance(world.clock, 1_000);
    expect(await stateOf('freeze-1')).toMatchObject({
      state: 'done',
      settledAtMs: expect.any(Number),
    });
    expect(world.watch.view()).toMatchObject({
      state: 'frozen',
      standings: expect.arrayContaining([
        {
          scope,
          state: 'frozen',
          reason: 'ann: works on the switches',
          sinceMs: expect.any(Number),
        },
      ]),
    });
    const host = kill();
    await advance(world.clock, 60 * MINUTE);
    expect([host.executions, world.permits.heldMax]).toEqual([1, 0]);
    expect(views().filter(({ substate }) => substate === 'silent')).toHaveLength(1);
    await ask('thaw-1', { verb: 'thaw', scope });
    await advance(world.clock, 1_000);
    expect((await stateOf('thaw-1')).state).toBe('done');
    await advance(world.clock, 2 * MINUTE);
    expect(host.executions).toBe(2);
    expect(views().every(({ substate }) => substate === 'healthy')).toBe(true);
  });
});

test('a freeze of another provider keeps nobody waiting', async () => {
  await ask('freeze-1', { verb: 'freeze', scope: providerName('other') });
  await advance(world.clock, 1_000);
  const host = kill();
  await advance(world.clock, 12 * MINUTE);
  expect(host.executions).toBe(2);
});

test('an order waits while frozen, is carried out after the thaw, and expires otherwise', async () => {
  await ask('freeze-1', { verb: 'freeze', scope: 'fleet' });
  await advance(world.clock, 1_000);
  const [first, second] = [...world.hosts.values()];
  const boots = [first!.bootId, second!.bootId];
  const order = (key: string, host: typeof first, validForMs: number) =>
    ask(key, { verb: 'reboot', force: false, target: targetOf(host!) }, { validForMs });
  await order('reboot-1', first, 4 * 60 * MINUTE);
  await order('reboot-2', second, 10 * MINUTE);
  await advance(world.clock, 30 * MINUTE);
  expect([first!.bootId, second!.bootId]).toEqual(boots);
  expect(await stateOf('reboot-1')).toMatchObject({ state: 'open' });
  expect(await stateOf('reboot-2')).toMatchObject({ state: 'refused' });
  await ask('thaw-1', { verb: 'thaw', scope: 'fleet' });
  await advance(world.clock, 5 * MINUTE);
  expect(first!.bootId).not.toBe(boots[0]);
  expect(second!.bootId).toBe(boots[1]);
  expect(await stateOf('reboot-1')).toMatchObject({ state: 'done' });
});

test('what is asked of a slot that nobody knows is settled too, after a while', async () => {
  const target = { provider: PROVIDER, slotId: 'rack-9', machineId: null };
  await ask('hold-1', { verb: 'hold', target, kind: 'no-allocate', untilMs: null });
  await advance(world.clock, STRAY_MS - 1_000);
  expect((await stateOf('hold-1')).state).toBe('open');
  await advance(world.clock, 10_000);
  expect((await stateOf('hold-1')).state).toBe('done');
  expect(world.bmdb.tables.holds).toMatchObject([{ slotId: 'rack-9', kind: 'no-allocate' }]);
});
