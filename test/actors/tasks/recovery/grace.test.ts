import { beforeEach, describe, expect, test } from 'vitest';
import { ladderRow } from '../../../support/facts.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
});

const rebooting = () => ({ recovery: ladderRow({ attempts: 0 }) });
const reboots = () => stand.done.filter((what) => what.startsWith('reboot'));

describe('a graceful reboot that the system itself is to carry out', () => {
  beforeEach(() => void (stand.isGraceful = true));

  test('D8: is forced after two minutes where the machine did not answer', async () => {
    stand.host.unreachable = true;
    stage.silent('boot-1', rebooting());
    const { result } = stage.attempt();
    await advance(stand.clock, 1.9 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
    await advance(stand.clock, 0.2 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful', 'reboot force']);
    expect(stand.row().recovery).toMatchObject({ attempts: 2, bootIdBefore: 'boot-1' });
    Object.assign(stand.host, { bootId: 'another', unreachable: false });
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
    expect(reboots()).toHaveLength(2);
  });

  test('is not forced where the machine boots meanwhile', async () => {
    stand.host.unreachable = true;
    stage.silent('boot-1', rebooting());
    const { result } = stage.attempt();
    await advance(stand.clock, MINUTE);
    Object.assign(stand.host, { bootId: 'another', unreachable: false });
    await advance(stand.clock, 4 * MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
    expect(reboots()).toEqual(['reboot graceful']);
  });

  test.each(['answers', 'is ordered so'])('is waited for where the machine %s', async (why) => {
    stand.host.unreachable = why !== 'answers';
    stage.silent(stand.host.bootId, rebooting());
    if (stand.host.unreachable) await stage.order('reboot');
    const { result } = stage.attempt();
    await advance(stand.clock, 10 * MINUTE);
    expect(reboots()).toEqual(['reboot graceful']);
    Object.assign(stand.host, { bootId: 'another', unreachable: false });
    await advance(stand.clock, MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
  });
});
