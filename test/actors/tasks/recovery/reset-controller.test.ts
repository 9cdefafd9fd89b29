import { describe, expect, test } from 'vitest';
import { AmbiguousCommit, ProviderError } from '../../../../src/domain/errors.ts';
import { CONTROLLER_RESET_MS } from '../../../../src/domain/recovery/rungs.ts';
import { device, MACHINE } from '../../../support/facts.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { MINUTE, noting, onRung, permit, recovery, setStage, stage, stand } from './stage.ts';

/** The next reset note loses its answer. */
let isLost = false;
setStage(
  noting(async (note, write) => {
    await write();
    if (!isLost || note.kind !== 'controllerResetAsked') return;
    isLost = false;
    throw new AmbiguousCommit('the answer was lost');
  }),
  () => {
    isLost = false;
    stand.capabilities = { ...stand.capabilities, resetController: true };
    stand.host.unreachable = true;
  },
);

const HUNG = new ProviderError('transient', 'the controller does not answer');
const BMC = { id: 'bmc-7', hangs: true };

/**
 * The BMC hangs until it was restarted this often; meanwhile the provider cannot read the machine.
 */
function hangs(after: (tries: number) => boolean = () => true): void {
  let tries = 0;
  stand.controller = BMC;
  const { whereIs } = stand;
  stand.whereIs = async () => {
    if (stand.controller?.hangs) throw HUNG;
    return { ...(await whereIs()), controller: stand.controller! };
  };
  stand.resetController = async () => {
    tries += 1;
    if (after(tries)) stand.controller = { ...BMC, hangs: false };
    return 'operation-1';
  };
}
/** Each reboot gives a new boot id. */
function reboots(): void {
  const { bootId } = stand.host;
  stand.reboot = async () => {
    Object.assign(stand.host, { bootId: `${bootId} again`, unreachable: false });
    return 'operation-2';
  };
}
/** After all waits for earlier failures. */
async function attemptedLater() {
  await advance(stand.clock, 60 * MINUTE);
  return stage.attempted();
}
const steps = () =>
  stand.metrics.calls
    .filter(({ name }) => name === 'shepherd_ladder_attempts_total')
    .map(({ labels: { rung, outcome } }) => `${rung} ${outcome}`);

test('resets the BMC, sees it answer, and then reboots the machine, which recovers it', async () => {
  onRung('rebooting');
  hangs();
  reboots();
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reset controller', 'reboot graceful']);
  expect(recovery()).toMatchObject({ rung: 'rebooting', attempts: 1 });
  expect(stand.row().agentStarted).toBeNull();
  expect(steps()).toEqual([
    'resettingBmc asked',
    'resettingBmc proved',
    'rebooting asked',
    'rebooting proved',
  ]);
});

test('comes before the first reboot when SSH does not answer either', async () => {
  onRung('restartingAgent');
  hangs();
  reboots();
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reset controller', 'reboot graceful']);
});

test('comes after the agent restart on a machine that still answers', async () => {
  stand.host.unreachable = false;
  stage.silent(stand.host.bootId);
  hangs();
  await stage.attempted();
  expect(stage.deeds()).toEqual(['stop the agent']);
});

test('does not count an accepted reset as an answer, nor a late one as an attempt', async () => {
  onRung('powerCycling');
  hangs(() => false);
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
  expect(stage.deeds()).toEqual(['reset controller']);
  expect(recovery()).toMatchObject({ rung: 'powerCycling', attempts: 0 });
  expect(permit()).toBeNull();
});

test('happens once a day; in between the rung itself is tried', async () => {
  onRung('rebooting');
  hangs(() => false);
  for (let at = 0; at < 3; at += 1) await attemptedLater();
  expect(stage.deeds()).toEqual(['reset controller']);
  expect(recovery()).toMatchObject({ rung: 'rebooting', attempts: 0 });
  stand.bmdb.tables.controllerResets.set('stub bmc-7', {
    controller: 'bmc-7',
    machineId: MACHINE,
    atMs: stand.clock.now() - CONTROLLER_RESET_MS,
  });
  await attemptedLater();
  expect(stage.deeds()).toEqual(['reset controller', 'reset controller']);
});

test('F5: is requested again when it was not sent because its record’s answer was lost', async () => {
  onRung('rebooting');
  hangs();
  reboots();
  const { bmdb } = stand;
  isLost = true;
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'ambiguous-commit' } });
  expect(bmdb.tables.controllerResets.size).toBe(0);
  expect(await attemptedLater()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reset controller', 'reboot graceful']);
});

describe('a provider that refuses a BMC reset', () => {
  test('is asked again with the next attempt after a definite refusal', async () => {
    onRung('rebooting');
    hangs();
    reboots();
    const { resetController } = stand;
    stand.resetController = () =>
      Promise.reject(new ProviderError('transient', 'no connection', { outcome: 'not-done' }));
    expect(await stage.attempted()).toMatchObject({ outcome: 'failed' });
    expect(stand.bmdb.tables.controllerResets.size).toBe(0);
    stand.resetController = resetController;
    expect(await attemptedLater()).toMatchObject({ outcome: 'done' });
    expect(steps()).toContain('resettingBmc refused');
  });

  test.each([
    ['that answers again: the reboot follows', false, ['reset controller', 'reboot graceful']],
    ['that still hangs: the attempt ends', true, ['reset controller']],
  ])('is asked again after a conflict, for example %s', async (_what, stillHangs, deeds) => {
    onRung('rebooting');
    hangs();
    reboots();
    stand.resetController = () => {
      if (!stillHangs) stand.controller = { ...BMC, hangs: false };
      return Promise.reject(new ProviderError('conflict', 'it does not hang'));
    };
    expect(await stage.attempted()).toMatchObject({ outcome: stillHangs ? 'failed' : 'done' });
    expect(stage.deeds()).toEqual(deeds);
  });

  test('is not asked again when the reset may have happened', async () => {
    onRung('rebooting');
    hangs();
    stand.resetController = () =>
      Promise.reject(new ProviderError('transient', 'no answer', { outcome: 'unknown' }));
    await attemptedLater();
    await attemptedLater();
    expect(stage.deeds()).toEqual(['reset controller']);
  });
});

test('leaves a machine alone whose agent reports meanwhile', async () => {
  onRung('rebooting');
  hangs();
  stand.resetController = async () => {
    stand.controller = { ...BMC, hangs: false };
    const { machines } = stand.bmdb.tables;
    const machine = machines.get(MACHINE)!;
    machine.row = { ...machine.row, heartbeat: { atMs: stand.clock.now(), bootId: null } };
    return 'operation-1';
  };
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'nothing-to-do' } });
  expect(stage.deeds()).toEqual(['reset controller']);
});

test('requests owed power when the BMC answers', async () => {
  const powerOffAskedAtMs = stand.clock.now() - 5 * MINUTE;
  onRung('rebooting', { powerOffAskedAtMs });
  hangs();
  reboots();
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reset controller', 'power on', 'reboot graceful']);
});

test('does not treat unknown power as off, or skip the ladder', async () => {
  onRung('powerCycling');
  stand.power = 'unknown';
  stand.whereIs = async () => device({ address: '192.0.2.1', power: 'unknown' });
  stand.setPower = async () => 'operation-1';
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
  expect(stage.deeds()).toEqual(['power off', 'power on']);
});
