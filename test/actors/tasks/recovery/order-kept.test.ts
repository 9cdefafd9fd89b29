import { beforeEach, expect, test } from 'vitest';
import type { WorkNote } from '../../../../src/adapters/bmdb/port.ts';
import { AmbiguousCommit, NotFound, Unreachable } from '../../../../src/domain/errors.ts';
import { ladderRow } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE, noting, type RecoveryStage } from './stage.ts';

/** What an operator ordered is not lost because the database was away for a moment. */

const AWAY = new Unreachable('could not note it: Connection terminated unexpectedly');
const LOST = new AmbiguousCommit('lost the connection while trying to note it');
let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
let refusal: (note: WorkNote) => void;
beforeEach(async () => {
  refusal = () => undefined;
  stage = await createRecoveryStage(
    noting(async (note, write) => {
      refusal(note);
      await write();
    }),
  );
  ({ stand } = stage);
  const { bootId } = stand.host;
  const atMs = stand.clock.now();
  stand.host.run = () => ({});
  stage.silent(bootId, { heartbeat: { atMs, bootId }, hostKey: stand.host.hostKey });
  stand.reboot = async () => {
    stand.host.bootId = 'rebooted';
    return 'operation-1';
  };
  stand.reinstall = async () => {
    stand.host.hostKey = 'bmV3IGtleQ==';
    stand.host.bootId = 'reinstalled';
    return 'operation-1';
  };
});

const request = async () => {
  const [found] = await stand.bmdb.requests.read(['ann-1'], new AbortController().signal);
  return found!;
};
const events = () => stand.bmdb.tables.history.map(({ event }) => event);
const permit = () => stand.bmdb.tables.machines.get(JOB.machineId)!.permitGrantedAtMs;

/** The first note of this kind fails, before it is written. */
function failsOnce(kind: WorkNote['kind'], error: Error): void {
  refusal = (note) => {
    if (note.kind !== kind) return;
    refusal = () => undefined;
    throw error;
  };
}

const ORDERS = [
  ['restart-agent', 'stop the agent'],
  ['reboot', 'reboot graceful'],
  ['reinstall', 'reinstall'],
] as const;

test.each(ORDERS)(
  '%s: one that could not be noted stays open, and is done next',
  async (verb, deed) => {
    failsOnce('recoveryAsked', AWAY);
    await stage.order(verb);
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
    expect(stage.deeds()).toEqual([]);
    expect(await request()).toMatchObject({ state: 'open' });
    expect(events()).toEqual(['Started', 'Canceled']);
    expect(permit()).toBeNull();
    expect(stand.row()).toMatchObject({ backoffs: [], recovery: null });
    expect(stand.log.count('recovery attempt failed')).toBe(1);

    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual([deed]);
    expect(await request()).toMatchObject({ state: 'done' });
  },
);

test('one whose note may have been written is not lost either', async () => {
  failsOnce('recoveryAsked', LOST);
  await stage.order('reboot');
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'ambiguous-commit' } });
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reboot graceful']);
  expect(await request()).toMatchObject({ state: 'done' });
});

test.each(['reboot', 'reinstall'] as const)(
  '%s: one that was sent, and its answer not noted, is waited for and not sent again',
  async (verb) => {
    failsOnce('recoveryAccepted', AWAY);
    await stage.order(verb);
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
    expect(await request()).toMatchObject({ state: 'open' });
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toHaveLength(1);
    expect(await request()).toMatchObject({ state: 'done' });
  },
);

test('a machine that owes its power is switched on, and the order stays open', async () => {
  const powerOffAskedAtMs = stand.clock.now() - MINUTE;
  stage.silent('gone', { recovery: ladderRow({ rung: 'powerCycling', powerOffAskedAtMs }) });
  failsOnce('powerOnAccepted', AWAY);
  await stage.order('reboot');
  await stage.attempted();
  expect(stage.deeds()).toEqual(['power on']);
  expect(await request()).toMatchObject({ state: 'open' });
});

test('what does not pass ends the order, with the reason', async () => {
  failsOnce('recoveryAsked', new NotFound('there is no such table'));
  await stage.order('reboot');
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-found' } });
  expect(await request()).toMatchObject({ state: 'refused', outcome: 'there is no such table' });
});

test("the ladder's own attempt fails as before, with its wait", async () => {
  stage.silent('gone', { recovery: ladderRow({ rung: 'rebooting', attempts: 0 }) });
  stand.host.unreachable = true;
  failsOnce('recoveryAsked', AWAY);
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
  expect(events()).toEqual(['Started', 'Failed']);
  expect(stand.row().backoffs).toHaveLength(1);
});

test.each([
  ['the database was away', AWAY],
  ['its answer was lost', LOST],
] as const)('one that takes its time returns its permit, and is done: %s', async (_, error) => {
  failsOnce('permitReturned', error);
  stand.reboot = async () => {
    stand.host.unreachable = true;
    return 'operation-1';
  };
  await stage.order('reboot');
  const { result } = stage.attempt();
  await advance(stand.clock, 4 * MINUTE);
  expect(permit()).not.toBeNull();
  await advance(stand.clock, 2 * MINUTE);
  expect(permit()).toBeNull();
  stand.host.unreachable = false;
  stand.host.bootId = 'rebooted';
  await advance(stand.clock, 2 * MINUTE);
  expect(await result).toMatchObject({ outcome: 'done' });
  expect(await request()).toMatchObject({ state: 'done' });
});

test('a machine whose boots take longer keeps its permit for so long', async () => {
  stand.reboot = async () => {
    stand.host.unreachable = true;
    return 'operation-1';
  };
  stage.silent(stand.host.bootId, { bootTimes: { reboot: [480], reinstall: [] } });
  await stage.order('reboot');
  const { result } = stage.attempt();
  await advance(stand.clock, 7 * MINUTE);
  expect(permit()).not.toBeNull();
  await advance(stand.clock, 2 * MINUTE);
  expect(permit()).toBeNull();
  stand.host.unreachable = false;
  stand.host.bootId = 'rebooted';
  await advance(stand.clock, 2 * MINUTE);
  expect(await result).toMatchObject({ outcome: 'done' });
});
