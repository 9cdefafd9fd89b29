import { beforeEach, describe, expect, test } from 'vitest';
import { Denied, NotListening, TimedOut, Unreachable } from '../../../../src/domain/errors.ts';
import { RECOVERY_BACKOFF } from '../../../../src/domain/backoff.ts';
import { device } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';

const HOUR = 60 * MINUTE;

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
  stand.capabilities = { ...stand.capabilities, reboot: false, power: false, reinstall: false };
  stand.host.run = ([program]) => (program === 'sh' ? {} : { exitCode: 127 });
});

const hasPermit = () => stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs !== null;
const waitMs = () => {
  const { untilMs } = stand.row().backoffs.find(({ process }) => process === 'ShepherdRecovery')!;
  return untilMs - stand.clock.now();
};

describe('C4: a machine that only SSH could bring back, behind a cut network', () => {
  test.each<readonly [string, () => void]>([
    ['no route', () => (stand.connecting = new Unreachable('no route'))],
    ['nobody listens', () => (stand.connecting = new NotListening('refused'))],
    ['no handshake', () => (stand.connecting = new TimedOut('handshake'))],
    ['no address', () => (stand.whereIs = async () => device({ address: null }))],
  ])(
    'C4: (%s) is tried for ever, with growing pauses and no permit in between',
    async (_, cuts) => {
      stage.silent(stand.host.bootId);
      cuts();
      const waits: number[] = [];
      for (let at = 0; at < 40; at += 1) {
        await stage.attempted();
        expect(stand.row()).toMatchObject({ quarantine: null, recovery: null });
        expect(hasPermit()).toBe(false);
        waits.push(waitMs());
        await advance(stand.clock, waitMs() + 1_000);
      }
      expect(waits[10]!).toBeGreaterThan(2 * waits[0]!);
      // Jitter adds a fifth at most.
      expect(Math.max(...waits)).toBeLessThanOrEqual(1.2 * RECOVERY_BACKOFF.maximumMs);
      stand.connecting = null;
      stand.whereIs = async () => device({ address: '192.0.2.1' });
      expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
      expect(stage.deeds()).toEqual(['stop the agent']);
    },
  );

  test('C4: pauses begin anew for a machine that was heard of since', async () => {
    stage.silent(stand.host.bootId);
    stand.connecting = new Unreachable('no route');
    for (let at = 0; at < 20; at += 1) {
      await stage.attempted();
      await advance(stand.clock, waitMs() + 1_000);
    }
    stand.given({ ...stand.row(), heartbeat: { atMs: stand.clock.now(), bootId: null } });
    await advance(stand.clock, HOUR);
    await stage.attempted();
    expect(waitMs()).toBeLessThanOrEqual(1.2 * RECOVERY_BACKOFF.initialMs);
  });

  test.each<readonly [string, () => void, RegExp]>([
    ['its agent cannot be stopped', () => (stand.host.run = () => ({ exitCode: 1 })), /agent/],
    ['its system hangs', () => (stand.host.hangs = 'execute'), /no end after/],
    [
      'it refuses our key',
      () => (stand.connecting = new Denied('every key was refused')),
      /every key/,
    ],
  ])('C4: one that was reached (%s) needs a human after two attempts', async (_, begins, cause) => {
    stage.silent(stand.host.bootId);
    begins();
    for (let at = 1; at <= 2; at += 1) {
      await stage.attempted();
      expect(stand.row().recovery).toMatchObject({ rung: 'restartingAgent', attempts: at });
      await advance(stand.clock, 10 * MINUTE);
    }
    await stage.attempted();
    const { quarantine } = stand.row();
    expect(quarantine).toMatchObject({ kind: 'needsHuman' });
    expect(quarantine!.reason, 'C5: with the last cause').toMatch(cause);
    expect(quarantine!.reason, 'C5: and nothing of what was never tried').not.toContain(
      'went before',
    );
    expect(hasPermit()).toBe(false);
  });
});

describe('C4: a machine whose agent start was given up and that no provider can boot', () => {
  const atMs = () => stand.clock.now() - HOUR;

  test('C4: is started again, if too few of the failures reached it', async () => {
    stage.givenUp({ startAttempt: { atMs: atMs(), count: 9, unreached: 4 } });
    expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
    expect(stand.row()).toMatchObject({ quarantine: null, recovery: null });
    expect(hasPermit()).toBe(false);
    expect(waitMs(), 'meanwhile its agent is started').toBeGreaterThan(0);
  });

  test('C4: needs a human, if as many as usual did', async () => {
    stage.givenUp({ startAttempt: { atMs: atMs(), count: 10, unreached: 4 } });
    await stage.attempted();
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
  });

  test('C4: is rebooted where that can be done, reached or not', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: true };
    stage.givenUp({ startAttempt: { atMs: null, count: 6, unreached: 6 } });
    expect(await stage.claim()).toBe('rebooting');
    await stage.dies();
  });
});
