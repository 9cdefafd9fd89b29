import { beforeEach, describe, expect, test } from 'vitest';
import { stopAgentCommand } from '../../../../src/actors/tasks/end-agent.ts';
import {
  Denied,
  NotListening,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../../src/domain/errors.ts';
import { ERASING_LADDER } from '../../../../src/domain/recovery/ladder.ts';
import { device, ladderRow } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { BOOT_ID, codeOf, createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
  stand.host.run = ([program]) => (program === 'sh' ? {} : { exitCode: 127 });
});

describe('an agent that is silent on a machine that answers', () => {
  test('is stopped, by the mildest means, and the machine is ready for another', async () => {
    stage.silent(stand.host.bootId, { hostKey: stand.host.hostKey });
    expect(await stage.attempted()).toEqual({ outcome: 'done', failure: null, view: null });
    expect(stand.done).toEqual([
      ...['connect', BOOT_ID],
      `execute ${stopAgentCommand('/root/agent').join(' ')}`,
    ]);
    expect(stand.row()).toMatchObject({
      agentStarted: null,
      heartbeat: null,
      backoffs: [],
      quarantine: null,
      recovery: { rung: 'restartingAgent', attempts: 1, askedAtMs: null },
      bootTimes: { reboot: [], reinstall: [] },
    });
    expect(stand.row().recovery!.nextAtMs, 'it cools down').toBeGreaterThan(stand.clock.now());
    expect(stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs).toBeNull();
  });

  test('is on record as an attempt before it is stopped', async () => {
    let known: unknown;
    stand.host.run = () => {
      known = stand.row().recovery;
      return {};
    };
    stage.silent(stand.host.bootId);
    await stage.attempted();
    expect(known).toMatchObject({
      rung: 'restartingAgent',
      attempts: 1,
      askedRung: 'restartingAgent',
      bootIdBefore: stand.host.bootId,
    });
  });

  test('is not stopped when it has reported since', async () => {
    stage.silent(stand.host.bootId);
    await stage.claim();
    await stage.run('reachAgent');
    const publicKey = Buffer.from('ab'.repeat(32), 'hex');
    const { bootId } = stand.host;
    const { machineId } = JOB;
    await stand.bmdb.heartbeats.recordHeartbeats([{ machineId, publicKey, bootId }]);
    expect(await codeOf(stage.run('stopAgent'))).toBe('nothing-to-do');
    expect(stage.deeds()).toEqual([]);
  });

  test('is gone where the machine booted by itself: nothing is stopped, but it counts', async () => {
    stage.silent('an earlier boot');
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual([]);
    expect(stand.row()).toMatchObject({ agentStarted: null, recovery: { attempts: 1 } });
  });

  test('that cannot be stopped costs an attempt; after two a reboot is asked for', async () => {
    stand.host.run = () => ({ exitCode: 1 });
    stage.silent(stand.host.bootId);
    for (let at = 1; at <= 2; at += 1) {
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'remote-failure' } });
      expect(stand.row().recovery).toMatchObject({ rung: 'restartingAgent', attempts: at });
      await advance(stand.clock, 10 * MINUTE);
    }
    const { result } = stage.attempt();
    await settled();
    expect(stage.deeds()).toEqual(['stop the agent', 'stop the agent', 'reboot graceful']);
    await stage.dies();
    void result;
  });

  test('that does not end in time is given up', async () => {
    stage.silent(stand.host.bootId);
    stand.host.run = () => new Promise(() => undefined);
    const { result } = stage.attempt();
    await advance(stand.clock, MINUTE + 1_000);
    expect(await result).toMatchObject({ failure: { code: 'timed-out' } });
    expect(stand.row().recovery).toMatchObject({ rung: 'restartingAgent', attempts: 1 });
  });
});

describe('where SSH does not answer', () => {
  test.each<readonly [string, () => void]>([
    ['refused', () => (stand.host.unreachable = true)],
    ['broken off', () => (stand.connecting = new Unreachable('reset'))],
    ['no port', () => (stand.connecting = new NotListening('no route'))],
    ['too slow', () => (stand.connecting = new TimedOut('handshake'))],
    ['keys refused', () => (stand.connecting = new Denied('every key was refused'))],
    ['no address', () => (stand.whereIs = async () => device({ address: null }))],
    ['a system that hangs', () => (stand.host.hangs = 'execute')],
    [
      'a system that cannot show its secret',
      () => {
        const tags = { 'shepherd-InstanceSecret': '00'.repeat(32) };
        stand.whereIs = async () => device({ address: '192.0.2.1', tags });
      },
    ],
  ])('(%s) the same attempt goes straight on to a reboot', async (_, begins) => {
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
    expect(stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs).not.toBeNull();
    await stage.dies();
    void result;
  });

  test.each<readonly [string, object, readonly string[]]>([
    ['no reboots', { reboot: false }, ['power off']],
    ['reboots', {}, ['reboot graceful']],
  ])('a provider that knows %s is asked for what it can', async (_, cannot, deeds) => {
    stand.capabilities = { ...stand.capabilities, ...cannot };
    stand.host.unreachable = true;
    stand.setPower = async () => 'operation-1';
    stage.silent(stand.host.bootId);
    const { result } = stage.attempt();
    await settled();
    await settled();
    expect(stage.deeds()).toEqual(deeds);
    await stage.dies();
    void result;
  });

  test('and nothing but a reinstallation is left: it costs an attempt', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: false, power: false };
    stand.host.unreachable = true;
    stage.silent(stand.host.bootId);
    for (let at = 1; at <= ERASING_LADDER.restartingAgent.attempts; at += 1) {
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
      expect(stand.row().recovery).toMatchObject({ rung: 'restartingAgent', attempts: at });
      await advance(stand.clock, 10 * MINUTE);
    }
    expect(await stage.claim()).toBe('reinstalling');
    expect(stage.deeds()).toEqual([]);
  });

  test('but an order to restart the agent is not made a reboot: it is refused', async () => {
    stand.host.unreachable = true;
    stage.silent(stand.host.bootId);
    await stage.order('restart-agent');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
    expect(stage.deeds()).toEqual([]);
    const [request] = await stand.bmdb.requests.read(['ann-1'], new AbortController().signal);
    expect(request).toMatchObject({ state: 'refused' });
    expect(request!.outcome).toContain('refused');
    expect(stand.row().recovery).toBeNull();
  });
});

describe('what is no silence of the machine', () => {
  test.each<readonly [string, string, () => void]>([
    [
      'a provider that cannot be asked',
      'transient',
      () => (stand.whereIs = () => Promise.reject(new ProviderError('transient', 'no provider'))),
    ],
    [
      'a device that is not ours',
      'denied',
      () => (stand.whereIs = async () => device({ address: '192.0.2.1', ownership: 'foreign' })),
    ],
    [
      'another host',
      'host-key-rejected',
      () => {
        stand.host.hostKey = 'b3RoZXI=';
      },
    ],
  ])('%s: nothing is asked for', async (_, code, begins) => {
    stage.silent(stand.host.bootId, { hostKey: stand.host.hostKey });
    begins();
    expect(await stage.attempted()).toMatchObject({ outcome: 'failed', failure: { code } });
    expect(stage.deeds()).toEqual([]);
    expect(stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs).toBeNull();
    expect(stand.row().recovery?.attempts ?? 0, 'counted').toBe(code === 'transient' ? 0 : 1);
    expect(stand.row().quarantine?.kind).toBe(
      code === 'host-key-rejected' ? 'conflict' : undefined,
    );
  });

  test('our own end: the work is given back, nothing is asked for', async () => {
    stage.silent(stand.host.bootId);
    stand.host.hangs = 'execute';
    const { result } = stage.attempt();
    await settled();
    await stage.dies();
    expect(await result).toMatchObject({ failure: { code: 'cancelled' } });
    expect(stage.deeds()).toEqual([]);
    expect(stand.bmdb.tables.history.at(-1)).toMatchObject({ event: 'Canceled' });
  });
});

test('an episode that goes on with its agent goes on counting', async () => {
  stage.silent(stand.host.bootId, {
    recovery: ladderRow({ rung: 'restartingAgent', attempts: 1 }),
  });
  await stage.attempted();
  expect(stand.row().recovery).toMatchObject({ rung: 'restartingAgent', attempts: 2 });
});
