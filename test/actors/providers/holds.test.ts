import { beforeEach, expect, test } from 'vitest';
import { createHoldKeeper, type HoldKeeper } from '../../../src/actors/providers/holds.ts';
import type { ProviderHoldRepository } from '../../../src/adapters/bmdb/port.ts';
import { ProviderError, Unreachable } from '../../../src/domain/errors.ts';
import { providerName } from '../../../src/domain/ids.ts';
import type { ProviderHoldRow } from '../../../src/domain/machine.ts';
import { PROVIDER } from '../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../doubles/recording-log.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../../doubles/simulated-clock.ts';

let clock: VirtualClock;
let log: RecordingLog;
/** The BMDB's latest rows. */
let rows: ProviderHoldRow[];
let written: unknown[];
let repository: ProviderHoldRepository;
let keeper: HoldKeeper;
beforeEach(() => {
  clock = createSimulatedClock();
  log = recordingLog();
  [rows, written] = [[], []];
  repository = {
    impose: async (hold) => void written.push(hold),
    lift: async (...what) => written.push(what),
  };
  keeper = createHoldKeeper({
    repository: {
      impose: (hold) => repository.impose(hold),
      lift: (...what) => repository.lift(...what),
    },
    rows: () => rows,
    nowMs: clock.now,
    clock,
    log,
  });
});
const limited = (ms: number) =>
  new ProviderError('transient', 'slow down', {
    rateLimit: { retryAt: new Date(clock.now() + ms) },
  });
const hold = (change: Partial<ProviderHoldRow> = {}): ProviderHoldRow => ({
  provider: PROVIDER,
  kind: 'throttle',
  key: 'reboot',
  level: 1,
  amount: null,
  untilMs: clock.now() + 60_000,
  cause: 'slow down',
  ...change,
});

test('imposes a hold at once, before any read shows it', async () => {
  await keeper.failed(PROVIDER, 'reboot', limited(60_000));
  expect(written).toMatchObject([{ kind: 'throttle', key: 'reboot', forMs: 60_000 }]);
  expect(() => keeper.check(PROVIDER, 'reboot')).toThrow('reboot of stub is throttled');
  expect(() => keeper.check(PROVIDER, 'destroy')).not.toThrow();
  expect(() => keeper.check(providerName('other'), 'reboot')).not.toThrow();
});

test('respects another daemon’s hold until its end', async () => {
  rows = [hold()];
  try {
    keeper.check(PROVIDER, 'reboot');
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ rateLimit: { retryAt: new Date(clock.now() + 60_000) } });
  }
  await advance(clock, 60_000);
  expect(() => keeper.check(PROVIDER, 'reboot')).not.toThrow();
});

test('lifts a hold at once although a read still shows it, but not for ever', async () => {
  rows = [hold({ untilMs: clock.now() })];
  const begun = { holds: keeper.holds(PROVIDER), nowMs: clock.now() };
  await keeper.succeeded(PROVIDER, 'reboot', begun);
  expect(written).toEqual([[PROVIDER, 'throttle', 'reboot', clock.now() + 1_000]]);
  expect(keeper.holds(PROVIDER).size).toBe(0);
  await advance(clock, 10_001);
  expect(keeper.holds(PROVIDER).size, 'the BMDB knows better in the end').toBe(1);
});

test('lifts no hold that was imposed after the successful call began', async () => {
  rows = [hold({ untilMs: clock.now() })];
  const begun = { holds: keeper.holds(PROVIDER), nowMs: clock.now() };
  await keeper.failed(PROVIDER, 'reboot', limited(120_000));
  await keeper.succeeded(PROVIDER, 'reboot', begun);
  expect(written, 'nothing is lifted').toHaveLength(1);
  expect(() => keeper.check(PROVIDER, 'reboot')).toThrow('throttled');
});

test('respects another daemon’s hold that follows our lift', async () => {
  rows = [hold({ untilMs: clock.now() })];
  await keeper.succeeded(PROVIDER, 'reboot', { holds: keeper.holds(PROVIDER), nowMs: clock.now() });
  rows = [hold()];
  expect(() => keeper.check(PROVIDER, 'reboot')).toThrow('throttled');
});

test('respects a hold locally that cannot be written', async () => {
  repository.impose = async () => {
    throw new Unreachable('no database');
  };
  await keeper.failed(PROVIDER, 'list', limited(60_000));
  expect(log.count('a hold could not be written')).toBe(1);
  expect(() => keeper.check(PROVIDER, 'list')).toThrow();
});

test('A3: keeps a wait of days for 15 minutes, then lets one call try', async () => {
  await keeper.failed(PROVIDER, 'get', limited(999_999_000));
  expect(written).toMatchObject([{ kind: 'throttle', key: 'get', forMs: 15 * 60_000 }]);
  rows = [hold({ key: 'get', untilMs: clock.now() + 15 * 60_000 })];
  await advance(clock, 15 * 60_000);

  const trial = Promise.withResolvers<string>();
  const trying = keeper.guard(PROVIDER, 'get', () => trial.promise);
  expect(() => keeper.check(PROVIDER, 'get'), 'one at a time').toThrow('get of stub is throttled');
  expect(() => keeper.check(PROVIDER, 'reboot'), 'others go on').not.toThrow();
  trial.reject(limited(999_999_000));
  await expect(trying).rejects.toThrow('slow down');
  expect(written, 'held again').toHaveLength(2);
  expect(() => keeper.check(PROVIDER, 'get')).toThrow('throttled');

  rows = [hold({ key: 'get', untilMs: clock.now() + 15 * 60_000 })];
  await advance(clock, 15 * 60_000);
  expect(await keeper.guard(PROVIDER, 'get', async () => 'well')).toBe('well');
  for (const _ of [1, 2]) expect(() => keeper.check(PROVIDER, 'get')).not.toThrow();
});

test('A3: blocks others for only a minute when the result of a trial is unknown', async () => {
  rows = [hold({ untilMs: clock.now() })];
  keeper.check(PROVIDER, 'reboot');
  expect(() => keeper.check(PROVIDER, 'reboot')).toThrow('throttled');
  await advance(clock, 60_000);
  expect(() => keeper.check(PROVIDER, 'reboot')).not.toThrow();
});
