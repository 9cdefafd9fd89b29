import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Work } from '../../../../src/adapters/bmdb/port.ts';
import { PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import { claimStand, SIGNAL, sorted, STARTED } from './claim-stand.ts';

const s = claimStand();
const BACKOFF = { initialMs: 1_000, exponent: 2, maximumMs: 60_000 };

describe('an item of a batch that cannot be written', () => {
  const claimAll = async (count: number): Promise<Work[]> =>
    Promise.all((await s.addMany(count)).map((id) => s.session.claim('ShepherdAgentStart', id)));
  beforeAll(async () => {
    await s.sql(`
      ALTER TABLE work_history ADD CONSTRAINT spoilt CHECK (failed_cause <> 'poison');
      ALTER TABLE machine_ssh_host_key ADD CONSTRAINT spoilt CHECK (key <> 'poison')`);
  });
  afterAll(async () => {
    await s.sql(`
      ALTER TABLE work_history DROP CONSTRAINT spoilt;
      ALTER TABLE machine_ssh_host_key DROP CONSTRAINT spoilt`);
  });

  it('fails alone and can be ended otherwise', async () => {
    const works = await claimAll(5);
    const { done, codes } = await sorted(
      works.map((work, at) => work.fail(BACKOFF, at === 2 ? 'poison' : 'plain')),
    );
    expect(done).toHaveLength(4);
    expect(codes).toEqual(['internal']);
    const poisoned = works[2]!;
    expect(await s.history(poisoned.machineId)).toEqual(['Started']);
    await poisoned.fail(BACKOFF, 'plain');
    for (const { machineId } of works) {
      expect(await s.history(machineId)).toEqual(['Started', 'Failed plain']);
      const { backoffs, startAttempt } = await s.row(machineId);
      expect(backoffs).toMatchObject([{ lastIntervalSeconds: 1, cause: 'plain' }]);
      expect(startAttempt?.count).toBe(1);
    }
  });

  it('fails alone when its wait cannot be computed', async () => {
    const works = await claimAll(3);
    const tooLong = { ...BACKOFF, maximumMs: 91 * 86_400_000 };
    const { done, codes } = await sorted(
      works.map((work, at) => work.fail(at === 0 ? tooLong : BACKOFF, 'plain')),
    );
    expect([done.length, codes]).toEqual([2, ['internal']]);
    expect(await s.history(works[0]!.machineId)).toEqual(['Started']);
  });

  it('fails alone among finishes and keeps its lease', async () => {
    const works = await claimAll(4);
    const { codes } = await sorted(
      works.map((work, at) => work.finish({ ...STARTED, hostKey: at === 3 ? 'poison' : 'k' })),
    );
    expect(codes).toEqual(['internal']);
    const rows = await Promise.all(works.map(({ machineId }) => s.row(machineId)));
    expect(rows.map((row) => [row.agentStarted !== null, row.work.length, row.hostKey])).toEqual([
      ...[true, true, true].map(() => [true, 0, 'k']),
      [false, 1, null],
    ]);
  });

  it('does not keep others from ending when it was lost', async () => {
    const works = await claimAll(4);
    await s.session.releaseWork(works[1]!.machineId);
    const { done, codes } = await sorted(works.map((work) => work.finish(STARTED)));
    expect([done.length, codes]).toEqual([3, ['work-lost']]);
    expect(await s.history(works[1]!.machineId)).toEqual(['Started', 'Canceled released']);
  });
});

describe('a COMMIT that the server still works on', () => {
  const STALL = 4_711;
  beforeAll(() =>
    s.sql(
      `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock(${STALL}); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON work_history
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stall();
       CREATE CONSTRAINT TRIGGER stall AFTER INSERT OR UPDATE ON provision_intents
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stall()`,
    ),
  );
  afterAll(() => s.sql(`DROP FUNCTION stall CASCADE`));

  /** Breaks the connection during the COMMIT, and lets the query for its outcome through. */
  const lose = <T>(call: () => Promise<T>) =>
    s.behind(`SELECT pg_advisory_xact_lock(${STALL})`, call, () => {
      s.proxy.mood = 'down';
      s.proxy.mood = 'through';
      return s.untilBlocked(2);
    });

  it.each(['ShepherdAgentStart', 'UnitTest1'] as const)(
    'is awaited by a claim for %s',
    async (process) => {
      const id = await s.add();
      const work = await lose(() => s.session.claim(process, id));
      await work.finish({ kind: 'nothing' });
      expect(await s.history(id)).toEqual(['Started', 'Finished']);
    },
  );

  it('is awaited by a finish', async () => {
    const id = await s.add();
    const work = await s.session.claim('ShepherdAgentStart', id);
    await lose(() => work.finish(STARTED));
    expect(await s.history(id)).toEqual(['Started', 'Finished']);
  });

  it('is awaited by a step of an intent', async () => {
    const { intents } = s.session;
    const slot = { provider: PROVIDER, slotId: 'r1', hostname: 'm-1' };
    const intent = await lose(() => intents.open(slot));
    expect((await s.other.scan(SIGNAL)).intents).toEqual([intent]);
    await lose(() => intents.progress(intent.witness, { attempts: 1 }));
    const device = providedOf('1', { reservationId: 'r1' });
    expect(await lose(() => intents.adopt(intent.witness, device))).toBe(intent.machineId);
    expect(
      await s.sql(
        `SELECT state, attempts, (SELECT count(*) FROM machines) AS machines,
         (SELECT count(*) FROM slot_events) AS events FROM provision_intents`,
      ),
    ).toEqual([{ state: 'adopted', attempts: '1', machines: '1', events: '1' }]);
  });
});
