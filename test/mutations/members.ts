import { mutationsOf } from './mutation.ts';

/** Members of pools: who serves is not interrupted, and who is interrupted does not begin to serve. */
export const mutations = mutationsOf`
src/domain/balancing/members.ts test/domain/eligibility.test.ts
  who-drains-serves-nobody: state [-!== 'drained-]{+=== 'active+}' && !waived
  what-is-waived-serves: state !== 'drained'[- && !waived-]
src/domain/eligibility.ts test/domain/eligibility.test.ts
  who-serves-gets-a-system: return [-serves(row) ? 'it still serves' : -]null;
  a-dead-machine-waits-for-ever: [-now.nowMs <= endMs-]{+true+};
  an-order-waits-though-it-skips: [-if (order?.drain === 'skip') return false;-]
  a-lost-machine-is-given-back-undrained:
    return row.[-deprovision?.drain !== 'skip'-]{+agentStarted === null+};
src/adapters/bmdb/pg/eligibility.ts test/adapters/bmdb/pg/eligibility.test.ts
  sql-interrupts-who-serves:
    'it still serves': [-waits === null ? null : \`\${waits} AND \${servesSql('m.machine_id')}\`-]{+null+}
  sql-gives-who-serves-a-system: [-['it still serves', servesSql('p.machine_id')],-]
  sql-forgets-the-waived: AND g.state <> 'drained'[- AND NOT g.waived-]
src/adapters/bmdb/pg/balancing/member-writes.ts test/adapters/bmdb/pg/member-races.test.ts
  a-join-leaves-the-lease-as-it-was: UPDATE work w SET epoch = [-nextval('work_epoch')-]{+w.epoch+} FROM free
  a-join-on-an-old-look: [-AND w.epoch = judged.lease_epoch-]
  a-join-waits-for-a-claim: FOR UPDATE OF w[- SKIP LOCKED-]
  a-join-leaves-no-lease-behind: NOT judged.installing AND [-judged.lease_epoch IS NULL-]{+false+}
src/adapters/bmdb/pg/balancing/member-writes.ts test/adapters/bmdb/pg/contract-balancing.test.ts
  a-join-beside-work: [-AND w.session_id IS NULL-]\n
  a-join-before-an-installation: AND [-NOT judged.installing AND -]w.s
  any-state-follows-any: OR [-(was, state) IN (\${SUCCESSIONS})-]{+true+}
  a-deadline-moves-away: THEN [-least(was_deadline, -]{+greatest(+}now() + grace
src/adapters/bmdb/pg/fence.ts test/adapters/bmdb/pg/contract-balancing.test.ts
  a-member-is-written-without-the-job: [-AND l.epoch = \${of.epoch} -]FOR SHARE
src/adapters/bmdb/pg/balancing/repository.ts test/adapters/bmdb/pg/contract-balancing.test.ts
  dead-work-keeps-a-member-out: [-result === 'busy'-]{+false+} && dead
`;
