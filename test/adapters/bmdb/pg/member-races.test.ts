import { describe, expect, it } from 'vitest';
import type { BmdbSession, MemberChange } from '../../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { MINUTE, requestedAt } from '../../../contracts/bmdb-rows.ts';
import { requestFor, targetOf } from '../../../contracts/requests-of.ts';
import {
  addMachine,
  addMachines,
  claimStand,
  codeOfRefusal,
  holding,
  openOn,
  SIGNAL,
  untilBlocked,
} from './claim-stand.ts';

// A machine that is claimed to be interrupted must not begin to serve, and one that begins to serve
// must not be claimed, in whichever order the two are made.
const s = claimStand();
const POOL = { pool: 'api', balancer: 'front' };
const IMAGE = {
  url: 'https://images.example/a.raw',
  sha256: 'e3'.repeat(32),
  compression: 'none',
  rootDevice: { name: 'sda' },
} as const;
const leaving = () => ({ deprovision: requestedAt(Date.now() - MINUTE) });

const leaseOf = async (session: BmdbSession) =>
  (await session.lease('balancer/front')) ?? expect.fail('somebody else has the job');
async function write(session: BmdbSession, ...changes: readonly MemberChange[]) {
  const verdicts = await session.balancing.write(await leaseOf(session), POOL, changes);
  return verdicts.map(({ result }) => result);
}
const join = (id: MachineId): MemberChange => ({ machineId: id, to: 'joining' });
const rowOf = async (id: MachineId): Promise<MachineRow> =>
  (await s.other.readMachine(id, SIGNAL)).row!;
const claim = (id: MachineId) => s.rival.claim('ShepherdDeprovision', id);

const locking = (id: MachineId) =>
  `SELECT 1 FROM work WHERE machine_id = '${id}' AND exclusion_group = 'shepherd' FOR UPDATE`;
/** As a program had it that knew of no lease rows that are there before the first claim. */
const forget = (id: MachineId) =>
  s.server.sql.query(`DELETE FROM work WHERE machine_id = $1`, [id]);

describe('a machine that begins to serve', () => {
  it('is passed over while somebody has locked its lease, as a claim in the making does', async () => {
    const id = await addMachine(s, leaving());
    await holding(s, locking(id), async () => {
      expect(await write(s.session, join(id))).toEqual(['busy']);
    });
    expect((await rowOf(id)).members).toEqual([]);
    expect(await write(s.session, join(id))).toEqual(['written']);
  });

  it('excludes a claim that saw it serve nobody, and comes to its lease too late', async () => {
    const id = await addMachine(s, leaving());
    await leaseOf(s.session);
    // What the claim saw is its snapshot; its session's row keeps it from going on.
    const session = `SELECT 1 FROM sessions WHERE session_id = '${s.rival.sessionId}' FOR UPDATE`;
    const { claimed } = await holding(s, session, async () => {
      const claimed = codeOfRefusal(claim(id));
      await untilBlocked(s, 1);
      expect(await write(s.session, join(id))).toEqual(['written']);
      return { claimed };
    });
    expect(await claimed).toBe('work-conflict');
    expect(await rowOf(id)).toMatchObject({ work: [], members: [{ state: 'joining' }] });
  });

  it('excludes it, too, where there was no lease yet', async () => {
    const id = await addMachine(s, leaving());
    await forget(id);
    await leaseOf(s.session);
    const session = `SELECT 1 FROM sessions WHERE session_id = '${s.rival.sessionId}' FOR UPDATE`;
    const { claimed } = await holding(s, session, async () => {
      const claimed = codeOfRefusal(claim(id));
      await untilBlocked(s, 1);
      expect(await write(s.session, join(id))).toEqual(['written']);
      return { claimed };
    });
    expect(await claimed).toBe('work-conflict');
    expect(await rowOf(id)).toMatchObject({ work: [], members: [{ state: 'joining' }] });
  });

  it('waits for who inserts its first lease, and gives way', async () => {
    const id = await addMachine(s, leaving());
    await forget(id);
    await leaseOf(s.session);
    const { sessionId } = s.rival;
    const first = `INSERT INTO work (machine_id, exclusion_group, session_id, process, work_started_at)
      VALUES ('${id}', 'shepherd', '${sessionId}', 'ShepherdDeprovision', now())`;
    const { joined } = await holding(s, first, async () => {
      const joined = write(s.session, join(id));
      await untilBlocked(s, 1);
      return { joined };
    });
    expect(await joined).toEqual(['busy']);
    expect((await rowOf(id)).members).toEqual([]);
  });

  it('excludes an installation that is asked for while it begins', async () => {
    const id = await addMachine(s);
    const target = targetOf(await rowOf(id));
    const what = { verb: 'install', target, image: IMAGE } as const;
    const { key } = await s.other.requests.file(requestFor(what));
    await leaseOf(s.session);
    // What the member saw is its snapshot; its session's row keeps it from going on.
    const session = `SELECT 1 FROM sessions WHERE session_id = '${s.session.sessionId}' FOR UPDATE`;
    const { joined } = await holding(s, session, async () => {
      const joined = write(s.session, join(id));
      await untilBlocked(s, 1);
      expect(await s.rival.settle(key)).toMatchObject({ state: 'done' });
      return { joined };
    });
    expect(await joined).toEqual(['busy']);
    expect((await rowOf(id)).members).toEqual([]);
  });

  it.each([
    ['joins', [join]],
    ['joins again', [join, (id: MachineId) => ({ machineId: id, to: 'drained', how: 'gone' })]],
    ['is waived no more', [join, (id: MachineId) => ({ machineId: id, waived: true })]],
  ] as const)('is never claimed as well, of many at once, each of which %s', async (_, before) => {
    const ids = await addMachines(s, 30, leaving());
    for (const step of before) {
      if (step === join && before.length === 1) continue;
      await write(s.session, ...ids.map((id) => step(id) as MemberChange));
    }
    const serve = (id: MachineId): MemberChange =>
      (before[1]?.(id) as MemberChange | undefined)?.waived
        ? { machineId: id, waived: false }
        : join(id);
    const others = await Promise.all([openOn(s.other), openOn(s.bmdb)]);
    const rivals = [s.rival, ...others];
    await leaseOf(s.session);
    const rounds = ids.flatMap((id) => [
      ...rivals.map((rival) =>
        rival.claim('ShepherdDeprovision', id).then(
          () => 'claimed',
          () => 'refused',
        ),
      ),
      write(s.session, serve(id)).then(([result]) => result!),
    ]);
    const said = await Promise.all(rounds);
    const { machines } = await s.other.scan(SIGNAL);
    const both = machines.filter(
      ({ members, work }) =>
        work.length > 0 && members.some(({ state, waived }) => state !== 'drained' && !waived),
    );
    expect(both).toEqual([]);
    // Each of them was had by exactly one of the two sides.
    expect(said.filter((each) => each === 'claimed' || each === 'written')).toHaveLength(30);
  });
});
