import { beforeEach, describe, expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type { LadderRow } from '../../../../src/domain/machine.ts';
import { ERASING_LADDER, unheard } from '../../../../src/domain/recovery/ladder.ts';
import { device, ladderRow } from '../../../support/facts.ts';
import type { JOB } from '../../../support/task-stand.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import {
  ASK_AGAIN_MS,
  beat,
  codeOf,
  MINUTE,
  permit,
  recovery,
  setStage,
  stage,
  stand,
} from './stage.ts';

setStage();

/** On the reboot rung with this many requests, the last one this long ago by an ended daemon. */
const rebooting = (attempts = 0, askedAgoMs: number | null = null): { recovery: LadderRow } => {
  const asked = { askedAtMs: stand.clock.now() - askedAgoMs!, askedRung: 'rebooting' as const };
  return { recovery: ladderRow({ attempts, ...(askedAgoMs !== null && asked) }) };
};
const ask = () => stage.run('askReboot');
const reboots = () => stand.done.filter((what) => what.startsWith('reboot'));
const refuses = (error: Error) => void (stand.reboot = () => Promise.reject(error));
const limited = (minutes: number) => {
  const retryAt = new Date(stand.clock.now() + minutes * MINUTE);
  return new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
};
const unproved = () => stage.giveUp({ code: 'timed-out', message: 'no evidence' });
/** One whole attempt without evidence. @returns the request's error code; null: it was accepted. */
const attempt = async (): Promise<string | null> => {
  await stage.claim();
  const asking = codeOf(ask());
  await advance(stand.clock, ASK_AGAIN_MS);
  const code = await asking;
  await stage.giveUp({ code: code ?? 'timed-out', message: 'no evidence' });
  return code;
};
const isUpAgain = () => Object.assign(stand.host, { bootId: 'another', unreachable: false });

describe('the request for a reboot', () => {
  beforeEach(() => {
    stand.host.unreachable = true;
    stage.silent('boot-1', rebooting());
  });

  test('is not made to a machine that came back since the claim', async () => {
    await stage.claim();
    await beat('boot-1');
    expect(await codeOf(ask())).toBe('nothing-to-do');
    expect(reboots()).toEqual([]);
    expect(recovery()).toMatchObject({ attempts: 0, askedAtMs: null });
  });

  test('is repeated by force when its patience is over', async () => {
    stage.silent('boot-1', rebooting(1, ERASING_LADDER.rebooting.patienceMs));
    await stage.claim();
    await ask();
    expect(reboots()).toEqual(['reboot force']);
    expect(recovery()?.attempts).toBe(2);
  });

  test('is never made twice within five minutes, and waits without a place', async () => {
    await stage.claim();
    await ask();
    const askedAtMs = stand.clock.now();
    await unproved();
    await advance(stand.clock, 2 * MINUTE);
    await stage.claim();
    const asking = ask();
    await settled();
    const other = 'stub/rack-2' as typeof JOB.slot;
    await stand.taskPool.grant(other, 'recovery', new AbortController().signal);
    stand.taskPool.end(other);
    await advance(stand.clock, 2 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
    await advance(stand.clock, 2 * MINUTE);
    await asking;
    expect(reboots()).toEqual(['reboot graceful', 'reboot force']);
    expect(recovery()!.askedAtMs! - askedAtMs).toBeGreaterThanOrEqual(ASK_AGAIN_MS);
  });

  test('is not repeated when it came true after it was given up', async () => {
    stand.host.unreachable = false;
    stage.silent(stand.host.bootId, rebooting());
    await stage.claim();
    await ask();
    await unproved();
    await advance(stand.clock, 30 * MINUTE);
    stand.host.bootId = 'another';
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(reboots()).toEqual(['reboot graceful']);
    expect(stand.row()).toMatchObject({ agentStarted: null, bootTimes: { reboot: [] } });
  });

  test.each([
    new ProviderError('invalid', 'it is being deleted'),
    new ProviderError('not-implemented', 'no reboot here'),
  ])('counts when it is definitely refused ($code), and is made again', async (refusal) => {
    refuses(refusal);
    for (const attempts of [1, 2]) {
      expect(await attempt()).toBe(refusal.code);
      expect(recovery()).toMatchObject({ attempts, askedAtMs: null });
      await advance(stand.clock, 2 * MINUTE);
    }
    expect(reboots()).toEqual(['reboot graceful', 'reboot graceful']);
  });

  test.each([
    new ProviderError('transient', 'no provider'),
    new ProviderError('transient', 'too many calls', { rateLimit: { retryAt: new Date(0) } }),
    new ProviderError('auth', 'the token is no longer valid'),
    new ProviderError('permanent', 'as many as you may have', { quota: true }),
    new ProviderError('permanent', 'none is left', { capacity: { scope: 'all' } }),
  ])('does not count when an outage refused it ($message)', async (outage) => {
    refuses(outage);
    for (let at = 0; at < 5; at += 1) {
      expect(await attempt()).toBe(outage.code);
      expect(recovery()).toMatchObject({ attempts: 0, askedAtMs: null });
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(stand.row().quarantine).toBeNull();
    expect(reboots()).toHaveLength(5);
  });

  test('provider: is neither made nor counted while reboots are throttled', async () => {
    refuses(limited(30));
    // After a quarter of an hour the daemon tries, whatever wait the answer named.
    for (const [afterMinutes, made] of [
      [0, 1],
      [5, 1],
      [10, 2],
    ] as const) {
      await advance(stand.clock, afterMinutes * MINUTE);
      expect(await attempt()).toBe('transient');
      expect(reboots()).toHaveLength(made);
      expect(recovery()).toMatchObject({ attempts: 0 });
    }
  });

  test('A3: uses up no trial when a look fails after the throttle', async () => {
    refuses(limited(1));
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
  ])('stays open with an unknown outcome (%s) and is awaited', async (doubt) => {
    refuses(doubt);
    await stage.claim();
    await expect(ask()).rejects.toBe(doubt);
    // It may have been carried out, so it counts as an attempt.
    const noted = { attempts: 1, askedAtMs: stand.clock.now() };
    expect(recovery()).toMatchObject(noted);
    await stage.dies();
    await advance(stand.clock, 2 * MINUTE);
    await stage.claim();
    await ask();
    expect(reboots()).toEqual(['reboot graceful']);
    expect(recovery()).toMatchObject(noted);
  });
});

test('is not repeated for ever when it boots the machine unnoticed', async () => {
  stand.capabilities = { ...stand.capabilities, power: false, reinstall: false };
  stand.reboot = async () => {
    stand.host.bootId = `boot ${reboots().length}`;
    throw new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' });
  };
  stage.silent(stand.host.bootId, rebooting());
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

describe('before a reboot is requested', () => {
  beforeEach(() => stage.silent('boot-1', rebooting()));

  test.each<readonly [string, number, Error | null]>([
    ['transient', 0, new ProviderError('transient', 'no provider')],
    ['auth', 0, new ProviderError('auth', 'the token is no longer valid')],
    ['permanent', 1, new ProviderError('permanent', 'no such device can be read')],
    ['conflict', 1, null],
  ])('the device is looked at (%s): %i counted, no permit kept', async (code, attempts, error) => {
    stand.whereIs = async () => {
      if (error) throw error;
      return device({ ownership: 'foreign' });
    };
    expect(await stage.attempted()).toMatchObject({ failure: { code } });
    expect([reboots(), permit()]).toEqual([[], null]);
    expect(recovery()).toMatchObject({ attempts, askedAtMs: null });
    expect(stand.log.count('the provider refuses us')).toBe(code === 'auth' ? 1 : 0);
  });

  test('a device that can never be looked at goes to a person', async () => {
    stand.whereIs = () => Promise.reject(new ProviderError('permanent', 'no such device'));
    for (let round = 0; round < 20 && !stand.row().quarantine; round += 1) {
      await stage.attempted();
      expect(permit()).toBeNull();
      await advance(stand.clock, 120 * MINUTE);
    }
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
    expect(stage.deeds()).toEqual([]);
  });

  test('a call that was not made in time counts for nothing and is made later', async () => {
    refuses(new ProviderError('aborted', 'Reboot was not begun'));
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'transient' } });
    expect(recovery()).toMatchObject({ attempts: 0, askedAtMs: null });
    expect([stand.row().backoffs.length, permit()]).toEqual([1, null]);
  });

  test('the present boot of an answering machine is recorded', async () => {
    stage.silent('long ago', rebooting());
    await stage.claim();
    await ask();
    expect(recovery()?.bootIdBefore).toBe(stand.host.bootId);
  });

  test('nothing runs on a host that is a different one', async () => {
    stage.givenUp({ hostKey: 'pinned' });
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'host-key-rejected' } });
    expect(stand.done).toEqual(['connect']);
    expect(stand.row().quarantine).toMatchObject({ kind: 'conflict' });
  });
});

test('an agent that came back after a late boot is kept', async () => {
  stage.silent(stand.host.bootId, rebooting());
  await stage.claim();
  await ask();
  await unproved();
  await advance(stand.clock, 30 * MINUTE);
  stand.host.bootId = 'another';
  await stage.claim();
  await ask();
  await stage.run('awaitBoot');
  await beat();
  expect(await codeOf(stage.run('recordRecovery'))).toBe('nothing-to-do');
  expect(stand.row()).toMatchObject({ heartbeat: { bootId: 'another' } });
  expect(stand.row().agentStarted).not.toBeNull();
  await stage.giveUp({ code: 'nothing-to-do', message: 'it came back' });
  expect(stand.bmdb.tables.history.at(-1)).toMatchObject({ event: 'Canceled' });
});

describe('the duration of a proof', () => {
  test('is recorded by the clock of the database', async () => {
    stage.silent(stand.host.bootId, rebooting());
    const { result } = stage.attempt();
    await settled();
    stand.host.unreachable = true;
    await advance(stand.clock, 90_000);
    isUpAgain();
    await advance(stand.clock, 10_000);
    expect(await result).toMatchObject({ outcome: 'done' });
    const [seconds] = stand.row().bootTimes.reboot;
    expect(seconds).toBeGreaterThanOrEqual(90);
    expect(seconds).toBeLessThanOrEqual(100);
  });

  test('shortens the first wait only', async () => {
    const bootTimes = { reboot: [100, 60], reinstall: [] };
    stage.silent(stand.host.bootId, { ...rebooting(), bootTimes });
    stand.host.unreachable = true;
    const waits = [];
    for (let at = 0; at < 2; at += 1) {
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
      waits.push((stand.clock.now() - recovery()!.askedAtMs!) / MINUTE);
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(waits.map(Math.round)).toEqual([5, 15]);
  });

  test('is unknown when another daemon asked and it was over at the first look', async () => {
    const { recovery: asked } = rebooting(1, 10 * MINUTE);
    stage.silent('before', { recovery: { ...asked, bootIdBefore: 'before' } });
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.row().bootTimes.reboot).toEqual([]);
  });
});

describe('a graceful reboot', () => {
  beforeEach(() => {
    stand.isGraceful = true;
    stand.host.unreachable = true;
    stage.silent('boot-1', rebooting());
  });
  const comesUp = async (result: Promise<unknown>) => {
    isUpAgain();
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
  };

  test('D8: becomes forced after two minutes when the machine did not answer', async () => {
    const { result } = stage.attempt();
    await advance(stand.clock, 1.9 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
    await advance(stand.clock, 0.2 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful', 'reboot force']);
    expect(recovery()).toMatchObject({ attempts: 2, bootIdBefore: 'boot-1' });
    await comesUp(result);
    expect(reboots()).toHaveLength(2);
  });

  test.each([
    { ago: 1, isForced: false },
    { ago: 9, isForced: true },
  ])('of an ended daemon, $ago min ago, becomes forced after two', async ({ ago, isForced }) => {
    const { recovery: asked } = rebooting(1, ago * MINUTE);
    const operationRef = unheard('GracefulRestart');
    stage.silent('boot-1', { recovery: { ...asked, operationRef, bootIdBefore: 'boot-1' } });
    const { result } = stage.attempt();
    await advance(stand.clock, 0.5 * MINUTE);
    expect(reboots()).toEqual(isForced ? ['reboot force'] : []);
    await advance(stand.clock, MINUTE);
    expect(reboots()).toEqual(['reboot force']);
    expect(recovery()).toMatchObject({ attempts: 2, operationRef: 'operation-1' });
    await comesUp(result);
    expect(reboots()).toHaveLength(1);
  });

  test('of an ended daemon keeps its time when the machine had answered', async () => {
    const { recovery: asked } = rebooting(1, 5 * MINUTE);
    const before = { bootIdBefore: 'boot-1', operationRef: 'GracefulRestart' };
    stage.silent('boot-1', { recovery: { ...asked, ...before } });
    const { result } = stage.attempt();
    await advance(stand.clock, 5 * MINUTE);
    expect(reboots()).toEqual([]);
    await comesUp(result);
  });

  test('is not forced when the machine boots meanwhile', async () => {
    const { result } = stage.attempt();
    await advance(stand.clock, MINUTE);
    await comesUp(result);
    await advance(stand.clock, 4 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
  });

  test.each(['answers', 'is ordered so'])('is awaited when the machine %s', async (why) => {
    if (why === 'answers') stand.host.unreachable = false;
    else await stage.order('reboot');
    const { result } = stage.attempt();
    await advance(stand.clock, 10 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
    await comesUp(result);
  });
});
