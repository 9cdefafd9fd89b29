import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recoverSlots, type RecoverDeps } from '../../src/actors/recover.ts';
import { RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import { ProviderError, TimedOut, Unreachable } from '../../src/domain/errors.ts';
import { REBOOTS_MAX } from '../../src/domain/recovery/ladder.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import type { Failure } from '../../src/machines/task.ts';
import { agentStarted, SLOT } from '../support/facts.ts';
import { runSlot } from '../support/run-slot.ts';
import { createTaskStand, JOB, type TaskStand } from '../support/task-stand.ts';
import { advance, settled } from '../support/watched-clock.ts';

const MINUTE = 60_000;
const ASK_AGAIN_MS = 5 * MINUTE;

let stand: TaskStand;
let slots: ReturnType<typeof recoverSlots>;
beforeEach(async () => {
  stand = createTaskStand();
  await stand.openSession();
  slots = recoverSlots(recoverDeps());
});
afterEach(async () => {
  await stand.close();
  expect(stand.clock.pending).toBe(0);
});

const recoverDeps = (): RecoverDeps => ({
  ...stand.deps(),
  random: stand.random,
  holds: stand.holds,
  backoff: RECOVERY_BACKOFF,
  ...{ patienceMs: 15 * MINUTE, pollMs: 5_000, askAgainMs: ASK_AGAIN_MS },
  nowMs: () => stand.clock.now(),
});
const silent = (bootId: string | null, change: Partial<MachineRow> = {}) =>
  stand.given({
    agentStarted: agentStarted(stand.clock.now() - 60 * MINUTE, bootId),
    ...change,
  });
const ladder = (attempts: number, askedAtMs: number | null): Partial<MachineRow> => ({
  recovery: { rung: 'rebooting', attempts, askedAtMs, operationRef: null, nextAtMs: null },
});
const claim = async () => {
  await stand.grant('recovery');
  await runSlot(slots.claimRecovery, JOB).result;
};
const ask = () => runSlot(slots.askReboot, JOB).result;
const giveUp = async (failure: Failure) => {
  await runSlot(slots.giveUp, { ...JOB, failure }).result;
  stand.desk.end(SLOT);
  await settled();
};
/** One whole attempt: the code it failed with, null when the request was accepted. */
const attempt = async (): Promise<string | null> => {
  await claim();
  const code = await ask().then(
    () => null,
    (error: unknown) => (error as { code?: string }).code ?? 'internal',
  );
  await giveUp({ code: code ?? 'timed-out', message: 'no evidence' });
  return code;
};
const reboots = () => stand.done.filter((what) => what.startsWith('reboot'));
const permit = () => [...stand.bmdb.tables.machines.values()][0]!.permitGrantedAtMs;

test('a machine whose provider is not configured here is not taken, whatever rung it is on', async () => {
  silent('boot-1', ladder(99, null));
  slots = recoverSlots({ ...recoverDeps(), providers: new Map() });
  await expect(claim()).rejects.toMatchObject({ code: 'nothing-to-do' });
  expect(stand.bmdb.tables.history).toEqual([]);
  expect(stand.row()).toMatchObject({ quarantine: null, backoffs: [], permit: false });
});

describe('the end of the ladder', () => {
  test('comes after so many reboots: a person is needed, the permit is free', async () => {
    silent('boot-1');
    for (let at = 0; at < REBOOTS_MAX; at += 1) {
      expect(await attempt()).toBeNull();
      expect(permit()).not.toBeNull();
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(reboots()).toEqual(['reboot graceful', 'reboot force', 'reboot force']);
    await expect(claim()).rejects.toMatchObject({ code: 'nothing-to-do' });
    expect(reboots()).toHaveLength(REBOOTS_MAX);
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman', untilMs: null });
    expect(permit()).toBeNull();
    expect(stand.bmdb.tables.work).toEqual([]);
    expect(stand.bmdb.tables.history.at(-1)).toMatchObject({ event: 'Failed' });
    expect(stand.metrics.count('reboot', 'stub', 'exhausted')).toBe(1);
    expect(stand.log.count('a human is needed')).toBe(1);
  });

  test('has not come while the last reboot may still come true', async () => {
    silent(stand.host.bootId, ladder(REBOOTS_MAX, stand.clock.now() - MINUTE));
    await claim();
    await ask();
    expect(reboots()).toEqual([]);
    const proof = runSlot(slots.awaitBoot, JOB).result;
    stand.host.bootId = 'another';
    await advance(stand.clock, 10_000);
    await proof;
    await runSlot(slots.recordRecovery, JOB).result;
    expect(stand.row()).toMatchObject({ quarantine: null, agentStarted: null });
    expect(permit()).toBeNull();
  });

  test('has not come one reboot earlier', async () => {
    silent('boot-1', ladder(REBOOTS_MAX - 1, null));
    await claim();
    await ask();
    expect(reboots()).toEqual(['reboot graceful']);
  });
});

describe('the request', () => {
  test('is on record before the provider hears of it', async () => {
    silent('boot-1');
    let known: unknown;
    stand.reboot = async () => {
      known = stand.row().recovery;
      return 'operation-1';
    };
    await claim();
    await ask();
    const noted = { rung: 'rebooting', attempts: 1, askedAtMs: stand.clock.now() };
    expect(known).toMatchObject({ ...noted, operationRef: null });
    expect(stand.row().recovery).toMatchObject({ ...noted, operationRef: 'operation-1' });
  });

  test('is not made to a machine that came back since the claim', async () => {
    silent('boot-1');
    await claim();
    const publicKey = Buffer.from('ab'.repeat(32), 'hex');
    await stand.bmdb.heartbeats.recordHeartbeats([
      { machineId: JOB.machineId, publicKey, bootId: 'boot-1' },
    ]);
    await expect(ask()).rejects.toMatchObject({ code: 'nothing-to-do' });
    expect(reboots()).toEqual([]);
    expect(stand.row().recovery).toBeNull();
  });

  test('is kept for as long as it may come true, over attempts', async () => {
    silent('boot-1', ladder(1, stand.clock.now()));
    await advance(stand.clock, ASK_AGAIN_MS - 1);
    await claim();
    await ask();
    expect(reboots()).toEqual([]);
    stand.desk.end(SLOT);
    await settled();
    await advance(stand.clock, 1);
    await claim();
    await ask();
    expect(reboots()).toEqual(['reboot force']);
    expect(stand.row().recovery?.attempts).toBe(2);
  });

  test.each([
    new ProviderError('invalid', 'it is being deleted'),
    new ProviderError('not-implemented', 'no reboot here'),
  ])('that is refused for certain ($code) counts, and is made again', async (refusal) => {
    silent('boot-1');
    stand.reboot = () => Promise.reject(refusal);
    expect(await attempt()).toBe(refusal.code);
    expect(stand.row().recovery).toMatchObject({ attempts: 1, askedAtMs: null });
    await advance(stand.clock, 2 * MINUTE);
    expect(await attempt()).toBe(refusal.code);
    expect(reboots()).toEqual(['reboot graceful', 'reboot graceful']);
    expect(stand.row().recovery).toMatchObject({ attempts: 2, askedAtMs: null });
  });

  test.each([
    new ProviderError('transient', 'no provider'),
    new ProviderError('transient', 'too many calls', { rateLimit: { retryAt: new Date(0) } }),
  ])('that an outage refused ($message) does not count as an attempt', async (outage) => {
    silent('boot-1');
    stand.reboot = () => Promise.reject(outage);
    for (let at = 0; at < REBOOTS_MAX + 1; at += 1) {
      expect(await attempt()).toBe(outage.code);
      expect(stand.row().recovery).toMatchObject({ attempts: 0, askedAtMs: null });
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(stand.row().quarantine).toBeNull();
    expect(reboots()).toHaveLength(REBOOTS_MAX + 1);
  });

  test('provider: while reboots are throttled none is asked for, and none counted', async () => {
    silent('boot-1');
    const retryAt = new Date(stand.clock.now() + 30 * MINUTE);
    const limited = new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
    stand.reboot = () => Promise.reject(limited);
    expect(await attempt()).toBe('transient');
    expect(reboots()).toHaveLength(1);
    await advance(stand.clock, 10 * MINUTE);
    expect(await attempt()).toBe('transient');
    expect(reboots()).toHaveLength(1);
    expect(stand.row().recovery).toMatchObject({ attempts: 0 });
  });

  test.each([
    new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' }),
    new ProviderError('aborted', 'the daemon stops', { outcome: 'unknown' }),
    new Error('a bug'),
  ])('of which nobody knows what became (%s) stays, and is waited for', async (doubt) => {
    silent('boot-1');
    stand.reboot = () => Promise.reject(doubt);
    await claim();
    await expect(ask()).rejects.toBe(doubt);
    const askedAtMs = stand.clock.now();
    // A provider that does not answer is no attempt on the machine.
    const attempts = 0;
    expect(stand.row().recovery).toMatchObject({ attempts, askedAtMs });
    await giveUp({ code: 'outcome-unknown', message: doubt.message });
    await advance(stand.clock, 2 * MINUTE);
    await claim();
    await ask();
    expect(reboots()).toEqual(['reboot graceful']);
    expect(stand.row().recovery).toMatchObject({ attempts, askedAtMs });
  });

  test('is not made to a host that is another one, and nothing runs there', async () => {
    silent(null, { hostKey: 'pinned' });
    await claim();
    await expect(ask()).rejects.toMatchObject({ code: 'host-key-rejected' });
    expect(stand.done).toEqual(['connect']);
    await giveUp({ code: 'host-key-rejected', message: 'another host' });
    expect(stand.row().quarantine).toMatchObject({ kind: 'conflict' });
  });
});

describe('the proof', () => {
  /** Whether it was found, after the request was accepted. */
  const watch = async () => {
    const state = { proved: false };
    await claim();
    await ask();
    runSlot(slots.awaitBoot, JOB).result.then(
      () => (state.proved = true),
      () => undefined,
    );
    await settled();
    return state;
  };

  test('is a boot id other than the one the machine had when it was asked', async () => {
    silent(null);
    const seen = await watch();
    await advance(stand.clock, MINUTE);
    expect(seen.proved).toBe(false);
    stand.host.unreachable = true;
    await advance(stand.clock, MINUTE);
    stand.host.unreachable = false;
    await advance(stand.clock, MINUTE);
    expect(seen.proved, 'a port that closes and opens').toBe(false);
    stand.host.bootId = 'another';
    await advance(stand.clock, 10_000);
    expect(seen.proved).toBe(true);
  });

  test.each([new Unreachable('reset in the middle of the handshake'), new TimedOut('no answer')])(
    'is not a port that does not answer ($code) and then does',
    async (failure) => {
      silent(null);
      stand.connecting = failure;
      const seen = await watch();
      await advance(stand.clock, MINUTE);
      stand.connecting = null;
      await advance(stand.clock, MINUTE);
      expect(seen.proved).toBe(false);
    },
  );

  test('comes from nobody but the host that was pinned', async () => {
    silent(null, { hostKey: stand.host.hostKey });
    const seen = await watch();
    stand.host.hostKey = 'b3RoZXIga2V5';
    stand.host.bootId = 'another';
    const before = stand.done.length;
    await advance(stand.clock, MINUTE);
    expect(seen.proved).toBe(false);
    expect(stand.done.slice(before)).toEqual(['connect']);
  });

  test('of a device that is no longer marked as ours is not looked for on it', async () => {
    silent(stand.host.bootId);
    const seen = await watch();
    const { whereIs } = stand;
    stand.whereIs = async () => ({ ...(await whereIs()), ownership: 'foreign' });
    stand.host.bootId = 'another';
    const before = stand.done.length;
    await advance(stand.clock, MINUTE);
    expect({ proved: seen.proved, done: stand.done.slice(before) }).toEqual({
      proved: false,
      done: [],
    });
  });
});
