import { beforeEach, describe, expect, test } from 'vitest';
import { stopAgentCommand } from '../../../../src/actors/tasks/end-agent.ts';
import { RECOVERY_BACKOFF } from '../../../../src/domain/backoff.ts';
import {
  Denied,
  NotListening,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../../src/domain/errors.ts';
import { ERASING_LADDER } from '../../../../src/domain/recovery/ladder.ts';
import { device } from '../../../support/facts.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import {
  beat,
  begun,
  BOOT_ID,
  codeOf,
  MINUTE,
  onRung,
  permit,
  recovery,
  request,
  setStage,
  stage,
  stand,
} from './stage.ts';

const HOUR = 60 * MINUTE;

setStage(undefined, () => {
  stand.host.run = ([program]) => (program === 'sh' ? {} : { exitCode: 127 });
});
const silent = () => stage.silent(stand.host.bootId, { hostKey: stand.host.hostKey });
const connecting = (error: Error) => () => void (stand.connecting = error);
const isAt = (...known: Parameters<typeof device>) => {
  stand.whereIs = async () => device(...known);
};

describe('a silent agent on a machine that answers', () => {
  test('is stopped by the mildest means, and the machine is ready for another', async () => {
    silent();
    expect(await stage.attempted()).toEqual({ outcome: 'done', failure: null, view: null });
    expect(stand.done).toEqual([
      ...['connect', BOOT_ID],
      `execute ${stopAgentCommand('/root/agent').join(' ')}`,
    ]);
    expect(stand.row()).toMatchObject({
      ...{ agentStarted: null, heartbeat: null, backoffs: [], quarantine: null },
      recovery: { rung: 'restartingAgent', attempts: 1, askedAtMs: null },
      bootTimes: { reboot: [], reinstall: [] },
    });
    expect(recovery()!.nextAtMs, 'it cools down').toBeGreaterThan(stand.clock.now());
    expect(permit()).toBeNull();
  });

  test('is not stopped when it has reported since', async () => {
    silent();
    await stage.claim();
    await stage.run('reachAgent');
    await beat();
    expect(await codeOf(stage.run('stopAgent'))).toBe('nothing-to-do');
    expect(stage.deeds()).toEqual([]);
  });

  test('is gone when the machine booted by itself: nothing is stopped, but the attempt counts', async () => {
    stage.silent('an earlier boot');
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual([]);
    expect(stand.row()).toMatchObject({ agentStarted: null, recovery: { attempts: 1 } });
  });

  test('costs an attempt when it cannot be stopped; after two a reboot is requested', async () => {
    stand.host.run = () => ({ exitCode: 1 });
    silent();
    for (let at = 1; at <= 2; at += 1) {
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'remote-failure' } });
      expect(recovery()).toMatchObject({ rung: 'restartingAgent', attempts: at });
      await advance(stand.clock, 10 * MINUTE);
    }
    await begun(0);
    expect(stage.deeds()).toEqual(['stop the agent', 'stop the agent', 'reboot graceful']);
  });

  test('is given up when it does not end in time', async () => {
    silent();
    stand.host.run = () => new Promise(() => undefined);
    expect(await stage.attempted(MINUTE + 1_000)).toMatchObject({ failure: { code: 'timed-out' } });
    expect(recovery()).toMatchObject({ rung: 'restartingAgent', attempts: 1 });
  });

  test('counts on within an episode', async () => {
    onRung('restartingAgent', { attempts: 1 });
    await stage.attempted();
    expect(recovery()).toMatchObject({ rung: 'restartingAgent', attempts: 2 });
  });
});

describe('a machine without an answer over SSH', () => {
  test.each<readonly [string, () => void]>([
    ['refused', () => (stand.host.unreachable = true)],
    ['broken off', connecting(new Unreachable('reset'))],
    ['no port', connecting(new NotListening('no route'))],
    ['too slow', connecting(new TimedOut('handshake'))],
    ['keys refused', connecting(new Denied('every key was refused'))],
    ['no address', () => isAt({ address: null })],
    ['a system that hangs', () => (stand.host.hangs = 'execute')],
    [
      'a system that cannot show its secret',
      () => isAt({ address: '192.0.2.1', tags: { 'shepherd-InstanceSecret': '00'.repeat(32) } }),
    ],
  ])('(%s) goes straight on to a reboot in the same attempt', async (_, begins) => {
    stage.silent(stand.host.bootId);
    begins();
    const { result, ended } = stage.attempt();
    await advance(stand.clock, 3 * MINUTE);
    expect(stage.deeds()).toContain('reboot graceful');
    expect(stage.deeds()).not.toContain('stop the agent');
    expect(ended()).toBe(false);
    expect(stand.row()).toMatchObject({
      recovery: { rung: 'rebooting', attempts: 1, nextAtMs: null },
      backoffs: [],
    });
    expect(stand.bmdb.tables.history.map(({ event }) => event)).toEqual(['Started']);
    expect(permit()).not.toBeNull();
    await stage.dies();
    void result;
  });

  test('goes on to what its provider can do without reboots', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: false };
    stand.host.unreachable = true;
    stand.setPower = async () => 'operation-1';
    silent();
    const { result } = stage.attempt();
    await settled();
    await settled();
    expect(stage.deeds()).toEqual(['power off']);
    await stage.dies();
    void result;
  });

  test('spends an attempt when only a reinstallation is left', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: false, power: false };
    stand.host.unreachable = true;
    silent();
    for (let at = 1; at <= ERASING_LADDER.restartingAgent.attempts; at += 1) {
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
      expect(recovery()).toMatchObject({ rung: 'restartingAgent', attempts: at });
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(await stage.claim()).toBe('reinstalling');
    expect(stage.deeds()).toEqual([]);
  });

  test('refuses an ordered agent restart instead of a reboot', async () => {
    stand.host.unreachable = true;
    silent();
    await stage.order('restart-agent');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
    expect(stage.deeds()).toEqual([]);
    const outcome: unknown = expect.stringContaining('refused');
    expect(await request()).toMatchObject({ state: 'refused', outcome });
    expect(recovery()).toBeNull();
  });
});

describe('a failure that is not the machine’s', () => {
  const unasked = () => Promise.reject(new ProviderError('transient', 'no provider'));
  test.each<readonly [string, string, () => void]>([
    ['a provider that cannot be asked', 'transient', () => (stand.whereIs = unasked)],
    [
      'a device that is not ours',
      'denied',
      () => isAt({ address: '192.0.2.1', ownership: 'foreign' }),
    ],
    ['another host', 'host-key-rejected', () => (stand.host.hostKey = 'b3RoZXI=')],
  ])('%s: requests nothing', async (_, code, begins) => {
    silent();
    begins();
    expect(await stage.attempted()).toMatchObject({ outcome: 'failed', failure: { code } });
    expect([stage.deeds(), permit()]).toEqual([[], null]);
    expect(recovery()?.attempts ?? 0, 'counted').toBe(code === 'transient' ? 0 : 1);
    const quarantine = code === 'host-key-rejected' ? 'conflict' : undefined;
    expect(stand.row().quarantine?.kind).toBe(quarantine);
  });

  test('our own end releases the work and requests nothing', async () => {
    silent();
    stand.host.hangs = 'execute';
    const { result } = stage.attempt();
    await settled();
    await stage.dies();
    expect(await result).toMatchObject({ failure: { code: 'cancelled' } });
    expect(stage.deeds()).toEqual([]);
    expect(stand.bmdb.tables.history.at(-1)).toMatchObject({ event: 'Canceled' });
  });
});

describe('C4: a machine that only SSH can recover', () => {
  beforeEach(() => {
    stand.capabilities = { ...stand.capabilities, reboot: false, power: false, reinstall: false };
    stage.silent(stand.host.bootId);
  });
  const waitMs = () => {
    const { untilMs } = stand.row().backoffs.find(({ process }) => process === 'ShepherdRecovery')!;
    return untilMs - stand.clock.now();
  };
  const triedOnce = async () => {
    await stage.attempted();
    const waitsMs = waitMs();
    await advance(stand.clock, waitsMs + 1_000);
    return waitsMs;
  };

  test.each<readonly [string, () => void]>([
    ['no route', connecting(new Unreachable('no route'))],
    ['nobody listens', connecting(new NotListening('refused'))],
    ['no handshake', connecting(new TimedOut('handshake'))],
    ['no address', () => isAt({ address: null })],
  ])(
    'C4: (%s) is tried for ever with growing pauses and no permit in between; a heartbeat restarts the pauses',
    async (_, cuts) => {
      cuts();
      const waits: number[] = [];
      for (let at = 0; at < 40; at += 1) {
        waits.push(await triedOnce());
        expect(stand.row()).toMatchObject({ quarantine: null, recovery: null });
        expect(permit()).toBeNull();
      }
      expect(waits[10]!).toBeGreaterThan(2 * waits[0]!);
      // Jitter adds a fifth at most.
      expect(Math.max(...waits)).toBeLessThanOrEqual(1.2 * RECOVERY_BACKOFF.maximumMs);
      stand.given({ ...stand.row(), heartbeat: { atMs: stand.clock.now(), bootId: null } });
      await advance(stand.clock, HOUR);
      expect(await triedOnce()).toBeLessThanOrEqual(1.2 * RECOVERY_BACKOFF.initialMs);
      stand.connecting = null;
      isAt({ address: '192.0.2.1' });
      expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
      expect(stage.deeds()).toEqual(['stop the agent']);
    },
  );

  test.each<readonly [string, () => void, RegExp]>([
    ['its agent cannot be stopped', () => (stand.host.run = () => ({ exitCode: 1 })), /agent/],
    ['its system hangs', () => (stand.host.hangs = 'execute'), /no end after/],
    ['it refuses our key', connecting(new Denied('every key was refused')), /every key/],
  ])('C4: needs a person after two attempts that reached it (%s)', async (_, begins, cause) => {
    begins();
    for (let at = 1; at <= 2; at += 1) {
      await stage.attempted();
      expect(recovery()).toMatchObject({ rung: 'restartingAgent', attempts: at });
      await advance(stand.clock, 10 * MINUTE);
    }
    await stage.attempted();
    const { kind, reason } = stand.row().quarantine!;
    expect([kind, permit()]).toEqual(['needsHuman', null]);
    expect(reason, 'C5: with the last cause').toMatch(cause);
    expect(reason, 'C5: and nothing of what was never tried').not.toContain('went before');
  });

  test.each([
    ['is started again, if too few of the failures reached it', 9, false],
    ['needs a human, if as many as usual did', 10, true],
  ])('C4: recovers after its agent start was given up %s', async (_, count, needsHuman) => {
    stage.givenUp({ startAttempt: { atMs: stand.clock.now() - HOUR, count, unreached: 4 } });
    expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
    expect(stand.row().quarantine?.kind).toBe(needsHuman ? 'needsHuman' : undefined);
    if (needsHuman) return;
    expect([recovery(), permit()]).toEqual([null, null]);
    expect(waitMs(), 'meanwhile its agent is started').toBeGreaterThan(0);
  });

  test('C4: is rebooted, where possible, after its agent start was given up', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: true };
    stage.givenUp({ startAttempt: { atMs: null, count: 6, unreached: 6 } });
    expect(await stage.claim()).toBe('rebooting');
    await stage.dies();
  });
});
