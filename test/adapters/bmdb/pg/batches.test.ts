import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Work } from '../../../../src/adapters/bmdb/port.ts';
import { PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import {
  addMachine,
  addMachines,
  claimStand,
  historyOf,
  holding,
  SIGNAL,
  sorted,
  STARTED,
  untilBlocked,
} from './claim-stand.ts';

const s = claimStand();
const BACKOFF = { initialMs: 1_000, exponent: 2, maximumMs: 60_000 };

describe('an item that cannot be written', () => {
  const claimAll = async (count: number): Promise<Work[]> => {
    const ids = await addMachines(s, count);
    return Promise.all(ids.map((id) => s.session.claim('ShepherdAgentStart', id)));
  };

  beforeAll(async () => {
    await s.server.sql.query(`
      ALTER TABLE work_history ADD CONSTRAINT spoilt CHECK (failed_cause <> 'poison');
      ALTER TABLE machine_ssh_host_key ADD CONSTRAINT spoilt CHECK (key <> 'poison')`);
  });
  afterAll(async () => {
    await s.server.sql.query(`
      ALTER TABLE work_history DROP CONSTRAINT spoilt;
      ALTER TABLE machine_ssh_host_key DROP CONSTRAINT spoilt`);
  });

  it('fails alone, and can be ended in another way', async () => {
    const works = await claimAll(5);
    const { done, codes } = await sorted(
      works.map((work, at) => work.fail(BACKOFF, at === 2 ? 'poison' : 'plain')),
    );
    expect(done).toHaveLength(4);
    expect(codes).toEqual(['internal']);
    const poisoned = works[2]!;
    expect(await historyOf(s, poisoned.machineId)).toEqual(['Started']);
    await poisoned.fail(BACKOFF, 'plain');
    for (const { machineId } of works) {
      expect(await historyOf(s, machineId)).toEqual(['Started', 'Failed plain']);
      const { backoffs, startAttempt } = (await s.bmdb.readMachine(machineId, SIGNAL)).row!;
      expect(backoffs).toMatchObject([{ lastIntervalSeconds: 1, cause: 'plain' }]);
      expect(startAttempt?.count).toBe(1);
    }
  });

  it('fails alone where its wait cannot be computed', async () => {
    const works = await claimAll(3);
    const tooLong = { ...BACKOFF, maximumMs: 91 * 86_400_000 };
    const { done, codes } = await sorted(
      works.map((work, at) => work.fail(at === 0 ? tooLong : BACKOFF, 'plain')),
    );
    expect([done.length, codes]).toEqual([2, ['internal']]);
    expect(await historyOf(s, works[0]!.machineId)).toEqual(['Started']);
  });

  it('fails alone among finishes, and leaves its lease held', async () => {
    const works = await claimAll(4);
    const { codes } = await sorted(
      works.map((work, at) => work.finish({ ...STARTED, hostKey: at === 3 ? 'poison' : 'k' })),
    );
    expect(codes).toEqual(['internal']);
    const rows = await Promise.all(
      works.map(async ({ machineId }) => (await s.bmdb.readMachine(machineId, SIGNAL)).row!),
    );
    expect(rows.map((row) => [row.agentStarted !== null, row.work.length, row.hostKey])).toEqual([
      ...[true, true, true].map(() => [true, 0, 'k']),
      [false, 1, null],
    ]);
  });

  it('that was lost does not keep the others from ending', async () => {
    const works = await claimAll(4);
    await s.session.releaseWork(works[1]!.machineId);
    const { done, codes } = await sorted(works.map((work) => work.finish(STARTED)));
    expect([done.length, codes]).toEqual([3, ['work-lost']]);
    expect(await historyOf(s, works[1]!.machineId)).toEqual(['Started', 'Canceled released']);
  });
});

describe('a COMMIT that the server is still busy with', () => {
  const STALL = 4_711;
  beforeAll(() =>
    s.server.sql.query(
      `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock(${STALL}); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON work_history
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stall();
       CREATE CONSTRAINT TRIGGER stall AFTER INSERT OR UPDATE ON provision_intents
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stall()`,
    ),
  );
  afterAll(() => s.server.sql.query(`DROP FUNCTION stall CASCADE`));

  const stalled = <T>(body: () => Promise<T>): Promise<T> =>
    holding(s, `SELECT pg_advisory_xact_lock(${STALL})`, body);
  /** Loses the connection during the COMMIT, and lets it through when somebody asks for its fate. */
  const lose = <T>(call: () => Promise<T>) =>
    stalled(async () => {
      const answer = sorted([call()]);
      await untilBlocked(s, 1);
      s.proxy.mood = 'down';
      s.proxy.mood = 'through';
      await untilBlocked(s, 2);
      return { answer };
    });

  it.each(['ShepherdAgentStart', 'UnitTest1'] as const)(
    'is waited for: a claim for %s',
    async (process) => {
      const id = await addMachine(s);
      const { answer } = await lose(() => s.session.claim(process, id));
      const { done, codes } = await answer;
      expect(codes).toEqual([]);
      await done[0]!.finish({ kind: 'nothing' });
      expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
    },
  );

  it('is waited for: a finish', async () => {
    const id = await addMachine(s);
    const work = await s.session.claim('ShepherdAgentStart', id);
    const { answer } = await lose(() => work.finish(STARTED));
    expect((await answer).codes).toEqual([]);
    expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
  });

  it('is waited for: a step of an intent', async () => {
    const { intents } = s.session;
    const slot = { provider: PROVIDER, slotId: 'r1', hostname: 'm-1' };
    const after = async <T>(step: () => Promise<T>) => (await (await lose(step)).answer).done[0]!;
    const intent = await after(() => intents.open(slot));
    expect((await s.other.scan(SIGNAL)).intents).toEqual([intent]);
    await after(() => intents.progress(intent.witness, { attempts: 1 }));
    const device = providedOf('1', { reservationId: 'r1' });
    expect(await after(() => intents.adopt(intent.witness, device))).toBe(intent.machineId);
    const { rows } = await s.server.sql.query(
      `SELECT state, attempts, (SELECT count(*) FROM machines) AS machines,
         (SELECT count(*) FROM slot_events) AS events FROM provision_intents`,
    );
    expect(rows).toEqual([{ state: 'adopted', attempts: '1', machines: '1', events: '1' }]);
  });
});
