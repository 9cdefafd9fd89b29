import { beforeEach, describe, expect, test } from 'vitest';
import { createUpdater, type UpdaterDeps } from '../../../src/actors/provisioning/updater.ts';
import { createHoldKeeper } from '../../../src/actors/providers/holds.ts';
import type { DatedListing } from '../../../src/actors/providers/listings.ts';
import type {
  BmdbSession,
  ConditionReport,
  Lease,
  ProvidedPatch,
  ProviderHoldRepository,
} from '../../../src/adapters/bmdb/port.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../../doubles/simulated-clock.ts';
import { ProviderError, SessionExpired, Unreachable } from '../../../src/domain/errors.ts';
import type { ConditionStatus } from '../../../src/domain/conditions.ts';
import { machineId, providerName, slot } from '../../../src/domain/ids.ts';
import type { MachineId, Slot } from '../../../src/domain/ids.ts';
import type { ProviderMachine, SlotFacts } from '../../../src/domain/machine.ts';
import {
  deprovisionAsked,
  device,
  machineRow,
  PROVIDER,
  provided,
  slotFacts,
} from '../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../doubles/recording-log.ts';
import { scriptedProvider } from '../../doubles/scripted-provider.ts';

const MINUTE_MS = 60_000;
/** Start of these tests' holds. */
const EPOCH = createSimulatedClock().now();
/** A provider whose listings hang. */
const OTHER = providerName('another');
let clock: VirtualClock;
let log: RecordingLog;
let facts: Map<Slot, SlotFacts>;
/** The provider's present devices. */
let devices: Map<string, ProviderMachine | Error>;
let looked: string[];
/** The slots in the lookups, for drivers that find a device by its slot. */
let named: (string | null | undefined)[];
let listed: DatedListing | null;
let listings: number;
let written: [MachineId, ProvidedPatch][];
let update: (id: MachineId, patch: ProvidedPatch) => Promise<void>;
let reported: (readonly ConditionReport[])[];
let isLeaseOurs: boolean;
let imposed: Parameters<ProviderHoldRepository['impose']>[0][];
let run: () => Promise<void>;

beforeEach(() => {
  clock = createSimulatedClock();
  log = recordingLog();
  [facts, devices, looked, listed, listings, written] = [new Map(), new Map(), [], null, 0, []];
  named = [];
  isLeaseOurs = true;
  imposed = [];
  update = async (id, patch) => void written.push([id, patch]);
  const session = {
    signal: new AbortController().signal,
    updateProvided: (id: MachineId, patch: ProvidedPatch) => update(id, patch),
  } as BmdbSession;
  const provider = scriptedProvider({
    getMachine: async (id, { reservationId }) => {
      looked.push(id);
      named.push(reservationId);
      const found = devices.get(id) ?? new ProviderError('not-found', `no device ${id}`);
      if (found instanceof Error) throw found;
      return found;
    },
  });
  reported = [];
  const deps: UpdaterDeps = {
    bmdb: {
      conditions: {
        report: async (reports) => void reported.push(reports),
        ofSlot: () => Promise.reject(new Error('nobody needs it')),
      },
    },
    clock,
    log,
    random: createSeededRandom(1),
    facts: () => facts,
    nowMs: clock.now,
    keeper: { current: () => session } as UpdaterDeps['keeper'],
    leases: { held: () => (isLeaseOurs ? ({} as Lease) : null) },
    providers: new Map([
      [OTHER, { ...provider, name: OTHER }],
      [PROVIDER, provider],
    ]),
    holds: createHoldKeeper({
      repository: { impose: async (hold) => void imposed.push(hold), lift: async () => 0 },
      rows: () => imposed.map((each) => ({ ...each, amount: null, untilMs: each.forMs + EPOCH })),
      nowMs: clock.now,
      clock,
      log,
    }),
    listings: {
      list: async (name) => {
        if (name === OTHER) return new Promise(() => undefined);
        listings += 1;
        if (listed) return listed;
        throw new ProviderError('transient', 'no listing now');
      },
    },
  };
  const iterate = createUpdater(deps);
  run = () => iterate(new AbortController().signal);
});
const listingOf = (complete = true): DatedListing => ({
  machines: [...devices.values()].flatMap((each) => (each instanceof Error ? [] : [each])),
  complete,
  beganAtMs: clock.monotonic(),
});

const idAt = (at: number) => machineId(`aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`);
/** A machine, and its device at the provider. */
function given(at: number, now: Partial<ProviderMachine> | Error = {}, row = {}) {
  const [providerId, reservationId] = [`device-${at}`, `rack-${at}`];
  const name = slot(PROVIDER, reservationId);
  const hardware = provided({ providerId, reservationId });
  facts.set(
    name,
    slotFacts({ slot: name, row: machineRow({ machineId: idAt(at), provided: hardware, ...row }) }),
  );
  if (now instanceof Error) devices.set(providerId, now);
  else devices.set(providerId, device({ id: providerId, reservationId, ...now }));
}

describe('the choice of machines to look at', () => {
  test('takes due machines one by one: 30 min at rest, 1 min during changes', async () => {
    given(1);
    given(2, { status: 'Provisioning' }, {});
    await run();
    expect(looked.splice(0).toSorted()).toEqual(['device-1', 'device-2']);
    expect(named.toSorted(), 'each by its slot, too').toEqual(['rack-1', 'rack-2']);
    for (let minutes = 0; minutes < 26; minutes += 1) {
      await advance(clock, 67_000);
      await run();
    }
    expect(looked.splice(0)).toEqual(Array.from({ length: 26 }, () => 'device-2'));
    await advance(clock, 7 * MINUTE_MS);
    await run();
    expect(looked.toSorted()).toEqual(['device-1', 'device-2']);
  });

  test('uses one listing where there is one', async () => {
    given(1, { status: 'Stopped', power: 'off' });
    listed = listingOf();
    await run();
    expect(looked).toEqual([]);
    expect(written).toEqual([[idAt(1), { status: 'Stopped' }]]);
  });

  test('takes many machines by a listing only', async () => {
    for (let at = 0; at < 12; at += 1) given(at, { address: '192.0.2.77' });
    await run();
    expect([looked, listings, written.length]).toEqual([[], 1, 0]);
    listed = listingOf();
    await run();
    expect([looked, listings, written.length]).toEqual([[], 2, 12]);
  });

  test('spares calls for changes that the mirror saw later, and for none before', async () => {
    given(1);
    await run();
    looked.splice(0);
    await advance(clock, 5_000);
    const [[name, known]] = [...facts] as [[Slot, SlotFacts]];
    const seenAt = (observedAtMs: number) => {
      const listing = device({ id: 'device-1', status: 'Stopped', observedAtMs });
      facts.set(name, { ...known, listed: listing });
    };
    seenAt(clock.now() - 5_001);
    await run();
    expect(written).toEqual([]);
    seenAt(clock.now());
    await run();
    await run();
    expect([looked, written]).toEqual([[], [[idAt(1), { status: 'Stopped' }]]]);
  });

  test('takes none while another daemon has the job', async () => {
    isLeaseOurs = false;
    given(1, { status: 'Stopped' });
    await run();
    expect([looked, written]).toEqual([[], []]);
  });

  test('takes five at once at most', async () => {
    let [now, most] = [0, 0];
    update = async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise<void>((resolve) => setImmediate(resolve));
      now -= 1;
    };
    for (let at = 0; at < 30; at += 1) given(at, { status: 'Stopped' });
    listed = listingOf();
    await run();
    expect(most).toBe(5);
  });
});

describe('the result of a look', () => {
  test('counts a missing device as one observation of absence', async () => {
    given(1, new ProviderError('not-found', 'no such device'));
    await run();
    expect(written).toEqual([[idAt(1), { absent: true }]]);
  });

  test('does not count a device known as missing or on its way back', async () => {
    const gone = new ProviderError('not-found', 'no such device');
    given(1, gone, { provided: provided({ providerId: 'device-1', status: 'Missing' }) });
    given(2, gone, { deprovision: deprovisionAsked() });
    await run();
    expect(looked).toHaveLength(2);
    expect(written).toEqual([]);
  });

  test('leaves to the provisioner what a complete listing lacks', async () => {
    given(1);
    listed = { ...listingOf(), machines: [] };
    await run();
    expect([looked, written]).toEqual([[], []]);
  });

  test('looks one by one for what a listing with gaps lacks', async () => {
    given(1);
    listed = { ...listingOf(false), machines: [] };
    await run();
    expect(looked).toEqual(['device-1']);
  });

  test('A5: looks one by one for unreadable entries and does not count them as absent', async () => {
    given(1);
    given(2);
    const unreadable = [{ id: 'device-1', reservationId: null, fault: 'it has no hostname' }];
    listed = { ...listingOf(), machines: [], unreadable };
    await run();
    expect([looked, written]).toEqual([['device-1'], []]);
  });
});

describe('conditions', () => {
  const unhealthy = (status: ConditionStatus, reason = 'broken', detail = '') => ({
    ...{ type: 'hardware-unhealthy' as const, status, reason, detail },
  });
  /** The machine's row of this condition in the database. */
  function known(at: number, source: string, condition: ReturnType<typeof unhealthy>) {
    const name = slot(PROVIDER, `rack-${at}`);
    const row = { provider: PROVIDER, slotId: `rack-${at}`, source, sinceMs: 0, expiresAtMs: null };
    facts.set(name, { ...facts.get(name)!, conditions: [{ ...row, ...condition }] });
  }

  test('are reported together, in the name of the provider', async () => {
    for (const at of [1, 2]) given(at, { conditions: [unhealthy('True')] });
    given(3);
    given(4, { conditions: [unhealthy('False')] });
    await run();
    expect(reported).toEqual([
      [1, 2].map((at) => ({
        ...{ provider: PROVIDER, slotId: `rack-${at}`, machineId: idAt(at) },
        ...unhealthy('True'),
        ...{ source: 'provider', validForMs: null },
      })),
    ]);
  });

  test.each([
    ['the same', 'provider', unhealthy('True'), unhealthy('True'), 0],
    ['another status', 'provider', unhealthy('True'), unhealthy('False'), 1],
    ['another reason', 'provider', unhealthy('True'), unhealthy('True', 'worse'), 1],
    ['a new detail', 'provider', unhealthy('True'), unhealthy('True', 'broken', 'fan'), 1],
    ['no detail', 'provider', unhealthy('True', 'broken', 'fan'), unhealthy('True'), 0],
    ['known from others', 'agent', unhealthy('True'), unhealthy('True'), 1],
    ['never wrong', 'agent', unhealthy('True'), unhealthy('False'), 0],
  ] as const)('are reported if they are news: %s', async (_, source, before, now, count) => {
    given(1, { conditions: [now] });
    known(1, source, before);
    await run();
    expect(reported).toHaveLength(count);
  });
});

describe('failures of a look', () => {
  test('delay only their own machine, ever longer', async () => {
    given(1, new ProviderError('transient', 'try later'));
    given(2, { status: 'Stopped', power: 'off' });
    const times: number[] = [];
    for (let seconds = 0; seconds < 16 * 60; seconds += 10) {
      await run();
      if (looked.splice(0).includes('device-1')) times.push(clock.monotonic() / MINUTE_MS);
      await advance(clock, 10_000);
    }
    expect(written[0]).toEqual([idAt(2), { status: 'Stopped' }]);
    const waits = times.slice(1).map((at, index) => Math.round(at - times[index]!));
    expect(waits).toEqual([1, 2, 4, 8]);
  });

  test('repeat a failed write', async () => {
    given(1, { status: 'Stopped' });
    const { length } = log.lines;
    update = async () => {
      throw new Unreachable('no database');
    };
    await run();
    expect(log.lines.length).toBeGreaterThan(length);
    update = async (id, patch) => void written.push([id, patch]);
    await advance(clock, 2 * MINUTE_MS);
    await run();
    expect(written).toEqual([[idAt(1), { status: 'Stopped' }]]);
  });

  test('end the round at once when the session ends', async () => {
    for (let at = 0; at < 9; at += 1) given(at, { status: 'Stopped' });
    update = async () => {
      throw new SessionExpired('too late');
    };
    await expect(run()).rejects.toBeInstanceOf(SessionExpired);
  });
});

test('delay no other provider when a listing hangs', async () => {
  const name = slot(OTHER, 'rack-7');
  const hardware = provided({ provider: OTHER, providerId: 'device-7', reservationId: 'rack-7' });
  facts.set(name, slotFacts({ slot: name, row: machineRow({ provided: hardware }) }));
  given(1);
  void run();
  await settled();
  expect(looked).toEqual(['device-1']);
});

test('respect a rate limit, and no machine is looked at before its time', async () => {
  const retryAt = new Date(clock.now() + 10 * MINUTE_MS);
  given(1, new ProviderError('transient', 'slow down', { rateLimit: { retryAt } }));
  await run();
  expect(imposed).toMatchObject([{ kind: 'throttle', key: 'get', forMs: 10 * MINUTE_MS }]);
  await advance(clock, 9 * MINUTE_MS);
  await run();
  expect(looked).toHaveLength(1);
  await advance(clock, 31 * MINUTE_MS);
  await run();
  expect(looked).toHaveLength(2);
});
