import { expect, test } from 'vitest';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import {
  SECRET_TAG,
  SET_ID_TAG,
  type Tags,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import {
  fleetOf,
  live,
  machine,
  order,
  scripted,
  SET_ID,
} from '../../../doubles/scripted-driver.ts';

const IDLE = { 'shepherd-IdleBehavior': 'hold' };

/** A provider whose reads lag behind: they show what was there at first. */
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

test('what was just written is not put back by a read that lags: reinstallation', async () => {
  const { fleet, written, last } = stand();
  await fleet.reinstallMachine('a', live);
  const fresh = last();
  await fleet.setTags('a', IDLE, live);
  expect(written.at(-1)).toEqual({ [SET_ID_TAG]: SET_ID, [SECRET_TAG]: fresh, ...IDLE });
  await fleet.reinstallMachine('a', live);
  expect(written.at(-1), 'nor the operators’ wish').toMatchObject(IDLE);
  expect(last()).not.toBe(fresh);
});

test('nor after a creation, nor on another machine', async () => {
  const { fleet, last } = stand();
  await fleet.createMachine(order(), live);
  const fresh = last();
  await fleet.setTags('a', IDLE, live);
  expect(last()).toBe(fresh);
  await fleet.setTags('b', IDLE, live);
  expect(last()).toBe('stale');
});

test('after a while what is read counts again', async () => {
  const { fleet, clock, last } = stand();
  await fleet.reinstallMachine('a', live);
  clock.increment(10 * 60_000);
  await fleet.setTags('a', IDLE, live);
  expect(last()).toBe('stale');
});

test('what may or may not have been written is not believed; what was refused changes nothing', async () => {
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
