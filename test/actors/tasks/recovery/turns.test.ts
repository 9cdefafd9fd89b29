import { describe, expect, test } from 'vitest';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { ladderRow } from '../../../support/facts.ts';
import { JOB } from '../../../support/task-stand.ts';
import { codeOf, createRecoveryStage, MINUTE } from './stage.ts';

const onRung = { recovery: ladderRow({ attempts: 0 }) };

describe('A4: a request that waits for its turn', () => {
  /** A stage whose provider does this in place of a reboot. */
  const staged = (rebootMachine: FleetProvider['rebootMachine']) =>
    createRecoveryStage(({ providers }) => ({
      providers: new Map(
        [...providers].map(([name, provider]) => [
          name,
          Object.assign(Object.create(provider) as FleetProvider, { rebootMachine }),
        ]),
      ),
    }));

  test('has no limit of its own, and is noted when the turn has come', async () => {
    const noted: unknown[] = [];
    const waiting = await staged(async (_id, _mode, { timeoutMs, beforeSending }) => {
      noted.push(timeoutMs, waiting.stand.row().recovery?.attempts);
      waiting.stand.clock.increment(2 * MINUTE);
      await beforeSending!();
      noted.push(waiting.stand.row().recovery?.attempts);
      return { operationRef: 'operation-1' };
    });
    waiting.stand.host.unreachable = true;
    waiting.silent('boot-1', onRung);
    await waiting.claim();
    await waiting.run('askReboot');
    expect(noted).toEqual([undefined, 0, 1]);
    const askedAtMs = waiting.stand.clock.now();
    expect(waiting.stand.row().recovery).toMatchObject({ attempts: 1, askedAtMs });
  });

  test('is not made to a machine that came back meanwhile, and counts for nothing', async () => {
    const waiting = await staged(async (_id, _mode, { beforeSending }) => {
      const publicKey = Buffer.from('ab'.repeat(32), 'hex');
      await waiting.stand.bmdb.heartbeats.recordHeartbeats([
        { machineId: JOB.machineId, publicKey, bootId: 'boot-1' },
      ]);
      await beforeSending!();
      throw new Error('this was sent');
    });
    waiting.stand.host.unreachable = true;
    waiting.silent('boot-1', onRung);
    await waiting.claim();
    expect(await codeOf(waiting.run('askReboot'))).toBe('nothing-to-do');
    expect(waiting.stand.row().recovery).toMatchObject({ attempts: 0, askedAtMs: null });
  });

  test('is sent again soon after, but not on the word of an old check', async () => {
    const waits = [5_000, 11_000];
    const waiting = await staged(async (_id, _mode, { beforeSending }) => {
      await beforeSending!();
      for (const waitMs of waits) {
        waiting.stand.clock.increment(waitMs);
        await beforeSending!();
      }
      throw new Error('this was sent');
    });
    waiting.stand.host.unreachable = true;
    waiting.silent('boot-1', onRung);
    await waiting.claim();
    expect(await codeOf(waiting.run('askReboot'))).toBe('transient');
    expect(waiting.stand.row().recovery, 'nothing was carried out').toMatchObject({ attempts: 0 });
  });
});
