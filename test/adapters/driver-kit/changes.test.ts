import { expect, test } from 'vitest';
import type { CallOptions, Provider } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { witness } from '../../../src/domain/ids.ts';
import {
  SET_ID_TAG,
  SECRET_TAG,
  type Tags,
} from '../../../src/domain/provisioning/provider-tags.ts';
import {
  EVERYTHING,
  fleetOf,
  live,
  machine,
  order,
  OTHER_SET_ID,
  scripted,
  unused,
  SET_ID,
} from '../../doubles/scripted-driver.ts';
import { createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';

/** A driver whose changes run until they are told to end. */
function slow() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const until = (name: string) =>
    new Promise<void>((resolve) => {
      begun.push(name);
      ends.set(name, resolve);
    });
  const driver = scripted({
    rebootMachine: async (id) => until(`reboot ${id}`).then(() => ({ operationRef: 'x' })),
    setPower: async (id) => until(`power ${id}`).then(() => ({ operationRef: 'x' })),
    createMachine: async ({ unused: { reservationId }, tags }, { operationId }) =>
      until(`create ${operationId}`).then(() => machine('new', { reservationId, tags })),
  });
  return { driver, begun, end: (name: string) => ends.get(name)!() };
}

test('runs one change per machine and one creation per slot at a time, and others in parallel', async () => {
  const { driver, begun, end } = slow();
  const { fleet } = fleetOf(driver);
  const [one, other] = [1, 2].map((n) => witness(`0b6e1111-1111-4111-8111-11111111111${n}`));
  const create = (mark: typeof one) =>
    fleet.createMachine(order({ witness: mark!, unused: unused('slot-1') }), live);
  const all = [
    fleet.rebootMachine('a', 'force', live),
    fleet.setPower('a', 'off', live),
    fleet.setPower('b', 'off', live),
    create(one),
    create(other),
  ];
  const first = ['reboot a', 'power b', `create ${one}`];
  await settled();
  expect(begun.toSorted()).toEqual(first.toSorted());
  end('reboot a');
  end(`create ${one}`);
  await settled();
  const second = ['power a', `create ${other}`];
  expect(begun.slice(3).toSorted()).toEqual(second.toSorted());
  for (const name of ['power b', ...second]) end(name);
  await Promise.all(all);
});

test('A4: does not count the wait for another change of the machine against any limit', async () => {
  const clock = createSimulatedClock();
  const { driver, begun, end } = slow();
  const { fleet } = fleetOf(driver, {}, { clock });
  const first = fleet.rebootMachine('a', 'force', { ...live, timeoutMs: 20 * 60_000 });
  await settled();
  const second = fleet.setPower('a', 'off', { ...live, timeoutMs: 1_000 });
  await settled();
  clock.increment(10 * 60_000);
  end('reboot a');
  await first;
  await settled();
  end('power a');
  await second;
  expect(begun).toEqual(['reboot a', 'power a']);
});

test('reports that a change did nothing if it was aborted while another change ran', async () => {
  const { driver, begun, end } = slow();
  const { fleet } = fleetOf(driver);
  const first = fleet.rebootMachine('a', 'force', live);
  const leaving = new AbortController();
  await settled();
  const second = fleet.setPower('a', 'off', { signal: leaving.signal });
  await settled();
  leaving.abort();
  await expect(second).rejects.toMatchObject({ kind: 'aborted', outcome: 'not-done' });
  end('reboot a');
  await first;
  expect(begun).toEqual(['reboot a']);
});

/** A driver with its own queue, whose reboot is the test's. */
function announcing(reboot: (id: string, options: CallOptions) => Promise<void>) {
  const asked: string[] = [];
  const rebootMachine: Provider['rebootMachine'] = async (id, _mode, options) => {
    await reboot(id, options);
    return { operationRef: 'x' };
  };
  const getMachine: Provider['getMachine'] = async (id) => {
    asked.push(id);
    return machine(id);
  };
  const capabilities = { ...EVERYTHING, announces: true };
  const { fleet } = fleetOf(scripted({ capabilities, rebootMachine, getMachine }));
  return { reboot: () => fleet.rebootMachine('a', 'force', live), asked };
}

test('does not look at the machine again if the driver shows it before each change', async () => {
  const { reboot, asked } = announcing(async (id, { requireOurs, beforeSending }) => {
    requireOurs(machine(id));
    await beforeSending!();
  });
  expect(await reboot()).toEqual({ operationRef: 'x' });
  expect(asked).toEqual([]);
});

test.each([
  ['another owner’s', machine('a', { tags: { [SET_ID_TAG]: OTHER_SET_ID } }), 'conflict'],
  ['nobody’s', machine('a', { tags: {} }), 'conflict'],
  ['another one', machine('b'), 'permanent'],
])('may change no machine that is %s', async (_, shown, kind) => {
  let sent = false;
  const { reboot } = announcing(async (_id, { requireOurs, beforeSending }) => {
    requireOurs(shown);
    await beforeSending!();
    sent = true;
  });
  await expect(reboot()).rejects.toMatchObject({ kind, outcome: 'not-done' });
  expect(sent).toBe(false);
});

test('may send nothing without a look at the machine', async () => {
  let sent = false;
  const { reboot } = announcing(async (_id, { beforeSending }) => {
    await beforeSending!();
    sent = true;
  });
  await expect(reboot()).rejects.toMatchObject({ kind: 'permanent', outcome: 'not-done' });
  expect(sent).toBe(false);
});

test('reports that an unannounced change may have hit anybody’s machine', async () => {
  const { reboot } = announcing(async () => undefined);
  await expect(reboot()).rejects.toMatchObject({ kind: 'permanent', outcome: 'unknown' });
});

const IDLE = { 'shepherd-IdleBehavior': 'hold' };

/** A provider with lagging reads, which show the first state. */
function stand() {
  const clock = createSimulatedClock();
  const written: Tags[] = [];
  const stale = { [SET_ID_TAG]: SET_ID, [SECRET_TAG]: 'stale' };
  let fault: Error | null = null;
  const write = (tags: Tags) => {
    written.push(tags);
    if (fault) throw fault;
  };
  const driver: Provider = scripted({
    getMachine: async (id) => machine(id, { tags: stale, reservationId: 'slot-1' }),
    createMachine: async ({ tags }) => {
      write(tags);
      return machine('a', { tags, reservationId: 'slot-1' });
    },
    reinstallMachine: async (_id, { tags }) => {
      write(tags);
      return { operationRef: 'r' };
    },
    setTags: async (_id, tags) => write(tags),
  });
  const { fleet } = fleetOf(driver, {}, { clock });
  return {
    fleet,
    clock,
    written,
    last: () => written.at(-1)?.[SECRET_TAG],
    failNext: (error: Error | null) => void (fault = error),
  };
}

test('does not undo a new value by a read that lags: reinstallation', async () => {
  const { fleet, written, last } = stand();
  await fleet.reinstallMachine('a', live);
  const fresh = last();
  await fleet.setTags('a', IDLE, live);
  expect(written.at(-1)).toEqual({ [SET_ID_TAG]: SET_ID, [SECRET_TAG]: fresh, ...IDLE });
  await fleet.reinstallMachine('a', live);
  expect(written.at(-1), 'nor the operators’ wish').toMatchObject(IDLE);
  expect(last()).not.toBe(fresh);
});

test('does not do so after a creation, nor for another machine', async () => {
  const { fleet, last } = stand();
  await fleet.createMachine(order(), live);
  const fresh = last();
  await fleet.setTags('a', IDLE, live);
  expect(last()).toBe(fresh);
  await fleet.setTags('b', IDLE, live);
  expect(last()).toBe('stale');
});

test('accepts read values again after a while', async () => {
  const { fleet, clock, last } = stand();
  await fleet.reinstallMachine('a', live);
  clock.increment(10 * 60_000);
  await fleet.setTags('a', IDLE, live);
  expect(last()).toBe('stale');
});

test('does not assume that an ambiguous write happened, and ignores a refused one', async () => {
  const { fleet, last, failNext } = stand();
  await fleet.reinstallMachine('a', live);
  const fresh = last();
  failNext(new ProviderError('conflict', 'busy'));
  await expect(fleet.reinstallMachine('a', live)).rejects.toMatchObject({ kind: 'conflict' });
  failNext(null);
  await fleet.setTags('a', IDLE, live);
  expect(last()).toBe(fresh);
  failNext(new ProviderError('transient', 'reset', { outcome: 'unknown' }));
  await expect(fleet.reinstallMachine('a', live)).rejects.toMatchObject({ outcome: 'unknown' });
  failNext(null);
  await fleet.setTags('a', IDLE, live);
  expect(last()).toBe('stale');
});
