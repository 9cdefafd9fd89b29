import { beforeEach, describe, expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type { LadderRow } from '../../../../src/domain/machine.ts';
import { ERASING_LADDER } from '../../../../src/domain/recovery/ladder.ts';
import { device, ladderRow } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { ASK_AGAIN_MS, codeOf, createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
});

/** On the rung of rebooting, so often asked; the last time so long ago by somebody who is gone. */
const rebooting = (attempts: number, askedAgoMs: number | null = null): { recovery: LadderRow } => {
  const asked = { askedAtMs: stand.clock.now() - askedAgoMs!, askedRung: 'rebooting' as const };
  return { recovery: ladderRow({ attempts, ...(askedAgoMs !== null && asked) }) };
};
const ask = () => stage.run('askReboot');
const reboots = () => stand.done.filter((what) => what.startsWith('reboot'));
/** One whole attempt without evidence: the code that asking failed with, null: it was accepted. */
const attempt = async (): Promise<string | null> => {
  await stage.claim();
  const asking = codeOf(ask());
  await advance(stand.clock, ASK_AGAIN_MS);
  const code = await asking;
  await stage.giveUp({ code: code ?? 'timed-out', message: 'no evidence' });
  return code;
};

describe('the request', () => {
  beforeEach(() => void (stand.host.unreachable = true));

  test('is on record before the provider hears of it', async () => {
    stage.silent('boot-1', rebooting(0));
    let known: unknown;
    stand.reboot = async () => {
      known = stand.row().recovery;
      return 'operation-1';
    };
    await stage.claim();
    await ask();
    const noted = {
      rung: 'rebooting',
      attempts: 1,
      askedRung: 'rebooting',
      bootIdBefore: 'boot-1',
      askedAtMs: stand.clock.now(),
    };
    expect(known).toMatchObject({ ...noted, operationRef: null });
    expect(stand.row().recovery).toMatchObject({ ...noted, operationRef: 'operation-1' });
  });

  test('is not made to a machine that came back since the claim', async () => {
    stage.silent('boot-1', rebooting(0));
    await stage.claim();
    const publicKey = Buffer.from('ab'.repeat(32), 'hex');
    await stand.bmdb.heartbeats.recordHeartbeats([
      { machineId: JOB.machineId, publicKey, bootId: 'boot-1' },
    ]);
    expect(await codeOf(ask())).toBe('nothing-to-do');
    expect(reboots()).toEqual([]);
    expect(stand.row().recovery).toMatchObject({ attempts: 0, askedAtMs: null });
  });

  test('that somebody made who is gone is waited for, not repeated', async () => {
    stage.silent('boot-1', rebooting(1, ASK_AGAIN_MS));
    await stage.claim();
    await ask();
    expect(reboots()).toEqual([]);
    expect(stand.row().recovery?.attempts).toBe(1);
  });

  test('is made again, by force, once its patience is over', async () => {
    stage.silent('boot-1', rebooting(1, ERASING_LADDER.rebooting.patienceMs));
    await stage.claim();
    await ask();
    expect(reboots()).toEqual(['reboot force']);
    expect(stand.row().recovery?.attempts).toBe(2);
  });

  test('is never made twice within five minutes, whatever the cool-down', async () => {
    stage.silent('boot-1', rebooting(0));
    await stage.claim();
    await ask();
    const askedAtMs = stand.clock.now();
    await stage.giveUp({ code: 'timed-out', message: 'no evidence' });
    await advance(stand.clock, 2 * MINUTE);
    await stage.claim();
    const asking = ask();
    await advance(stand.clock, 2 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
    await advance(stand.clock, 2 * MINUTE);
    await asking;
    expect(reboots()).toEqual(['reboot graceful', 'reboot force']);
    const sinceMs = stand.row().recovery!.askedAtMs! - askedAtMs;
    expect(sinceMs).toBeGreaterThanOrEqual(ASK_AGAIN_MS);
  });

  test('that came true in the end, after it was given up, is not repeated', async () => {
    stand.host.unreachable = false;
    stage.silent(stand.host.bootId, rebooting(0));
    await stage.claim();
    await ask();
    await stage.giveUp({ code: 'timed-out', message: 'no evidence' });
    await advance(stand.clock, 30 * MINUTE);
    stand.host.bootId = 'another';
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(reboots()).toEqual(['reboot graceful']);
    expect(stand.row()).toMatchObject({ agentStarted: null, bootTimes: { reboot: [] } });
  });

  test('waits for what may still come true without a place', async () => {
    stage.silent('boot-1', rebooting(0));
    await stage.claim();
    await ask();
    await stage.giveUp({ code: 'timed-out', message: 'no evidence' });
    await advance(stand.clock, 2 * MINUTE);
    await stage.claim();
    const asking = codeOf(ask());
    await settled();
    const other = 'stub/rack-2' as typeof JOB.slot;
    await stand.taskPool.grant(other, 'recovery', new AbortController().signal);
    expect(reboots()).toHaveLength(1);
    stand.taskPool.end(other);
    await advance(stand.clock, ASK_AGAIN_MS);
    expect(await asking).toBeNull();
  });

  test.each([
    new ProviderError('invalid', 'it is being deleted'),
    new ProviderError('not-implemented', 'no reboot here'),
  ])('that is refused for certain ($code) counts, and is made again', async (refusal) => {
    stage.silent('boot-1', rebooting(0));
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
    new ProviderError('auth', 'the token is no longer valid'),
    new ProviderError('permanent', 'as many as you may have', { quota: true }),
    new ProviderError('permanent', 'none is left', { capacity: { scope: 'all' } }),
  ])('that an outage refused ($message) does not count as an attempt', async (outage) => {
    stage.silent('boot-1', rebooting(0));
    stand.reboot = () => Promise.reject(outage);
    for (let at = 0; at < 5; at += 1) {
      expect(await attempt()).toBe(outage.code);
      expect(stand.row().recovery).toMatchObject({ attempts: 0, askedAtMs: null });
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(stand.row().quarantine).toBeNull();
    expect(reboots()).toHaveLength(5);
  });

  test('provider: while reboots are throttled none is asked for, and none counted', async () => {
    stage.silent('boot-1', rebooting(0));
    const retryAt = new Date(stand.clock.now() + 30 * MINUTE);
    const limited = new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
    stand.reboot = () => Promise.reject(limited);
    expect(await attempt()).toBe('transient');
    expect(reboots()).toHaveLength(1);
    await advance(stand.clock, 5 * MINUTE);
    expect(await attempt()).toBe('transient');
    expect(reboots()).toHaveLength(1);
    expect(stand.row().recovery).toMatchObject({ attempts: 0 });
    // However long it says, after a quarter of an hour one is tried.
    await advance(stand.clock, 10 * MINUTE);
    expect(await attempt()).toBe('transient');
    expect(reboots()).toHaveLength(2);
  });

  test('A3: once the throttle is over, a look that fails uses up no trial', async () => {
    stage.silent('boot-1', rebooting(0));
    const retryAt = new Date(stand.clock.now() + MINUTE);
    const limited = new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
    stand.reboot = () => Promise.reject(limited);
    expect(await attempt()).toBe('transient');
    await advance(stand.clock, 5 * MINUTE);
    const { whereIs } = stand;
    stand.whereIs = () => Promise.reject(new ProviderError('transient', 'no route'));
    await stage.claim();
    await expect(ask()).rejects.toThrow('no route');
    stand.whereIs = whereIs;
    stand.reboot = async () => 'operation-1';
    await ask();
    expect(reboots()).toHaveLength(2);
  });

  test.each([
    new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' }),
    new ProviderError('aborted', 'the daemon stops', { outcome: 'unknown' }),
    new Error('a bug'),
  ])('of which nobody knows what became (%s) stays, and is waited for', async (doubt) => {
    stage.silent('boot-1', rebooting(0));
    stand.reboot = () => Promise.reject(doubt);
    await stage.claim();
    await expect(ask()).rejects.toBe(doubt);
    const askedAtMs = stand.clock.now();
    // It may have been carried out, so it is an attempt on the machine.
    const attempts = 1;
    expect(stand.row().recovery).toMatchObject({ attempts, askedAtMs });
    await stage.dies();
    await advance(stand.clock, 2 * MINUTE);
    await stage.claim();
    await ask();
    expect(reboots()).toEqual(['reboot graceful']);
    expect(stand.row().recovery).toMatchObject({ attempts, askedAtMs });
  });
});

describe('a request that boots the machine, though nobody knows', () => {
  test('is not made for ever', async () => {
    stand.capabilities = { ...stand.capabilities, power: false, reinstall: false };
    stand.reboot = async () => {
      stand.host.bootId = `boot ${reboots().length}`;
      throw new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' });
    };
    stage.silent(stand.host.bootId, rebooting(0));
    for (let round = 0; round < 20 && !stand.row().quarantine; round += 1) {
      await stage.attempted();
      await advance(stand.clock, 10 * MINUTE);
      const { recovery, quarantine } = stand.row();
      // Its agent is started again, and dies.
      stage.silent(stand.host.bootId, { recovery, quarantine });
    }
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
    expect(reboots()).toHaveLength(ERASING_LADDER.rebooting.attempts);
  });
});

describe('before the request', () => {
  const permit = () => stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs;

  test.each<readonly [string, number, Error | null]>([
    ['transient', 0, new ProviderError('transient', 'no provider')],
    ['auth', 0, new ProviderError('auth', 'the token is no longer valid')],
    ['permanent', 1, new ProviderError('permanent', 'no such device can be read')],
    ['conflict', 1, null],
  ])('the device is looked at (%s): %i counted, no permit kept', async (code, attempts, error) => {
    stage.silent('boot-1', rebooting(0));
    stand.whereIs = async () => {
      if (error) throw error;
      return device({ ownership: 'foreign' });
    };
    expect(await stage.attempted()).toMatchObject({ failure: { code } });
    expect(reboots()).toEqual([]);
    expect(stand.row().recovery).toMatchObject({ attempts, askedAtMs: null });
    expect(permit()).toBeNull();
    expect(stand.log.count('the provider refuses us')).toBe(code === 'auth' ? 1 : 0);
  });

  test('a device that can never be looked at ends in the hands of a person', async () => {
    stage.silent('boot-1', rebooting(0));
    stand.whereIs = () => Promise.reject(new ProviderError('permanent', 'no such device'));
    for (let round = 0; round < 20 && !stand.row().quarantine; round += 1) {
      await stage.attempted();
      expect(permit()).toBeNull();
      await advance(stand.clock, 120 * MINUTE);
    }
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
    expect(stage.deeds()).toEqual([]);
  });

  test('a call that was not made in time is no attempt, and is made later', async () => {
    stage.silent('boot-1', rebooting(0));
    stand.reboot = () => Promise.reject(new ProviderError('aborted', 'Reboot was not begun'));
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'transient' } });
    expect(stand.row().recovery).toMatchObject({ attempts: 0, askedAtMs: null });
    expect(stand.row().backoffs).toHaveLength(1);
    expect(permit()).toBeNull();
  });
});

test('an agent that came back after a late boot is not forgotten', async () => {
  stage.silent(stand.host.bootId, rebooting(0));
  await stage.claim();
  await ask();
  await stage.giveUp({ code: 'timed-out', message: 'no evidence' });
  await advance(stand.clock, 30 * MINUTE);
  stand.host.bootId = 'another';
  await stage.claim();
  await ask();
  await stage.run('awaitBoot');
  const publicKey = Buffer.from('ab'.repeat(32), 'hex');
  await stand.bmdb.heartbeats.recordHeartbeats([
    { machineId: JOB.machineId, publicKey, bootId: 'another' },
  ]);
  expect(await codeOf(stage.run('recordRecovery'))).toBe('nothing-to-do');
  expect(stand.row()).toMatchObject({ heartbeat: { bootId: 'another' } });
  expect(stand.row().agentStarted).not.toBeNull();
  await stage.giveUp({ code: 'nothing-to-do', message: 'it came back' });
  expect(stand.bmdb.tables.history.at(-1)).toMatchObject({ event: 'Canceled' });
});

describe('the boot that the request is to end', () => {
  test('is the one the machine is in, if it answers', async () => {
    stage.silent('long ago', rebooting(0));
    await stage.claim();
    await ask();
    expect(stand.row().recovery?.bootIdBefore).toBe(stand.host.bootId);
  });

  test('is not looked for on a host that is another one: nothing runs there', async () => {
    stage.givenUp({ hostKey: 'pinned' });
    await stage.claim();
    expect(await codeOf(ask())).toBe('host-key-rejected');
    expect(stand.done).toEqual(['connect']);
    await stage.giveUp({ code: 'host-key-rejected', message: 'another host' });
    expect(stand.row().quarantine).toMatchObject({ kind: 'conflict' });
  });
});

describe('how long the proof took', () => {
  const proved = async (afterMs: number) => {
    await advance(stand.clock, afterMs);
    stand.host.bootId = 'another';
    stand.host.unreachable = false;
    await advance(stand.clock, 10_000);
  };

  test('is remembered, by the clock of the database', async () => {
    stage.silent(stand.host.bootId, rebooting(0));
    const { result } = stage.attempt();
    await settled();
    stand.host.unreachable = true;
    await proved(90_000);
    expect(await result).toMatchObject({ outcome: 'done' });
    const [seconds] = stand.row().bootTimes.reboot;
    expect(seconds).toBeGreaterThanOrEqual(90);
    expect(seconds).toBeLessThanOrEqual(100);
  });

  test('shortens the first wait, and no other', async () => {
    const waits = [];
    stage.silent(stand.host.bootId, {
      ...rebooting(0),
      bootTimes: { reboot: [100, 60], reinstall: [] },
    });
    stand.host.unreachable = true;
    for (let at = 0; at < 2; at += 1) {
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
      waits.push((stand.clock.now() - stand.row().recovery!.askedAtMs!) / MINUTE);
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(waits.map(Math.round)).toEqual([5, 15]);
  });

  test('is not known where somebody else had asked, and it was over at the first look', async () => {
    stage.silent('before', rebooting(1, 10 * MINUTE));
    stand.bmdb.tables.machines.get(JOB.machineId)!.row = {
      ...stand.row(),
      recovery: { ...stand.row().recovery!, bootIdBefore: 'before' },
    };
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.row().bootTimes.reboot).toEqual([]);
  });
});
