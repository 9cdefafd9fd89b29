import { expect, onTestFinished, test } from 'vitest';
import type { CallOptions } from '../../../../../src/adapters/provider/port.ts';
import {
  createSwitched,
  type Power,
  type ResetCall,
  type SwitchAction,
} from '../../../../../src/adapters/provider/static/resets/power-switch.ts';
import { ProviderError } from '../../../../../src/domain/errors.ts';
import { recordingLog } from '../../../../doubles/recording-log.ts';
import { advance, createSimulatedClock, runOut } from '../../../../doubles/simulated-clock.ts';
import { callOf, failureOf } from '../../driver-stand.ts';

const UNKNOWN = { outcome: 'unknown' } as const;
const lost = () => new ProviderError('transient', 'no answer', UNKNOWN);
const unsupported = () => new ProviderError('not-implemented', 'cannot');

/** A machine behind a scripted switch. */
function stand({ gracefulStaysOff = true } = {}) {
  const clock = createSimulatedClock();
  const log = recordingLog();
  const did: string[] = [];
  const machine = {
    power: 'on' as Power,
    /** Fails the reads. */
    unread: null as ProviderError | null,
    other: false,
    /** What an action does; the default obeys. */
    acts: {} as Partial<Record<SwitchAction, () => void>>,
  };
  const obey: Readonly<Record<SwitchAction, () => void>> = {
    on: () => void (machine.power = 'on'),
    off: () => void (machine.power = 'off'),
    reset: () => undefined,
    cycle: () => undefined,
    graceful: () => void (machine.power = 'off'),
  };
  const switched = createSwitched<string>(
    {
      keyOf: (reset) => reset,
      gracefulStaysOff,
      async read() {
        did.push('read');
        if (machine.unread) throw machine.unread;
        return machine.power;
      },
      async checkIdentity(_reset, { id }) {
        if (machine.other) throw new ProviderError('conflict', `not ${id}`);
      },
      async act(action) {
        did.push(action);
        (machine.acts[action] ?? obey[action])();
      },
    },
    { clock, log },
  );
  onTestFinished(() => switched.stop());
  const entry = { id: 'a', address: '192.0.2.1', reset: 'bmc-1' };
  const call = (change: Partial<CallOptions> = {}) =>
    callOf({
      deadline: new Date(clock.now() + 300_000),
      requireOurs: ({ power }) => void did.push(`ours ${power}`),
      beforeSending: async () => void did.push('before'),
      ...change,
    });
  const show: ResetCall['show'] = (view) => view as never;
  return {
    ...{ clock, log, did, machine, switched, entry, call },
    change: (wish: Parameters<typeof switched.change>[1], how = call()) =>
      runOut(clock, switched.change(entry, wish, { call: how, show })),
    look: async () => (await runOut(clock, switched.look(entry, call()))).power,
    last: async () => (await switched.list([entry], call())).get('a')!.power,
  };
}

test('reads, checks the owner, and asks whether the change is still wanted before it sends', async () => {
  const { change, did } = stand();
  const { operationRef, isGraceful } = await change('reboot by force');
  expect(did).toEqual(['read', 'ours on', 'before', 'reset']);
  expect(operationRef).toMatch(/^reset a 2023-/);
  expect(isGraceful).toBeUndefined();
});

test('sends nothing if the power is already as wanted', async () => {
  const { change, did, machine } = stand();
  machine.power = 'off';
  expect((await change('off')).operationRef).toMatch(/^already a /);
  expect(did).toEqual(['read', 'ours off']);
});

test('does not take unknown power for off', async () => {
  const { change, did, machine } = stand();
  machine.power = 'unknown';
  machine.acts.off = () => undefined;
  await change('off');
  await change('reboot by force');
  expect(did.filter((each) => /^(off|on|reset)$/.test(each))).toEqual(['off', 'reset']);
});

test.each<[string, (its: ReturnType<typeof stand>) => Partial<CallOptions>, string]>([
  ['another machine', ({ machine }) => ((machine.other = true), {}), 'conflict'],
  [
    'a BMC that cannot be read',
    ({ machine }) => ((machine.unread = new ProviderError('transient', 'silent')), {}),
    'transient',
  ],
  [
    'a machine that is not ours',
    () => ({
      requireOurs() {
        throw new ProviderError('conflict', 'foreign');
      },
    }),
    'conflict',
  ],
  [
    'a change that is no longer wanted',
    () => ({ beforeSending: () => Promise.reject(new ProviderError('aborted', 'well again')) }),
    'aborted',
  ],
])('sends nothing to %s', async (_, prepare, kind) => {
  const its = stand();
  const how = its.call(prepare(its));
  const failure = await failureOf(its.change('reboot by force', how));
  expect(failure).toMatchObject({ kind, outcome: 'not-done' });
  expect(its.did).not.toContain('reset');
});

test('never repeats a reset whose answer was lost', async () => {
  const { change, did, machine } = stand();
  machine.acts.reset = () => {
    throw lost();
  };
  expect(await failureOf(change('reboot by force'))).toMatchObject({
    kind: 'transient',
    outcome: 'unknown',
  });
  expect(did.filter((each) => each === 'reset')).toHaveLength(1);
});

test.each([true, false])(
  'believes the power about a lost answer: off was done %s',
  async (isDone) => {
    const { change, machine } = stand();
    machine.acts.off = () => {
      if (isDone) machine.power = 'off';
      throw lost();
    };
    const changed = change('off');
    if (isDone) expect((await changed).operationRef).toMatch(/^off a /);
    else expect(await failureOf(changed)).toMatchObject({ outcome: 'unknown' });
  },
);

test('uses the next action if one is not supported, and fails with the last', async () => {
  const { change, did, machine } = stand();
  for (const action of ['graceful', 'reset'] as const) {
    machine.acts[action] = () => {
      throw unsupported();
    };
  }
  expect((await change('reboot gracefully')).operationRef).toMatch(/^cycle /);
  expect(did.filter((each) => !/^(before|read|ours)/.test(each))).toEqual([
    ...['graceful', 'reset', 'cycle'],
  ]);
  machine.acts.cycle = () => {
    throw unsupported();
  };
  expect(await failureOf(change('reboot by force'))).toMatchObject({ kind: 'not-implemented' });
});

test('switches a machine on again after its shutdown, also after failures', async () => {
  const { change, did, machine } = stand();
  let tries = 0;
  machine.acts.on = () => {
    tries += 1;
    if (tries < 3) throw new ProviderError('transient', 'busy');
    machine.power = 'on';
  };
  expect(await change('reboot gracefully')).toMatchObject({ isGraceful: false });
  expect([machine.power, did.filter((each) => each === 'on').length]).toEqual(['on', 3]);
});

test('leaves a system that ignores the shutdown to the next attempt, within the deadline', async () => {
  const { change, clock, call, did, machine } = stand();
  machine.acts.graceful = () => undefined;
  const begunMs = clock.now();
  expect(await change('reboot gracefully')).toMatchObject({ isGraceful: true });
  expect(clock.now() - begunMs).toBeLessThanOrEqual(130_000);
  expect(did).not.toContain('on');
  const soonMs = clock.now() + 30_000;
  await change('reboot gracefully', call({ deadline: new Date(soonMs) }));
  expect(clock.now()).toBeLessThan(soonMs);
});

test('leaves the restart after a graceful request to a program', async () => {
  const { change, did } = stand({ gracefulStaysOff: false });
  expect(await change('reboot gracefully')).toMatchObject({ isGraceful: true });
  expect(did.at(-1)).toBe('graceful');
});

test('reads the power once for several looks, and not for a while after a failure', async () => {
  const { look, last, did, machine, clock, log } = stand();
  expect([await look(), await look(), await last()]).toEqual(['on', 'on', 'on']);
  expect(did).toEqual(['read']);
  machine.unread = new ProviderError('transient', 'silent');
  await advance(clock, 6_000);
  expect([await look(), await look()], 'unknown, and no error').toEqual(['unknown', 'unknown']);
  expect(did).toEqual(['read', 'read']);
  await advance(clock, 61_000);
  expect([await look(), await last()]).toEqual(['unknown', 'unknown']);
  expect(did).toHaveLength(3);
  expect(log.count('its power cannot be read'), 'logged once').toBe(1);
  machine.unread = null;
  await advance(clock, 61_000);
  expect([await look(), log.count('its power can be read again')]).toEqual(['on', 1]);
});

test('asks a BMC one thing after the other', async () => {
  const { clock, did, machine, switched, entry } = stand();
  const gate = Promise.withResolvers<void>();
  machine.acts.reset = () => undefined;
  const slow = { ...entry, id: 'slow' };
  const first = switched.change(slow, 'reboot by force', {
    call: callOf({ beforeSending: () => gate.promise }),
    show: (view) => view as never,
  });
  await advance(clock, 1_000);
  const second = switched.look(entry, callOf());
  const elsewhere = switched.look({ ...entry, id: 'b', reset: 'bmc-2' }, callOf());
  await expect(elsewhere, 'another BMC does not wait').resolves.toEqual({ power: 'on' });
  expect(did).toEqual(['read', 'read']);
  gate.resolve();
  await Promise.all([first, second]);
  expect(did).toEqual(['read', 'read', 'reset', 'read']);
});
