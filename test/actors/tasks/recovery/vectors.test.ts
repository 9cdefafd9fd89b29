import { describe, expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { ladderRow } from '../../../support/facts.ts';
import { createSmallWorld, type SmallWorld } from '../../../support/small-world.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE } from './stage.ts';
import type { StandingRung } from '../../../../src/domain/recovery/rung-names.ts';

/** Vectors of providers that are about recovery, by their numbers. */

describe('provider vector 19: the host key changes', () => {
  let world: SmallWorld;

  const view = () => [...world.views.values()][0]!;
  const machine = () => [...world.bmdb.tables.machines.values()][0]!;
  const host = () => [...world.hosts.values()][0]!;
  async function until(state: string, substate: string) {
    for (let at = 0; at < 120; at += 1) {
      if (view()?.state === state && view().substate === substate) return;
      await advance(world.clock, MINUTE);
    }
    throw new Error(`not ${state}: ${JSON.stringify(view())}`);
  }
  const running = async () => {
    world = createSmallWorld({ machines: 1 });
    await world.fleet();
    await advance(world.clock, MINUTE);
    await until('Running', 'healthy');
    // Long enough for the guard to have seen heartbeats being taken in.
    await advance(world.clock, 15 * MINUTE);
  };
  const fallSilent = (rung: StandingRung) => {
    machine().row = { ...machine().row, recovery: ladderRow({ rung }) };
    host().killAgent();
  };

  test('no reinstall by us: Quarantined · conflict, and nothing runs on the stranger', async () => {
    await running();
    const pinned = machine().row.hostKey;
    fallSilent('restartingAgent');
    host().hostKey = 'another key';
    const { executions } = host();
    await until('Quarantined', 'conflict');
    expect(machine().row.hostKey).toBe(pinned);
    expect(host().executions).toBe(executions);
    expect(view().endedBy).toContain('release');
    await advance(world.clock, 60 * MINUTE);
    expect(view()).toMatchObject({ state: 'Quarantined', substate: 'conflict' });
  });

  test('after a reinstall by us: verified anew, accepted, and pinned', async () => {
    await running();
    const pinned = machine().row.hostKey;
    fallSilent('reinstalling');
    host().unreachable = true;
    await until('Recovering', 'reinstalling');
    await until('Running', 'healthy');
    expect(world.provider.account.calls.count('reinstall')).toBe(1);
    expect(machine().row.hostKey).toBe(host().hostKey);
    expect(machine().row.hostKey).not.toBe(pinned);
    expect(machine().row.quarantine).toBeNull();
  });
});

describe('provider vector 20: reboot', () => {
  test('is done only after the boot id changed', async () => {
    const stage = await createRecoveryStage();
    const { stand } = stage;
    stage.silent(stand.host.bootId, { recovery: ladderRow() });
    const { result, ended } = stage.attempt();
    await advance(stand.clock, 5 * MINUTE);
    stand.host.unreachable = true;
    await advance(stand.clock, MINUTE);
    stand.host.unreachable = false;
    await advance(stand.clock, MINUTE);
    expect(ended()).toBe(false);
    expect(stand.row().agentStarted).not.toBeNull();
    stand.host.bootId = 'another';
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
    expect(stand.row().agentStarted).toBeNull();
  });

  test('that is ignored times out, and is forced then', async () => {
    const stage = await createRecoveryStage();
    const { stand } = stage;
    stage.silent(stand.host.bootId, { recovery: ladderRow() });
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    await advance(stand.clock, 10 * MINUTE);
    const { result } = stage.attempt();
    await settled();
    await settled();
    expect(stage.deeds()).toEqual(['reboot graceful', 'reboot force']);
    await stage.dies();
    void result;
  });
});

describe('provider vector 21: reinstall', () => {
  test('unsupported: not-implemented, and nothing changes', async () => {
    const stage = await createRecoveryStage();
    const { stand } = stage;
    stand.capabilities = { ...stand.capabilities, reinstall: false };
    stand.reinstall = () => Promise.reject(new ProviderError('not-implemented', 'no'));
    const { hostKey, bootId } = stand.host;
    stage.silent(bootId, { hostKey, heartbeat: { atMs: stand.clock.now(), bootId } });
    await stage.order('reinstall');
    const before = stand.row();
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-implemented' } });
    const { hostKey: after, agentStarted, heartbeat } = stand.row();
    expect({ after, agentStarted, heartbeat }).toEqual({
      after: hostKey,
      agentStarted: before.agentStarted,
      heartbeat: before.heartbeat,
    });
    expect(stage.deeds()).toEqual([]);
  });

  test('supported: the same id, a new key', async () => {
    const stage = await createRecoveryStage();
    const { stand } = stage;
    const { hostKey, bootId } = stand.host;
    stage.silent(bootId, { hostKey, recovery: ladderRow({ rung: 'reinstalling' }) });
    stand.reinstall = async () => {
      stand.host.hostKey = 'bmV3IGtleQ==';
      stand.host.bootId = 'new';
      return 'operation-1';
    };
    const id = stand.row().provided!.providerId;
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.row()).toMatchObject({ provided: { providerId: id }, hostKey: null });
  });
});
