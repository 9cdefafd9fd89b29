import { describe, expect, test } from 'vitest';
import { type MachineRow } from '../../../../src/domain/machine.ts';
import { ERASING_LADDER } from '../../../../src/domain/recovery/ladder.ts';
import { STANDING_RUNGS } from '../../../../src/domain/recovery/rungs.ts';
import { backoff, ladderRow } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import {
  anotherStage,
  codeOf,
  EVIDENCE,
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
setStage();

test('tries each rung as often as configured, with growing waits, and then waits for a person', async () => {
  stand.host.run = () => ({ exitCode: 1 });
  onRung('restartingAgent');
  const rungs: string[] = [];
  for (let at = 0; at < 20 && !stand.row().quarantine; at += 1) {
    await stage.attempted(3 * HOUR);
    if (!stand.row().quarantine) {
      rungs.push(recovery()!.rung);
      expect(permit(), 'returned while it cools down').toBeNull();
      const waitMinutes = (recovery()!.nextAtMs! - stand.clock.now()) / MINUTE;
      expect(waitMinutes).toBeGreaterThanOrEqual(1.2 ** at);
      expect(waitMinutes).toBeLessThan(1.2 ** at * 1.2);
    }
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
  expect([permit(), stand.bmdb.tables.work]).toEqual([null, []]);
  const labels = { provider: 'stub', rung: 'reinstalling', outcome: 'exhausted' } as const;
  expect(stand.metrics.total('shepherd_ladder_attempts_total', labels)).toBe(1);
  expect(stand.log.count('a human is needed')).toBe(1);
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'nothing-to-do' } });
});

test('goes to a person, and asks nothing, where the machine lacks what its provider can', async () => {
  stand.host.run = () => ({ exitCode: 1 });
  stand.lacks = ['reboot', 'power', 'reinstall'];
  onRung('restartingAgent', { attempts: 2 });
  await stage.attempted();
  expect(stand.row().quarantine).toMatchObject({
    kind: 'needsHuman',
    reason: expect.stringContaining(
      'rebooting it, switching it off and on, reinstalling it: this machine has no means for it',
    ),
  });
  expect(stage.deeds()).toEqual([]);
});

describe('the claim of recovery', () => {
  test('takes no machine whose provider is not configured, on any rung', async () => {
    await anotherStage(() => ({ providers: new Map() }));
    onRung('rebooting', { attempts: 99 });
    expect(await codeOf(stage.claim())).toBe('nothing-to-do');
    expect(stand.bmdb.tables.history).toEqual([]);
    expect(stand.row()).toMatchObject({ quarantine: null, backoffs: [], permit: false });
  });

  test('keeps no work when the turn ends meanwhile', async () => {
    stage.silent('boot-1');
    await stand.grant('recovery');
    const running = stage.run('claimRecovery');
    stand.taskPool.end(JOB.slot);
    expect(await codeOf(running)).toBe('cancelled');
    expect(stand.bmdb.tables.work).toEqual([]);
  });

  test('belongs to the process of the next step', async () => {
    onRung('powerCycling', { attempts: 2 });
    expect(await stage.claim()).toBe('reinstalling');
    expect(stand.bmdb.tables.work).toMatchObject([{ process: 'ShepherdReinstall' }]);
  });

  test('lets go when the rows name another process than the mirror did', async () => {
    await anotherStage(() => ({ facts: () => new Map() }));
    onRung('powerCycling', { attempts: 2 });
    expect(await stage.attempted()).toMatchObject({
      outcome: 'refused',
      failure: { code: 'nothing-to-do', message: expect.stringContaining('ShepherdReinstall') },
    });
    const ends = stand.bmdb.tables.history.map(({ process, event }) => `${process} ${event}`);
    expect(ends).toEqual(['ShepherdRecovery Started', 'ShepherdRecovery Canceled']);
    expect(stand.row()).toMatchObject({ backoffs: [], quarantine: null });
  });
});

/** `asking.test.ts` covers orders during an outage of the database. */
describe('an order that recovery carries out', () => {
  const healthy = (change: Partial<MachineRow> = {}) => {
    const { bootId } = stand.host;
    const atMs = stand.clock.now();
    stage.silent(bootId, { heartbeat: { atMs, bootId }, ...change });
  };

  test.each([false, true])(
    'reboots a healthy machine (by force: %s), proves it, and is done',
    async (force) => {
      healthy();
      const { bootId } = stand.host;
      stand.reboot = async () => {
        stand.host.bootId = `${bootId} again`;
        return 'operation-1';
      };
      await stage.order('reboot', force);
      expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
      expect(stage.deeds()).toEqual([force ? 'reboot force' : 'reboot graceful']);
      expect(await request()).toMatchObject({ state: 'done' });
      expect(stand.row()).toMatchObject({ agentStarted: null, order: null });
      const untouched = { rung: 'restartingAgent', attempts: 0, nextAtMs: null };
      expect(recovery()).toMatchObject(untouched);
    },
  );

  test('leaves the ladder alone, waits for no cooldown, and fails once', async () => {
    const nextAtMs = stand.clock.now() + HOUR;
    const before = { rung: 'powerCycling', attempts: 1, nextAtMs } as const;
    const wait = backoff('ShepherdRecovery', nextAtMs);
    stage.silent('gone', { recovery: ladderRow(before), backoffs: [wait] });
    stand.host.unreachable = true;
    await stage.order('reboot');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    expect(recovery()).toMatchObject(before);
    const outcome: unknown = expect.stringContaining('no evidence');
    expect(await request()).toMatchObject({ state: 'refused', outcome });
    expect(stage.deeds()).toEqual(['reboot graceful']);
  });

  test('is refused with the provider’s answer when it cannot be done', async () => {
    stand.capabilities = { ...stand.capabilities, reboot: false };
    healthy();
    await stage.order('reboot');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-implemented' } });
    expect(stage.deeds()).toEqual([]);
    expect(await request()).toMatchObject({ state: 'refused' });
  });
});

/** Rungs that lead to a ready machine, step by step, with each rung's action. */
const WAYS = {
  restartingAgent: ['reachAgent', 'stopAgent', 'recordRecovery'],
  rebooting: ['askReboot', 'awaitBoot', 'recordRecovery'],
  powerCycling: ['switchOff', 'awaitOff', 'switchOn', 'awaitBoot', 'recordRecovery'],
  reinstalling: ['askReinstall', 'awaitSystem', 'recordRecovery'],
} as const;
type LadderPath = keyof typeof WAYS;

/** The machine obeys, and each boot gets a new id. @param onDeed called before each action. */
function obeys(onDeed: () => void = () => undefined) {
  let boots = 0;
  const boot = async () => {
    onDeed();
    boots += 1;
    stand.host.bootId = `boot ${boots}`;
    return 'operation-1';
  };
  stand.host.run = (argv) => {
    if (!EVIDENCE.test(`execute ${argv.join(' ')}`)) onDeed();
    return {};
  };
  stand.reboot = boot;
  stand.reinstall = async () => {
    onDeed();
    stand.host.hostKey = 'bmV3IGtleQ==';
    return boot();
  };
  stand.setPower = async (want) => {
    onDeed();
    stand.power = want;
    return want === 'on' ? boot() : 'operation-1';
  };
}

test.each(Object.keys(WAYS) as LadderPath[])('records %s before doing it', async (rung) => {
  let known: unknown;
  obeys(() => (known ??= { ...recovery(), hostKey: stand.row().hostKey }));
  const { bootId, hostKey } = stand.host;
  onRung(rung, {}, { hostKey });
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(known).toMatchObject({
    ...{ rung, attempts: 1, askedRung: rung, bootIdBefore: bootId, offSeenAtMs: null },
    ...(rung === 'reinstalling' ? { hostKey: null, hostKeyBefore: hostKey } : { hostKey }),
  });
});

const deaths = Object.entries(WAYS).flatMap(([rung, steps]) =>
  ['claimRecovery', ...steps].map((step) => [rung as LadderPath, step] as const),
);
test.each(deaths)(
  'does %s with a daemon that dies after %s and another that continues',
  async (rung, last) => {
    obeys();
    onRung(rung, {}, { hostKey: stand.host.hostKey });
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
    expect(recovery()).toMatchObject({ rung, askedAtMs: null });
    const mighty = stage.deeds().filter((what) => /^(reboot|power off|reinstall)/.test(what));
    expect(mighty.length, 'nothing mighty is done twice').toBeLessThanOrEqual(1);
    expect(stand.power).toBe('on');
    expect(stand.bmdb.tables.work).toEqual([]);
  },
);
