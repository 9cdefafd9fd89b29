import fc from 'fast-check';
import { MEMBER_STATES } from '../../../../src/domain/balancing/members.ts';
import type { MemberRow } from '../../../../src/domain/balancing/members.ts';
import { machineId } from '../../../../src/domain/ids.ts';

const rare = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

const MEMBER_FACTS = {
  machineId: fc.constant(machineId('')),
  pool: fc.constant('api'),
  refused: fc.boolean(),
  note: rare(fc.constant('why')),
  sessions: rare(fc.nat(9)),
};

/** Members of at most two balancers, of no machine yet; more of them serve than not. */
export function membersAround(time: fc.Arbitrary<number>): fc.Arbitrary<readonly MemberRow[]> {
  const state = fc.constantFrom(...MEMBER_STATES, 'active', 'active');
  const member = fc
    .tuple(fc.record(MEMBER_FACTS), state, rare(fc.constant(true)), time, time)
    .map(([facts, in_, waived, sinceMs, deadlineMs]): Omit<MemberRow, 'balancer'> => ({
      ...facts,
      state: in_,
      sinceMs,
      waived: waived === true,
      deadlineMs: in_ === 'draining' ? deadlineMs : null,
      how: in_ === 'drained' ? 'grace' : null,
    }));
  return fc
    .array(member, { minLength: 1, maxLength: 2 })
    .map((all) => all.map((each, at) => ({ ...each, balancer: `lb-${at}` })));
}
