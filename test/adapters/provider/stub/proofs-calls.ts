import { expect } from 'vitest';
import { facetsOf } from '../../../../src/domain/provisioning/provider-facets.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type {
  CallFaultKind,
  FaultKind,
} from '../../../../src/adapters/provider/stub/fault-kinds.ts';
import type { FaultRule } from '../../../../src/adapters/provider/stub/faults.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { createStubStand, errorOf, type StubStand } from './stand.ts';

/** Shows that a fault does what it says, on a stub of its own. Answers that stub. */
export type Proof = () => Promise<StubStand>;

/** The creation ends with such an error, and made so many devices. */
const creationEnds =
  (rule: FaultRule, error: object, devices: number): Proof =>
  async () => {
    const stand = createStubStand([{ ...rule, operation: 'create' }]);
    expect(await errorOf(stand.create())).toMatchObject(error);
    expect(stand.account.world.devices()).toHaveLength(devices);
    return stand;
  };

/** A call that 429 answers; by our clock it is to be repeated after so long. */
const retriesIn =
  (waitMs: number, ...rules: readonly FaultRule[]): Proof =>
  async () => {
    const stand = createStubStand(rules);
    const error = await errorOf(stand.list());
    expect(error).toMatchObject({ code: 'transient', outcome: 'not-done' });
    expect(facetsOf(error).retryAtMs).toBe(stand.clock.now() + waitMs);
    return stand;
  };

const UNKNOWN = { code: 'transient', outcome: 'unknown' };

/** It does not end by itself, but with its signal. */
const hangs =
  (fault: FaultKind, outcome: 'not-done' | 'unknown', devices: number): Proof =>
  async () => {
    const stand = createStubStand([{ fault, operation: 'create' }]);
    const controller = new AbortController();
    let ended = false;
    const creation = errorOf(stand.create({ signal: controller.signal })).finally(() => {
      ended = true;
    });
    await advance(stand.clock, 3_600_000);
    expect(ended).toBe(false);
    controller.abort();
    expect(await creation).toMatchObject({ code: 'aborted', outcome });
    expect(stand.account.world.devices()).toHaveLength(devices);
    return stand;
  };

const SECOND = 1_000;

/** What can happen to any call. */
export const callProofs: Readonly<Record<CallFaultKind, Proof>> = {
  'call-fails': creationEnds(
    { fault: 'call-fails' },
    { code: 'transient', outcome: 'not-done' },
    0,
  ),
  'fails-after': creationEnds(
    { fault: 'fails-after', error: new ProviderError('permanent', 'as scripted') },
    { code: 'permanent', message: 'as scripted' },
    1,
  ),
  'reply-lost': creationEnds({ fault: 'reply-lost' }, UNKNOWN, 1),
  hangs: hangs('hangs', 'not-done', 0),
  'hangs-after': hangs('hangs-after', 'unknown', 1),
  'html-body': creationEnds({ fault: 'html-body' }, UNKNOWN, 0),
  'truncated-body': creationEnds({ fault: 'truncated-body' }, UNKNOWN, 1),
  unauthorized: creationEnds({ fault: 'unauthorized' }, { code: 'auth' }, 0),
  forbidden: creationEnds({ fault: 'forbidden' }, { code: 'auth' }, 0),
  conflict: creationEnds({ fault: 'conflict' }, { code: 'conflict' }, 0),
  'server-error': creationEnds({ fault: 'server-error' }, UNKNOWN, 0),
  'foreign-error': creationEnds({ fault: 'foreign-error' }, { name: 'TypeError' }, 0),
  'rate-limit': retriesIn(120 * SECOND, { fault: 'rate-limit', amount: 120 * SECOND }),
  'retry-time-missing': retriesIn(60 * SECOND, { fault: 'retry-time-missing' }),
  'retry-time-past': retriesIn(-60 * SECOND, { fault: 'retry-time-past' }),
  'retry-time-malformed': retriesIn(20 * SECOND, { fault: 'retry-time-malformed' }),
  'retry-time-far': retriesIn(3_600 * SECOND, { fault: 'retry-time-far' }),
  // Measured against the provider's own clock, so nothing of it is seen.
  'clock-skew': retriesIn(
    90 * SECOND,
    { fault: 'clock-skew', amount: 7 * 3_600 * SECOND },
    { fault: 'rate-limit', amount: 90 * SECOND },
  ),
  async slow() {
    const stand = createStubStand([{ fault: 'slow', operation: 'get', amount: 5_000 }]);
    const id = await stand.running();
    let answered = false;
    const call = stand.get(id).then(() => {
      answered = true;
    });
    await advance(stand.clock, 4_999);
    expect(answered).toBe(false);
    await advance(stand.clock, 1);
    await call;
    return stand;
  },
  async held() {
    const stand = createStubStand([
      { fault: 'held', operation: 'create' },
      { fault: 'held', operation: 'destroy' },
    ]);
    const { calls, world } = stand.account;
    const slots = world.slots().map(({ id }) => id);
    const creations = slots.slice(0, 2).map((reservationId) => stand.create({ reservationId }));
    await advance(stand.clock, 3_600_000);
    expect([calls.held('create'), world.devices().length]).toEqual([2, 0]);
    expect(calls.release('create')).toBe(true);
    const { id } = await creations[0]!;
    expect([calls.held('create'), world.devices().length]).toEqual([1, 1]);
    const destruction = stand.provider.deprovisionMachine(id!, stand.call());
    await settled();
    expect(world.device(id!)).toBeDefined();
    expect(calls.release('destroy')).toBe(true);
    await destruction;
    expect(world.device(id!)).toBeUndefined();
    calls.release('create');
    await creations[1];
    expect(calls.release('create')).toBe(false);
    return stand;
  },
};
