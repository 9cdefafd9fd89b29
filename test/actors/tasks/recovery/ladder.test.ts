import { beforeEach, describe, expect, test } from 'vitest';
import { type MachineRow } from '../../../../src/domain/machine.ts';
import { ERASING_LADDER } from '../../../../src/domain/recovery/ladder.ts';
import { backoff, ladderRow } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { codeOf, createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';
import { STANDING_RUNGS } from '../../../../src/domain/recovery/rungs.ts';

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
});

const HOUR = 60 * MINUTE;
const permit = () => stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs;
const request = async () => {
  const [found] = await stand.bmdb.requests.read(['ann-1'], new AbortController().signal);
  return found!;
};

describe('a machine that never comes back', () => {
  test('is tried on every rung, so often and no more, and then waits for a person', async () => {
    stand.host.run = () => ({ exitCode: 1 });
    stage.silent(stand.host.bootId);
    const rungs: string[] = [];
    for (let at = 0; at < 20 && !stand.row().quarantine; at += 1) {
      const before = stand.clock.now();
      await stage.attempted(3 * HOUR);
      if (!stand.row().quarantine) {
        const { recovery } = stand.row();
        rungs.push(recovery!.rung);
        expect(permit(), 'returned while it cools down').toBeNull();
        expect(recovery!.nextAtMs!).toBeGreaterThan(stand.clock.now());
      }
      expect(stand.clock.now()).toBeGreaterThanOrEqual(before);
      await advance(stand.clock, HOUR);
    }
    const expected = STANDING_RUNGS.flatMap((rung) =>
      Array.from<string>({ length: ERASING_LADDER[rung].attempts }).fill(rung),
    );
    expect(rungs).toEqual(expected);
    expect(stage.deeds()).toEqual([
      ...['stop the agent', 'stop the agent'],
      ...['reboot graceful', 'reboot force', 'reboot force'],
      ...['power off', 'power on', 'power off', 'power on'],
      ...['reinstall', 'reinstall'],
    ]);
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman', untilMs: null });
    expect(stand.row().quarantine!.reason).toContain('2 attempts at reinstalling it');
    expect(permit()).toBeNull();
    expect(stand.bmdb.tables.work).toEqual([]);
    expect(
      stand.metrics.total('shepherd_ladder_attempts_total', {
        provider: 'stub',
        rung: 'reinstalling',
        outcome: 'exhausted',
      }),
    ).toBe(1);
    expect(stand.log.count('a human is needed')).toBe(1);
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'nothing-to-do' } });
  });

  test('waits longer after each attempt, over all rungs', async () => {
    stage.silent('gone', { recovery: ladderRow({ rung: 'restartingAgent', attempts: 2 }) });
    stand.host.unreachable = true;
    stand.setPower = async () => 'operation-1';
    const waits = [];
    for (let at = 0; at < 4; at += 1) {
      await stage.attempted(3 * HOUR);
      waits.push((stand.row().recovery!.nextAtMs! - stand.clock.now()) / MINUTE);
      await advance(stand.clock, HOUR);
    }
    for (const [at, wait] of waits.entries()) {
      const least = 1.2 ** at;
      expect(wait).toBeGreaterThanOrEqual(least);
      expect(wait).toBeLessThan(least * 1.2);
    }
  });
});

describe('an agent that dies again and again', () => {
  test('is restarted twice, then its machine is rebooted', async () => {
    stand.host.run = () => ({});
    const rungs = [];
    let kept: Partial<MachineRow> = {};
    for (let at = 0; at < 3; at += 1) {
      stage.silent(stand.host.bootId, kept);
      const { result } = stage.attempt();
      await advance(stand.clock, 5_000);
      rungs.push(stand.row().recovery!.rung);
      await stage.dies();
      void result;
      await advance(stand.clock, HOUR);
      kept = { recovery: stand.row().recovery };
    }
    expect(rungs).toEqual(['restartingAgent', 'restartingAgent', 'rebooting']);
  });
});

describe('the claim', () => {
  test('takes no machine whose provider is not configured here, whatever rung it is on', async () => {
    stage = await createRecoveryStage(() => ({ providers: new Map() }));
    ({ stand } = stage);
    stage.silent('boot-1', { recovery: ladderRow({ attempts: 99 }) });
    expect(await codeOf(stage.claim())).toBe('nothing-to-do');
    expect(stand.bmdb.tables.history).toEqual([]);
    expect(stand.row()).toMatchObject({ quarantine: null, backoffs: [], permit: false });
  });

  test('keeps no work where the turn ends meanwhile', async () => {
    stage.silent('boot-1');
    await stand.grant('recovery');
    const running = stage.run('claimRecovery');
    stand.taskPool.end(JOB.slot);
    expect(await codeOf(running)).toBe('cancelled');
    expect(stand.bmdb.tables.work).toEqual([]);
  });

  test('is for the process of the next step', async () => {
    stage.silent('boot-1', { recovery: ladderRow({ rung: 'powerCycling', attempts: 2 }) });
    expect(await stage.claim()).toBe('reinstalling');
    expect(stand.bmdb.tables.work).toMatchObject([{ process: 'ShepherdReinstall' }]);
  });

  test('lets go where the rows say another process than the mirror did', async () => {
    stage = await createRecoveryStage(() => ({ facts: () => new Map() }));
    ({ stand } = stage);
    stage.silent('boot-1', { recovery: ladderRow({ rung: 'powerCycling', attempts: 2 }) });
    const failed = stage.attempted();
    expect(await failed).toMatchObject({
      outcome: 'refused',
      failure: { code: 'nothing-to-do', message: expect.stringContaining('ShepherdReinstall') },
    });
    const ends = stand.bmdb.tables.history.map(({ process, event }) => [process, event]);
    expect(ends).toEqual([
      ['ShepherdRecovery', 'Started'],
      ['ShepherdRecovery', 'Canceled'],
    ]);
    expect(stand.row()).toMatchObject({ backoffs: [], quarantine: null });
  });
});

describe('an order', () => {
  const healthy = (change: Partial<MachineRow> = {}) => {
    const { bootId } = stand.host;
    const atMs = stand.clock.now();
    stage.silent(bootId, { heartbeat: { atMs, bootId }, ...change });
  };
  const reboots = () => {
    const { bootId } = stand.host;
    stand.reboot = async () => {
      stand.host.bootId = `${bootId} again`;
      return 'operation-1';
    };
  };

  test('to reboot a healthy machine is carried out, proved, and done', async () => {
    healthy();
    reboots();
    await stage.order('reboot');
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['reboot graceful']);
    expect(await request()).toMatchObject({ state: 'done' });
    expect(stand.row()).toMatchObject({ agentStarted: null, order: null });
    const untouched = { rung: 'restartingAgent', attempts: 0, nextAtMs: null };
    expect(stand.row().recovery).toMatchObject(untouched);
  });

  test('to reboot by force does not ask the system', async () => {
    healthy();
    reboots();
    await stage.order('reboot', true);
    await stage.attempted();
    expect(stage.deeds()).toEqual(['reboot force']);
  });

  test('to restart the agent of a healthy machine does just that', async () => {
    stand.host.run = () => ({});
    healthy();
    await stage.order('restart-agent');
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['stop the agent']);
    expect(await request()).toMatchObject({ state: 'done' });
  });

  test('to reinstall is the other process', async () => {
    healthy({ hostKey: stand.host.hostKey });
    stand.reinstall = async () => {
      stand.host.hostKey = 'bmV3IGtleQ==';
      stand.host.bootId = 'new';
      return 'operation-1';
    };
    await stage.order('reinstall');
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['reinstall']);
    expect(stand.bmdb.tables.history.map(({ process }) => process)).toEqual([
      'ShepherdReinstall',
      'ShepherdReinstall',
    ]);
    expect(await request()).toMatchObject({ state: 'done' });
  });

  test('does not move the ladder, waits for no cool-down, and fails once', async () => {
    const recovery = ladderRow({
      rung: 'powerCycling',
      attempts: 1,
      nextAtMs: stand.clock.now() + HOUR,
    });
    const wait = backoff('ShepherdRecovery', stand.clock.now() + HOUR);
    stage.silent('gone', { recovery, backoffs: [wait] });
    stand.host.unreachable = true;
    await stage.order('reboot');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    expect(stand.row().recovery).toMatchObject({
      rung: 'powerCycling',
      attempts: 1,
      nextAtMs: recovery.nextAtMs,
    });
    const { state, outcome } = await request();
    expect({ state, outcome }).toEqual({
      state: 'refused',
      outcome: expect.stringContaining('no evidence') as string,
    });
    expect(stage.deeds()).toEqual(['reboot graceful']);
  });

  test('that a provider cannot carry out is refused, with what it said', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: false };
    healthy();
    await stage.order('reboot');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-implemented' } });
    expect(stage.deeds()).toEqual([]);
    expect(await request()).toMatchObject({ state: 'refused' });
  });

  test('stays open where its work was cancelled, and is not asked for twice', async () => {
    healthy();
    await stage.order('reboot');
    await stage.claim();
    await stage.run('askReboot');
    await stage.dies();
    expect(await request()).toMatchObject({ state: 'open' });
    stand.host.bootId = 'another';
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['reboot graceful']);
    expect(await request()).toMatchObject({ state: 'done' });
  });
});

describe('a daemon that dies, and another that goes on', () => {
  /** Rungs whose attempt leads to a machine that is ready again, step by step. */
  const WAYS = {
    restartingAgent: ['reachAgent', 'stopAgent', 'recordRecovery'],
    rebooting: ['askReboot', 'awaitBoot', 'recordRecovery'],
    powerCycling: ['switchOff', 'awaitOff', 'switchOn', 'awaitBoot', 'recordRecovery'],
    reinstalling: ['askReinstall', 'awaitSystem', 'recordRecovery'],
  } as const;
  const deaths = Object.entries(WAYS).flatMap(([rung, steps]) =>
    ['claimRecovery', ...steps].map((step) => [rung as keyof typeof WAYS, step] as const),
  );

  /** The machine does what it is told, and each boot is another one. */
  function obeys() {
    let boots = 0;
    const boot = async () => {
      boots += 1;
      stand.host.bootId = `boot ${boots}`;
      return 'operation-1';
    };
    stand.host.run = () => ({});
    stand.reboot = boot;
    stand.reinstall = async () => {
      stand.host.hostKey = 'bmV3IGtleQ==';
      return boot();
    };
    stand.setPower = async (want) => {
      stand.power = want;
      return want === 'on' ? boot() : 'operation-1';
    };
  }

  test.each(deaths)('%s, after %s', async (rung, last) => {
    obeys();
    const { bootId, hostKey } = stand.host;
    stage.silent(bootId, { hostKey, recovery: ladderRow({ rung }) });
    await stage.claim();
    for (const step of WAYS[rung]) {
      if (last === 'claimRecovery') break;
      const running = stage.run(step);
      await advance(stand.clock, 10_000);
      await running;
      if (step === last) break;
    }
    await stage.dies();
    await advance(stand.clock, MINUTE);
    if (last !== 'recordRecovery') {
      expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    }
    await settled();
    expect(stand.row()).toMatchObject({ agentStarted: null, quarantine: null });
    expect(stand.row().recovery).toMatchObject({ rung, askedAtMs: null });
    const mighty = stage.deeds().filter((what) => /^(reboot|power off|reinstall)/.test(what));
    expect(mighty.length, 'nothing mighty is done twice').toBeLessThanOrEqual(1);
    expect(stand.power).toBe('on');
    expect(stand.bmdb.tables.work).toEqual([]);
  });
});
