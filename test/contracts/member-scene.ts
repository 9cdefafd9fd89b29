import { expect } from 'vitest';
import type { Lease, MemberChange, MemberVerdict } from '../../src/adapters/bmdb/port.ts';
import type { MemberRow, MemberState } from '../../src/domain/balancing/members.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { MINUTE } from './bmdb-rows.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export const JOB = 'balancer/front';
export const POOL = { pool: 'api', balancer: 'front' };
/** The fields that a change to this state must give. */
export const TO: Readonly<Record<MemberState, Pick<MemberChange, 'to' | 'graceMs' | 'how'>>> = {
  joining: { to: 'joining' },
  warming: { to: 'warming' },
  active: { to: 'active' },
  draining: { to: 'draining', graceMs: MINUTE },
  drained: { to: 'drained', how: 'no-sessions' },
};

/** One daemon that tends a balancer. */
export function memberScene(s: BmdbStage) {
  const lease = async (): Promise<Lease> =>
    (await s.session.lease(JOB)) ?? expect.fail('somebody else has the job');
  const write = async (...changes: readonly MemberChange[]): Promise<readonly MemberVerdict[]> =>
    s.session.balancing.write(await lease(), POOL, changes);
  const resultOf = async (change: MemberChange) => (await write(change))[0]!.result;
  const memberOf = async (id: MachineId): Promise<MemberRow | undefined> =>
    (await s.read(id)).members[0];
  /** A machine that is a member in this state; null: it is no member. */
  const addMember = async (state: MemberState | null, change: Partial<MachineRow> = {}) => {
    const id = await s.add(change);
    if (state === null) return id;
    const ways: Readonly<Record<MemberState, readonly MemberState[]>> = {
      joining: ['joining'],
      warming: ['joining', 'warming'],
      active: ['joining', 'active'],
      draining: ['joining', 'active', 'draining'],
      drained: ['joining', 'drained'],
    };
    for (const step of ways[state]) {
      expect(await resultOf({ machineId: id, ...TO[step] })).toBe('written');
    }
    return id;
  };
  return { lease, write, resultOf, memberOf, addMember };
}
