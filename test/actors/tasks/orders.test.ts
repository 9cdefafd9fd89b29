import { beforeEach, describe, expect, test } from 'vitest';
import type { RequestedThing } from '../../../src/adapters/bmdb/port.ts';
import { slotIdOf } from '../../../src/domain/ids.ts';
import { IDLE_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import type { MachineView } from '../../../src/domain/view.ts';
import { PROVIDER } from '../../support/facts.ts';
import { createSmallWorld, type SmallWorld } from '../../support/small-world.ts';
import { advance } from '../../doubles/simulated-clock.ts';

/** Operator requests, carried out by a whole daemon with shipped charts, services and mirror. */

const MINUTE = 60_000;
let world: SmallWorld;
let submitted = 0;
beforeEach(async () => {
  world = createSmallWorld({ machines: 1 });
  await world.fleet();
  await advance(world.clock, MINUTE);
  await until(() => view().substate === 'healthy');
});

const view = (): MachineView => [...world.views.values()][0]!;
const shown = () => [...world.board.entries.values()][0]!;
const host = () => [...world.hosts.values()][0]!;
async function until(holds: () => boolean, limitMs = 60 * MINUTE) {
  for (let waitedMs = 0; !holds(); waitedMs += 1_000) {
    if (waitedMs > limitMs) throw new Error(`not reached: ${JSON.stringify(view())}`);
    await advance(world.clock, 1_000);
  }
}
type OrderDetails<Verb extends RequestedThing['verb']> = Omit<
  Extract<RequestedThing, { verb: Verb }>,
  'target' | 'verb'
>;
async function submit<Verb extends RequestedThing['verb']>(verb: Verb, about: OrderDetails<Verb>) {
  const { slot, machineId } = view();
  const target = { provider: PROVIDER, slotId: slotIdOf(slot), machineId };
  const what = { verb, ...about, target } as unknown as RequestedThing;
  const key = `ann-${(submitted += 1)}`;
  await world.bmdb.requests.submit({ key, by: 'ann', reason: 'because', what });
  return async () => (await world.bmdb.requests.read([key], new AbortController().signal))[0]!;
}

test('shows a waiting order in the machine’s present state', async () => {
  const slots = { provider: PROVIDER, slotId: slotIdOf(view().slot) };
  world.bmdb.tables.guard.rows.set('fleet', {
    ...world.bmdb.tables.guard.rows.get('fleet')!,
    frozen: { atMs: 0, by: 'ann', kind: 'manual', reason: 'maintenance', untilMs: null },
  });
  const request = await submit('reboot', { force: false });
  await advance(world.clock, 5 * MINUTE);
  expect(shown()).toMatchObject({ state: 'Running', substate: 'healthy' });
  expect(view()).toMatchObject({ next: 'recovery', reason: 'ann asked for a reboot: because' });
  await advance(world.clock, 60 * MINUTE);
  expect(await request()).toMatchObject({ ...slots, state: 'refused' });
  expect(view()).toMatchObject({ next: null, reason: null, request: null });
  expect(world.provider.calls.count('reboot')).toBe(0);
});

test('refuses an order at once that a hold forbids, by the machine’s actor', async () => {
  const held = await submit('hold', { kind: 'no-recover', untilMs: null });
  await advance(world.clock, 1_000);
  expect(await held()).toMatchObject({ state: 'done' });
  const request = await submit('reboot', { force: false });
  await advance(world.clock, 1_000);
  expect(await request()).toMatchObject({ state: 'refused', outcome: 'a hold forbids it' });
});

describe('a decision of an operator', () => {
  test('sets a hold, visible at once and in the tag of the device', async () => {
    await submit('hold', { kind: 'preserve', untilMs: null });
    await advance(world.clock, 1_000);
    expect(view().holds).toEqual(['preserve']);
    await advance(world.clock, 3 * MINUTE);
    expect(world.provider.devices()[0]!.tags[IDLE_TAG]).toBe('hold');
    await submit('unhold', { kind: 'preserve' });
    await advance(world.clock, 15 * MINUTE);
    expect(world.provider.devices()[0]!.tags[IDLE_TAG]).toBe('run');
  });

  test('quarantines a machine and releases it', async () => {
    await submit('quarantine', { untilMs: null });
    await advance(world.clock, 1_000);
    expect(view()).toMatchObject({
      state: 'Quarantined',
      substate: 'byOperator',
      reason: 'because',
      endedBy: 'an operator: shepherd machine release',
    });
    await submit('release', { forgetHostKey: false });
    await advance(world.clock, 1_000);
    expect(view().state).toBe('Running');
  });

  test('is applied while this daemon works on the machine', async () => {
    host().killAgent();
    host().unreachable = true;
    await until(() => shown().state === 'Recovering' && shown().substate === 'rebooting');
    const request = await submit('hold', { kind: 'no-start', untilMs: null });
    await advance(world.clock, 1_000);
    expect(await request()).toMatchObject({ state: 'done' });
    expect(shown()).toMatchObject({ state: 'Recovering', substate: 'rebooting' });
  });
});
