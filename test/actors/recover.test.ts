import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDesk, type Desk } from '../../src/actors/desk.ts';
import { recoverSlots } from '../../src/actors/recover.ts';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import { judgeHostKey } from '../../src/actors/take-over.ts';
import { createMemBmdb, type MemBmdb } from '../../src/adapters/bmdb/mem/mem-bmdb.ts';
import { newMachine } from '../../src/adapters/bmdb/mem/tables.ts';
import { createSeededRandom } from '../../src/adapters/clock/simulated-clock.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import {
  createFakeHost,
  createFakeShell,
  type FakeHost,
} from '../../src/adapters/ssh/fake-shell.ts';
import { RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import type { MachineRow, ProviderMachine } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { agentStarted, device, machineRow, MACHINE, PROVIDER, SLOT } from '../support/facts.ts';
import { recordingLog, type RecordingLog } from '../support/recording-log.ts';
import { runSlot } from '../support/run-slot.ts';
import { scriptedProvider } from '../support/scripted-provider.ts';
import {
  advance,
  createWatchedClock,
  settled,
  type WatchedClock,
} from '../support/watched-clock.ts';

const MINUTE = 60_000;
const JOB = { slot: SLOT, machineId: MACHINE };

let clock: WatchedClock;
let bmdb: MemBmdb;
let desk: Desk;
let keeper: SessionKeeper;
let host: FakeHost;
let log: RecordingLog;
let asked: string[];
let whereIs: () => Promise<ProviderMachine>;
let slots: ReturnType<typeof recoverSlots>;

beforeEach(async () => {
  clock = createWatchedClock();
  log = recordingLog();
  const random = createSeededRandom(1);
  bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  keeper = createSessionKeeper({ bmdb, component: 'shepherd', runtimeInfo: 'test', log });
  await runSlot(keeper.slots.openSession, { intervalMs: 600 * MINUTE }).result;
  desk = createDesk({
    places: { agentStart: 1, recovery: 1, deprovision: 1 },
    unusedMs: 5_000,
    clock,
    log,
  });
  host = createFakeHost();
  asked = [];
  whereIs = async () => device({ address: '192.0.2.1' });
  const provider = scriptedProvider({
    getMachine: () => whereIs(),
    rebootMachine: async (_, mode) => {
      asked.push(mode);
      return { operationRef: 'operation-1' };
    },
  });
  slots = recoverSlots({
    holds: { check: () => undefined, failed: async () => undefined },
    ...{ desk, keeper, clock, log, random, metrics: silentMetrics },
    providers: new Map([[PROVIDER, provider]]),
    shell: createFakeShell({ hosts: new Map([['192.0.2.1:22', host]]), clock }),
    ssh: { port: 22, policy: 'tofu' },
    backoff: RECOVERY_BACKOFF,
    ...{ patienceMs: 15 * MINUTE, pollMs: 5_000, askAgainMs: 5 * MINUTE },
    nowMs: () => clock.now(),
  });
});
afterEach(async () => {
  desk.end(SLOT);
  await keeper.close();
  await settled();
  expect(clock.pending).toBe(0);
});

const given = (change: Partial<MachineRow>) =>
  bmdb.tables.machines.set(MACHINE, newMachine(machineRow(change)));
/** An agent that was started and has been silent for an hour. */
const silent = (bootId: string | null, change: Partial<MachineRow> = {}) =>
  given({ agentStarted: agentStarted(clock.now() - 60 * MINUTE, bootId), ...change });
const claimed = async () => {
  await desk.grant(SLOT, 'recovery', new AbortController().signal);
  await runSlot(slots.claimRecovery, JOB).result;
};
/** Waits for evidence; the way it went, once it is known. */
const watching = async () => {
  await claimed();
  const state = { proof: null as string | null, code: null as string | null };
  runSlot(slots.awaitBoot, JOB).result.then(
    () => {
      const told = log.lines.find(({ message }) => message === 'reboot proved');
      state.proof = String(told?.fields['proof']);
    },
    (error: unknown) => (state.code = (error as { code: string }).code),
  );
  await settled();
  return state;
};

describe('evidence of a reboot', () => {
  test('is a boot id other than the one the rows know', async () => {
    silent(host.bootId);
    const seen = await watching();
    await advance(clock, MINUTE);
    expect(seen).toEqual({ proof: null, code: null });
    host.bootId = 'another';
    await advance(clock, 10_000);
    expect(seen.proof).toBe('boot id changed');
  });

  test('is not a port that closes and opens, where the boot id is known', async () => {
    silent(host.bootId);
    const seen = await watching();
    host.unreachable = true;
    await advance(clock, MINUTE);
    host.unreachable = false;
    await advance(clock, MINUTE);
    expect(seen.proof).toBeNull();
  });

  test('is the port that closes and opens, where none is known', async () => {
    silent(null);
    host.unreachable = true;
    const seen = await watching();
    await advance(clock, MINUTE);
    expect(seen.proof).toBeNull();
    host.unreachable = false;
    await advance(clock, 10_000);
    expect(seen.proof).toBe('port closed and opened');
  });

  test('is a boot id that changes under our eyes, where none was known', async () => {
    silent(null);
    const seen = await watching();
    await advance(clock, MINUTE);
    expect(seen.proof).toBeNull();
    host.bootId = 'another';
    await advance(clock, 10_000);
    expect(seen.proof).toBe('boot id changed');
  });

  test.each<readonly [string, () => void, () => void]>([
    [
      'a provider that does not answer',
      () => (whereIs = () => Promise.reject(new Unreachable('no provider'))),
      () => (whereIs = async () => device({ address: '192.0.2.1' })),
    ],
    [
      'a machine without an address',
      () => (whereIs = async () => device({ address: null })),
      () => (whereIs = async () => device({ address: '192.0.2.1' })),
    ],
    ['a machine that refuses us', () => (host.refusesKey = true), () => (host.refusesKey = false)],
    ['a machine that hangs', () => (host.hangs = 'execute'), () => (host.hangs = undefined)],
  ])('is not %s for a while', async (_, begins, ends) => {
    silent(null);
    begins();
    const seen = await watching();
    await advance(clock, 2 * MINUTE);
    ends();
    await advance(clock, 5 * MINUTE);
    expect(seen).toEqual({ proof: null, code: null });
  });

  test('that does not come within the patience fails the attempt', async () => {
    silent(host.bootId);
    const seen = await watching();
    await advance(clock, 14 * MINUTE);
    expect(seen.code).toBeNull();
    await advance(clock, 2 * MINUTE);
    expect(seen.code).toBe('timed-out');
  });

  test('of a host that is another one ends the wait at once', async () => {
    silent(null, { hostKey: 'pinned' });
    const seen = await watching();
    await advance(clock, 10_000);
    expect(seen.code).toBe('host-key-rejected');
  });

  test('is waited for without a place', async () => {
    silent(host.bootId);
    await watching();
    let granted = false;
    const other = 'stub/rack-2' as typeof SLOT;
    void desk.grant(other, 'recovery', new AbortController().signal).then(() => (granted = true));
    await settled();
    expect(granted).toBe(true);
    desk.end(other);
  });

  test('is no longer waited for when the turn ends', async () => {
    silent(host.bootId);
    const seen = await watching();
    desk.end(SLOT);
    await settled();
    expect(seen.code).toBe('cancelled');
  });
});

describe('asking for a reboot', () => {
  const ask = async () => {
    await claimed();
    await runSlot(slots.askReboot, JOB).result;
  };
  const recovery = () => bmdb.tables.machines.get(MACHINE)!.row.recovery;

  test('is noted before and after', async () => {
    silent('boot-1');
    await ask();
    expect(asked).toEqual(['graceful']);
    expect(recovery()).toMatchObject({ attempts: 1, operationRef: 'operation-1' });
  });

  test('is not repeated soon, but later by force', async () => {
    const noted = { rung: 'rebooting', attempts: 1, operationRef: null, nextAtMs: null } as const;
    silent('boot-1', { recovery: { ...noted, askedAtMs: clock.now() - 4 * MINUTE } });
    await ask();
    expect(asked).toEqual([]);
    desk.end(SLOT);
    await settled();
    await advance(clock, MINUTE);
    await ask();
    expect(asked).toEqual(['force']);
  });
});

describe('a turn that ends while its claim is under way', () => {
  test('keeps no work', async () => {
    silent('boot-1');
    await desk.grant(SLOT, 'recovery', new AbortController().signal);
    const run = runSlot(slots.claimRecovery, JOB);
    desk.end(SLOT);
    await expect(run.result).rejects.toMatchObject({ code: 'cancelled' });
    expect(bmdb.tables.work).toEqual([]);
  });
});

describe('giving up', () => {
  const giveUp = async (code: string) => {
    await claimed();
    await runSlot(slots.giveUp, { ...JOB, failure: { code, message: 'because' } }).result;
    return bmdb.tables.machines.get(MACHINE)!.row;
  };

  test('a failure waits; the history knows why', async () => {
    silent('boot-1');
    const row = await giveUp('timed-out');
    expect(row.backoffs).toMatchObject([{ process: 'ShepherdRecovery', cause: 'because' }]);
    expect(row.quarantine).toBeNull();
    expect(bmdb.tables.history.at(-1)).toMatchObject({ event: 'Failed', cause: 'because' });
  });

  test('another host key sets the machine aside', async () => {
    silent('boot-1');
    expect((await giveUp('host-key-rejected')).quarantine).toMatchObject({ kind: 'conflict' });
  });

  test.each(['cancelled', 'session-expired'])('%s is no fault of the machine', async (code) => {
    silent('boot-1');
    expect((await giveUp(code)).backoffs).toEqual([]);
    expect(bmdb.tables.history.at(-1)).toMatchObject({ event: 'Canceled' });
  });
});

test.each([
  ['insecure', 'pinned', 'other', null],
  ['tofu', null, 'first', null],
  ['tofu', 'pinned', 'pinned', null],
  ['tofu', 'pinned', 'other', 'differs'],
  ['strict', 'pinned', 'pinned', null],
  ['strict', null, 'first', 'no host key is known'],
  ['strict', 'pinned', 'other', 'differs'],
] as const)('host key, %s: %s known, %s seen', (policy, pinned, seen, refusal) => {
  const judge = () => judgeHostKey(policy, pinned, seen);
  if (refusal === null) expect(judge).not.toThrow();
  else expect(judge).toThrow(refusal);
});
