import { beforeEach, describe, expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type { LadderRow } from '../../../../src/domain/machine.ts';
import { device, ladderRow, MACHINE } from '../../../support/facts.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
});

const onRung = (change: Partial<LadderRow> = {}) =>
  stage.silent(stand.host.bootId, { recovery: ladderRow({ rung: 'powerCycling', ...change }) });
/** Switched off it ends its boot, switched on it begins another. */
const obeys = () => {
  const bootId = stand.host.bootId;
  stand.setPower = async (want) => {
    stand.power = want;
    stand.host.unreachable = want === 'off';
    stand.host.bootId = want === 'on' ? `${bootId} again` : bootId;
    return 'operation-1';
  };
};
const recovery = () => stand.row().recovery;
const transient = new ProviderError('transient', 'no provider');

test('is off, seen off, on, and another boot', async () => {
  onRung();
  obeys();
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['power off', 'power on']);
  expect(recovery()).toMatchObject({ rung: 'powerCycling', attempts: 1, askedAtMs: null });
  expect(stand.row()).toMatchObject({ agentStarted: null });
  expect(stand.row().bootTimes.reboot).toHaveLength(1);
});

test('is not asked on twice where only its acceptance could not be put on record', async () => {
  onRung();
  obeys();
  await stage.claim();
  for (const step of ['switchOff', 'awaitOff'] as const) {
    const result = stage.run(step);
    await advance(stand.clock, MINUTE);
    await result;
  }
  const { setPower } = stand;
  stand.setPower = async (want) => {
    await stand.keeper.require().releaseWork(MACHINE);
    return setPower(want);
  };
  await expect(stage.run('switchOn')).rejects.toMatchObject({ code: 'work-lost' });
  await stage.run('restorePower');
  expect(stage.deeds()).toEqual(['power off', 'power on']);
});

test('is on record before the power goes', async () => {
  let known: unknown;
  onRung();
  stand.setPower = async () => {
    known ??= recovery();
    return 'operation-1';
  };
  const { result } = stage.attempt();
  await settled();
  expect(known).toMatchObject({ attempts: 1, askedRung: 'powerCycling', offSeenAtMs: null });
  await stage.dies();
  void result;
});

describe('power', () => {
  test.each(['unknown', 'on'] as const)('that is %s is not off', async (power) => {
    onRung();
    stand.setPower = async () => 'operation-1';
    stand.power = power;
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    expect(stage.deeds(), 'and is asked back').toEqual(['power off', 'power on']);
    expect(recovery()).toMatchObject({ attempts: 1, offSeenAtMs: null });
  });

  test('F6: that is not seen off in time keeps no permit from other machines', async () => {
    onRung();
    stand.setPower = async () => 'operation-1';
    stand.power = 'unknown';
    const { result } = stage.attempt();
    await advance(stand.clock, 6 * MINUTE);
    expect(stand.bmdb.tables.machines.get(MACHINE)).toMatchObject({ permitGrantedAtMs: null });
    await stage.dies();
    void result;
  });

  test('of which the provider tells nothing for a while is looked at again', async () => {
    onRung();
    const { whereIs } = stand;
    stand.setPower = async (want) => {
      stand.power = want;
      stand.whereIs = () => Promise.reject(transient);
      return 'operation-1';
    };
    const { result } = stage.attempt();
    await advance(stand.clock, MINUTE);
    expect(stage.deeds()).toEqual(['power off']);
    stand.whereIs = whereIs;
    obeys();
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['power off', 'power on']);
  });

  test('that is seen off is on record before it is asked on', async () => {
    let known: unknown;
    onRung();
    stand.setPower = async (want) => {
      if (want === 'on') known = recovery();
      stand.power = want;
      return 'operation-1';
    };
    const { result } = stage.attempt();
    await advance(stand.clock, MINUTE);
    expect(known).toMatchObject({ offSeenAtMs: expect.any(Number) as number });
    await stage.dies();
    void result;
  });
});

describe('a machine is never left off', () => {
  test('where the provider does not take the request for power at once', async () => {
    let refusals = 10;
    onRung();
    const bootId = stand.host.bootId;
    stand.setPower = async (want) => {
      if (want === 'on' && refusals-- > 0) throw transient;
      stand.power = want;
      stand.host.bootId = want === 'on' ? `${bootId} again` : bootId;
      return 'operation-1';
    };
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.power).toBe('on');
    expect(recovery()).toMatchObject({ attempts: 1 });
  });

  test.each<readonly [string, Error, readonly string[]]>([
    ['nobody knows', new ProviderError('transient', 'lost', { outcome: 'unknown' }), ['power on']],
    ['it was refused', new ProviderError('invalid', 'it is being deleted'), []],
  ])('where whether it went off %s', async (_, failure, asked) => {
    onRung();
    stand.setPower = (want) => (want === 'off' ? Promise.reject(failure) : Promise.resolve('2'));
    expect(await stage.attempted()).toMatchObject({ failure: { code: failure.name } });
    expect(stage.deeds()).toEqual(['power off', ...asked]);
  });

  test('where the database fails right after it went off', async () => {
    onRung();
    stand.setPower = async (want) => {
      stand.power = want;
      stand.bmdb.tables.reachable = want === 'on';
      return 'operation-1';
    };
    await stage.attempted();
    expect(stage.deeds()).toEqual(['power off', 'power on']);
    expect(stand.power).toBe('on');
  });

  test('without that being told, where it cannot be helped', async () => {
    onRung();
    stand.setPower = async (want) => {
      if (want === 'on') throw new ProviderError('permanent', 'the breaker is out');
      stand.power = want;
      return 'operation-1';
    };
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'permanent' } });
    expect(stand.log.count('the machine may be switched off, and could not be switched on')).toBe(
      1,
    );
  });

  test('at the end of the ladder', async () => {
    onRung({
      rung: 'reinstalling',
      attempts: 2,
      nextAtMs: stand.clock.now() - 1,
      askedAtMs: stand.clock.now() - 60 * MINUTE,
      askedRung: 'powerCycling',
    });
    stand.power = 'off';
    expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
    expect(stage.deeds()).toEqual(['power on']);
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
  });

  test('nor switched on at the end of the ladder where it is on, or unknown', async () => {
    for (const power of ['on', 'unknown'] as const) {
      onRung({
        rung: 'reinstalling',
        attempts: 2,
        nextAtMs: stand.clock.now() - 1,
        askedAtMs: stand.clock.now() - 60 * MINUTE,
        askedRung: 'powerCycling',
      });
      stand.power = power;
      await stage.attempted();
    }
    expect(stage.deeds()).toEqual([]);
  });
});

describe('a machine that was asked off, and not accepted to be on again', () => {
  const leftOff = (change: Partial<LadderRow> = {}) =>
    onRung({
      rung: 'reinstalling',
      attempts: 0,
      nextAtMs: stand.clock.now() - 1,
      powerOffAskedAtMs: stand.clock.now() - 60 * MINUTE,
      ...change,
    });
  const begun = async () => {
    const { result } = stage.attempt();
    await advance(stand.clock, MINUTE);
    await stage.dies();
    await result;
  };

  test.each<readonly [string, Partial<LadderRow>, readonly string[]]>([
    ['a reinstallation', {}, ['power on', 'reinstall']],
    ['a reboot', { rung: 'rebooting' }, ['power on', 'reboot graceful']],
    ['another power cycle', { rung: 'powerCycling' }, ['power on', 'power off', 'power on']],
    ['its agent', { rung: 'restartingAgent' }, ['power on', 'stop the agent']],
  ])('is switched on before %s', async (_, change, deeds) => {
    leftOff(change);
    await begun();
    expect(stage.deeds().slice(0, deeds.length)).toEqual(deeds);
  });

  test('is switched on before what is ordered', async () => {
    leftOff({ attempts: 2 });
    await stage.order('reboot');
    await begun();
    expect(stage.deeds()).toEqual(['power on', 'reboot graceful']);
    expect(recovery()).toMatchObject({ powerOffAskedAtMs: null });
  });

  test('is switched on before it is given up, seen off or not', async () => {
    stand.power = 'unknown';
    leftOff({ attempts: 2 });
    expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
    expect(stage.deeds().at(-1)).toBe('power on');
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
    expect(stand.row().quarantine!.reason).not.toContain('switched off');
    expect(recovery()).toMatchObject({ powerOffAskedAtMs: null });
  });

  test('is asked for nothing else while power cannot be asked for', async () => {
    leftOff();
    stand.setPower = () => Promise.reject(transient);
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'transient' } });
    expect(stage.deeds()).toEqual(['power on']);
    expect(recovery()).toMatchObject({ attempts: 0, powerOffAskedAtMs: expect.any(Number) });
  });

  test('is told of where power is refused for good, and what is left is tried', async () => {
    leftOff();
    stand.setPower = () => Promise.reject(new ProviderError('permanent', 'the breaker is out'));
    await begun();
    expect(stage.deeds()).toEqual(['power on', 'reinstall']);
    expect(stand.log.count('the machine is left switched off')).toBe(1);
    leftOff({ attempts: 2 });
    await stage.attempted();
    expect(stand.row().quarantine!.reason).toContain('it may be switched off');
  });

  test('is known as such until then, whatever is asked meanwhile', async () => {
    let works = false;
    onRung({ attempts: 1 });
    stand.setPower = async (want) => {
      if (want === 'on' && !works) throw new ProviderError('permanent', 'the breaker is out');
      stand.power = want;
      return 'operation-1';
    };
    stand.host.unreachable = true;
    await stage.attempted();
    await advance(stand.clock, 30 * MINUTE);
    await begun();
    expect(recovery()).toMatchObject({ askedRung: 'reinstalling' });
    expect(stand.power).toBe('off');
    works = true;
    await advance(stand.clock, 60 * MINUTE);
    await begun();
    expect(stand.power).toBe('on');
    expect(recovery()).toMatchObject({ powerOffAskedAtMs: null });
  });
});

describe('a power cycle that somebody began who is gone', () => {
  const begun = (change: Partial<LadderRow> = {}) =>
    onRung({
      attempts: 1,
      askedAtMs: stand.clock.now() - MINUTE,
      askedRung: 'powerCycling',
      bootIdBefore: stand.host.bootId,
      ...change,
    });

  test('goes on with power, where it was seen off', async () => {
    begun({ offSeenAtMs: stand.clock.now() - 30_000 });
    obeys();
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['power on']);
    expect(recovery()).toMatchObject({ attempts: 1 });
  });

  test('goes on with looking, where it is off by now', async () => {
    begun();
    obeys();
    stand.power = 'off';
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['power on']);
  });

  test('is not asked off again where it is on: it is asked on, and given up', async () => {
    begun();
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    expect(stage.deeds()).toEqual(['power on']);
    expect(recovery()).toMatchObject({ attempts: 1 });
  });

  test.each([
    ['after the request', 1],
    ['after it was seen off', 2],
    ['after power was asked for', 3],
  ] as const)('by a daemon that dies %s, and is taken over by another', async (_, deathAt) => {
    onRung();
    obeys();
    await stage.claim();
    const steps = ['switchOff', 'awaitOff', 'switchOn'] as const;
    for (const step of steps.slice(0, deathAt)) await stage.run(step);
    await stage.dies();
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds().filter((what) => what === 'power off')).toHaveLength(1);
    expect(stand.power).toBe('on');
    expect(recovery()).toMatchObject({ attempts: 1, askedAtMs: null });
  });
});

test('the ladder goes on to it where a provider knows no reboots', async () => {
  stand.capabilities = { ...stand.capabilities, reboot: false };
  stage.silent(stand.host.bootId, {
    recovery: ladderRow({ rung: 'restartingAgent', attempts: 2 }),
  });
  expect(await stage.claim()).toBe('powerCycling');
});

test('a machine without an address is power-cycled all the same', async () => {
  stage.silent(null, { recovery: ladderRow({ rung: 'powerCycling' }) });
  stand.whereIs = async () => device({ address: null, power: stand.power });
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['power off', 'power on']);
});
