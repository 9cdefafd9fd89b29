import { describe, expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type { LadderRow } from '../../../../src/domain/machine.ts';
import { device, ladderRow, MACHINE } from '../../../support/facts.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { begun, MINUTE, onRung, permit, recovery, setStage, stage, stand } from './stage.ts';

setStage();

const cycling = (change: Partial<LadderRow> = {}) => onRung('powerCycling', change);
/** The power obeys. @param on replaces the power-on request. */
const obeys = (on: () => void = () => undefined) => {
  const bootId = stand.host.bootId;
  stand.setPower = async (want) => {
    if (want === 'on') on();
    stand.power = want;
    stand.host.unreachable = want === 'off';
    stand.host.bootId = want === 'on' ? `${bootId} again` : bootId;
    return 'operation-1';
  };
};
const fails = (error: Error) => () => {
  throw error;
};
const onlyAccepts = () => void (stand.setPower = async () => 'operation-1');
const transient = new ProviderError('transient', 'no provider');
const broken = new ProviderError('permanent', 'the breaker is out');

test('switches off, sees it off, switches on, and sees another boot', async () => {
  cycling();
  let known: unknown;
  obeys(() => (known = recovery()));
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['power off', 'power on']);
  expect(known, 'on record before').toMatchObject({ offSeenAtMs: expect.any(Number) as number });
  expect(recovery()).toMatchObject({ rung: 'powerCycling', attempts: 1, askedAtMs: null });
  expect(stand.row()).toMatchObject({ agentStarted: null });
  expect(stand.row().bootTimes.reboot).toHaveLength(1);
});

test('does not request power-on twice when only its acceptance could not be recorded', async () => {
  cycling();
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

describe('power', () => {
  test.each(['unknown', 'on'] as const)('%s does not count as off', async (power) => {
    cycling();
    onlyAccepts();
    stand.power = power;
    const { result } = stage.attempt();
    await advance(stand.clock, 6 * MINUTE);
    expect(permit(), 'F6: kept from no other machine').toBeNull();
    await advance(stand.clock, 60 * MINUTE);
    expect(await result).toMatchObject({ failure: { code: 'timed-out' } });
    expect(stage.deeds(), 'and is asked back').toEqual(['power off', 'power on']);
    expect(recovery()).toMatchObject({ attempts: 1, offSeenAtMs: null });
  });

  test('is read again when the provider does not tell it for a while', async () => {
    cycling();
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
});

describe('a machine whose power was cut', () => {
  test('is switched on when the provider does not accept power at once', async () => {
    let refusals = 10;
    cycling();
    obeys(() => {
      if (refusals-- > 0) throw transient;
    });
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.power).toBe('on');
    expect(recovery()).toMatchObject({ attempts: 1 });
  });

  test.each<readonly [string, Error, readonly string[]]>([
    ['nobody knows', new ProviderError('transient', 'lost', { outcome: 'unknown' }), ['power on']],
    ['it was refused', new ProviderError('invalid', 'it is being deleted'), []],
  ])('is switched on when whether it went off %s', async (_, failure, asked) => {
    cycling();
    stand.setPower = (want) => (want === 'off' ? Promise.reject(failure) : Promise.resolve('2'));
    expect(await stage.attempted()).toMatchObject({ failure: { code: failure.name } });
    expect(stage.deeds()).toEqual(['power off', ...asked]);
  });

  test('is switched on when the database fails right after', async () => {
    cycling();
    stand.setPower = async (want) => {
      stand.power = want;
      stand.bmdb.tables.reachable = want === 'on';
      return 'operation-1';
    };
    await stage.attempted();
    expect(stage.deeds()).toEqual(['power off', 'power on']);
    expect(stand.power).toBe('on');
  });

  test('is switched on without a record if none is possible', async () => {
    cycling();
    obeys(fails(broken));
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'permanent' } });
    const told = 'the machine may be off, and could not be switched on';
    expect(stand.log.count(told)).toBe(1);
  });

  test.each<readonly [typeof stand.power, readonly string[], typeof stand.lacks]>([
    ['off', ['power on'], undefined],
    ['on', [], undefined],
    ['unknown', [], undefined],
    ['off', [], ['power']],
  ])('is switched on at the end of the ladder, when it is %s', async (power, deeds, lacks) => {
    stand.lacks = lacks;
    onRung('reinstalling', {
      ...{ attempts: 2, nextAtMs: stand.clock.now() - 1 },
      ...{ askedAtMs: stand.clock.now() - 60 * MINUTE, askedRung: 'powerCycling' },
    });
    stand.power = power;
    expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
    expect(stage.deeds()).toEqual(deeds);
    expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
  });
});

describe('a machine that is owed power', () => {
  const leftOff = (change: Partial<LadderRow> = {}) =>
    onRung('reinstalling', {
      nextAtMs: stand.clock.now() - 1,
      powerOffAskedAtMs: stand.clock.now() - 60 * MINUTE,
      ...change,
    });

  test.each<readonly [string, Partial<LadderRow>, readonly string[]]>([
    ['a reinstallation', {}, ['power on', 'reinstall']],
    ['a reboot', { rung: 'rebooting' }, ['power on', 'reboot graceful']],
    ['another power cycle', { rung: 'powerCycling' }, ['power on', 'power off', 'power on']],
    ['its agent', { rung: 'restartingAgent' }, ['power on', 'stop the agent']],
    ['what is ordered', { attempts: 2 }, ['power on', 'reboot graceful']],
  ])('is switched on before %s', async (what, change, deeds) => {
    leftOff(change);
    if (what === 'what is ordered') await stage.order('reboot');
    await begun();
    expect(stage.deeds().slice(0, deeds.length)).toEqual(deeds);
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

  test('gets no other request while power cannot be requested', async () => {
    leftOff();
    obeys(fails(transient));
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'transient' } });
    expect(stage.deeds()).toEqual(['power on']);
    expect(recovery()).toMatchObject({ attempts: 0, powerOffAskedAtMs: expect.any(Number) });
  });

  test('is reported when power is refused for good, and the rest is tried', async () => {
    leftOff();
    obeys(fails(broken));
    await begun();
    expect(stage.deeds()).toEqual(['power on', 'reinstall']);
    expect(stand.log.count('the machine is left switched off')).toBe(1);
    leftOff({ attempts: 2 });
    await stage.attempted();
    expect(stand.row().quarantine!.reason).toContain('it may be switched off');
  });

  test('is known as such until then, whatever is requested meanwhile', async () => {
    let works = false;
    cycling({ attempts: 1 });
    obeys(() => {
      if (!works) throw broken;
    });
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

test('is switched on and given up when another daemon began and it is on', async () => {
  cycling({
    ...{ attempts: 1, askedAtMs: stand.clock.now() - MINUTE },
    ...{ askedRung: 'powerCycling', bootIdBefore: stand.host.bootId },
  });
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
  expect(stage.deeds()).toEqual(['power on']);
  expect(recovery()).toMatchObject({ attempts: 1 });
});

test('goes on to power cycling where a provider knows no reboots', async () => {
  stand.capabilities = { ...stand.capabilities, reboot: false };
  onRung('restartingAgent', { attempts: 2 });
  expect(await stage.claim()).toBe('powerCycling');
});

test('power-cycles a machine without an address too', async () => {
  stage.silent(null, { recovery: ladderRow({ rung: 'powerCycling' }) });
  stand.whereIs = async () => device({ address: null, power: stand.power });
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['power off', 'power on']);
});
