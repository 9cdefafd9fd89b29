import { describe, expect, it } from 'vitest';
import type { BmdbSession, MemberChange } from '../../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { IMAGE, MINUTE, requestedAt } from '../../../contracts/bmdb-rows.ts';
import { claimStand, locking, lockingSession, openOn, refusedWith, SIGNAL } from './claim-stand.ts';

// A machine that is claimed for an interruption must not begin to serve, and a machine that begins
// to serve must not be claimed, in either order.
const s = claimStand();
const POOL = { pool: 'api', balancer: 'front' };
const leaving = () => ({ deprovision: requestedAt(Date.now() - MINUTE) });
const leaseOf = async (session: BmdbSession) =>
  (await session.lease('balancer/front')) ?? expect.fail('somebody else has the job');
async function write(session: BmdbSession, ...changes: readonly MemberChange[]) {
  const verdicts = await session.balancing.write(await leaseOf(session), POOL, changes);
  return verdicts.map(({ result }) => result);
}
const drop = (id: MachineId): MemberChange => ({ machineId: id, to: 'drained', how: 'gone' });
const waive = (id: MachineId): MemberChange => ({ machineId: id, waived: true });
const join = (id: MachineId): MemberChange => ({ machineId: id, to: 'joining' });
/** The state of a program that did not yet create lease rows before the first claim. */
const forget = (id: MachineId) => s.sql(`DELETE FROM work WHERE machine_id = $1`, [id]);

describe('a machine that starts to serve', () => {
  it('is skipped while a claim in progress locks its lease', async () => {
    const id = await s.add(leaving());
    await s.holding(locking('work', id), async () => {
      expect(await write(s.session, join(id))).toEqual(['busy']);
    });
    expect((await s.row(id)).members).toEqual([]);
    expect(await write(s.session, join(id))).toEqual(['written']);
  });

  it.each(['', ', where there was no lease yet, too'])(
    'excludes a claim that saw it not serving and came late%s',
    async (isNew) => {
      const id = await s.add(leaving());
      if (isNew) await forget(id);
      await leaseOf(s.session);
      const claimed = await s.behind(
        lockingSession(s.rival),
        () => refusedWith(s.rival.claim('ShepherdDeprovision', id)),
        async () => expect(await write(s.session, join(id))).toEqual(['written']),
      );
      expect(claimed).toBe('work-conflict');
      expect(await s.row(id)).toMatchObject({ work: [], members: [{ state: 'joining' }] });
    },
  );

  it('waits for the insertion of its first lease and yields', async () => {
    const id = await s.add(leaving());
    await forget(id);
    await leaseOf(s.session);
    const first = `INSERT INTO work (machine_id, exclusion_group, session_id, process, work_started_at)
      VALUES ('${id}', 'shepherd', '${s.rival.sessionId}', 'ShepherdDeprovision', now())`;
    expect(await s.behind(first, () => write(s.session, join(id)))).toEqual(['busy']);
    expect((await s.row(id)).members).toEqual([]);
  });

  it('excludes an installation requested at the same time', async () => {
    const id = await s.add();
    const key = await s.submit({ verb: 'install', target: await s.target(id), image: IMAGE });
    await leaseOf(s.session);
    const joined = await s.behind(
      lockingSession(s.session),
      () => write(s.session, join(id)),
      async () => expect(await s.rival.applyRequest(key)).toMatchObject({ state: 'done' }),
    );
    expect(joined).toEqual(['busy']);
    expect((await s.row(id)).members).toEqual([]);
  });

  it.each([
    ['joins', [], join],
    ['joins again', [join, drop], join],
    ['is waived no more', [join, waive], (id: MachineId) => ({ machineId: id, waived: false })],
  ] as const)(
    'is never claimed too, over many races, each of which %s',
    async (_, before, serve) => {
      const ids = await s.addMany(30, leaving());
      for (const step of before) await write(s.session, ...ids.map((id) => step(id)));
      const rivals = [s.rival, await openOn(s.other), await openOn(s.bmdb)];
      await leaseOf(s.session);
      const said = await Promise.all(
        ids.flatMap((id) => [
          ...rivals.map((rival) =>
            rival.claim('ShepherdDeprovision', id).then(
              () => 'claimed',
              () => 'refused',
            ),
          ),
          write(s.session, serve(id)).then(([result]) => result!),
        ]),
      );
      const { machines } = await s.other.scan(SIGNAL);
      const both = machines.filter(
        ({ members, work }) =>
          work.length > 0 && members.some(({ state, waived }) => state !== 'drained' && !waived),
      );
      expect(both).toEqual([]);
      // Exactly one of the two sides got each machine.
      expect(said.filter((each) => each === 'claimed' || each === 'written')).toHaveLength(30);
    },
  );
});
