import { beforeEach, expect, test } from 'vitest';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { ladderRow, PROVIDER, SLOT } from '../../../support/facts.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { codeOf, createRecoveryStage, type RecoveryStage } from './stage.ts';

/** A request that its driver refuses before anything is sent is no request. */

const ABSURD = new ProviderError('permanent', 'the driver never sends that');
let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
let notes: string[];
/** Answers the provider's `rebootMachine`. */
let reboot: FleetProvider['rebootMachine'];
beforeEach(async () => {
  const refuse = async (): Promise<never> => {
    throw ABSURD;
  };
  reboot = refuse;
  stage = await createRecoveryStage(({ providers }) => {
    const provider = providers.get(PROVIDER)!;
    const refusing: FleetProvider = Object.create(provider, {
      rebootMachine: { value: (...args: Parameters<typeof reboot>) => reboot(...args) },
      setPower: { value: refuse },
      reinstallMachine: { value: refuse },
    });
    return { providers: new Map([[PROVIDER, refusing]]) };
  });
  ({ stand } = stage);
  stand.host.unreachable = true;
  notes = [];
});

test.each([
  ['rebooting', 'askReboot'],
  ['powerCycling', 'switchOff'],
  ['reinstalling', 'askReinstall'],
] as const)('B2: %s: nothing is noted of it, neither asked nor refused', async (rung, slot) => {
  stage.silent('boot-1', { recovery: ladderRow({ rung, attempts: 0 }) });
  expect(await stage.claim()).toBe(rung);
  const { work } = stand.taskPool.turn(SLOT).held;
  const { note } = work!;
  Object.assign(work!, {
    note: (what: Parameters<typeof note>[0]) => {
      notes.push(what.kind);
      return note(what);
    },
  });
  expect(await codeOf(stage.run(slot))).toBe('permanent');
  expect(notes).toEqual([]);
  expect(stand.row().recovery).toMatchObject({ attempts: 0, askedAtMs: null });
  expect(stand.metrics.total('shepherd_ladder_attempts_total')).toBe(0);
  // Nor is power asked on that was never asked off.
  await stage.run('restorePower');
  expect([notes, stage.deeds()]).toEqual([[], []]);
});

test('B2: what is sent again long after its check is not sent: the machine may be back', async () => {
  const sent: number[] = [];
  reboot = async (_id, _mode, { beforeSending }) => {
    for (const pauseMs of [14_000, 16_000, 0]) {
      await beforeSending?.();
      sent.push(stand.clock.now());
      await advance(stand.clock, pauseMs);
    }
    return { operationRef: 'operation-1' };
  };
  stage.silent('boot-1', { recovery: ladderRow({ rung: 'rebooting', attempts: 0 }) });
  await stage.claim();
  expect(await codeOf(stage.run('askReboot'))).toBe('transient');
  expect(sent, 'soon after it is sent again, later it is not').toHaveLength(2);
});
