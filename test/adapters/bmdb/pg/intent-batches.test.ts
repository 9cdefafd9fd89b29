import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import type { IntentRow } from '../../../../src/domain/machine.ts';
import { PROVIDER, providedOf } from '../../../contracts/bmdb-rows.ts';
import { claimStand, codeOfRefusal, holding, SIGNAL, sorted, untilBlocked } from './claim-stand.ts';

const s = claimStand();
const FAILED = { state: 'failed', cause: 'no disk', penaltyMs: 60_000 } as const;

const slotOf = (at: number) => ({ provider: PROVIDER, slotId: `r${at}`, hostname: `m-${at}` });
const deviceOf = (at: number) => providedOf(String(at), { reservationId: `r${at}` });
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
const openAll = (count: number, session: BmdbSession = s.session) =>
  Promise.all(numbers(count).map((at) => session.intents.open(slotOf(at))));
const noteAll = (intents: readonly IntentRow[], session: BmdbSession = s.session) =>
  Promise.all(intents.map(({ witness }) => session.intents.progress(witness, { attempts: 1 })));
const adoptAll = (intents: readonly IntentRow[], session: BmdbSession = s.session) =>
  intents.map(({ witness }, at) => session.intents.adopt(witness, deviceOf(at)));
/** Lines `state attempts` in the order of the slots. */
async function stored(): Promise<string[]> {
  const { rows } = await s.server.sql.query<{ line: string }>(
    `SELECT concat_ws(' ', state, attempts) AS line FROM provision_intents
     ORDER BY length(slot_id), slot_id, created_at`,
  );
  return rows.map((row) => row.line);
}
async function count(table: string): Promise<number> {
  const { rows } = await s.server.sql.query(`SELECT 1 FROM ${table}`);
  return rows.length;
}

describe('steps of many intents', () => {
  it('become of each what they would by themselves', async () => {
    const intents = await openAll(30);
    expect((await s.other.scan(SIGNAL)).intents).toHaveLength(30);
    expect(new Set(intents.map(({ machineId }) => machineId)).size).toBe(30);
    await noteAll(intents);
    const ids = await Promise.all(adoptAll(intents));
    expect(ids).toEqual(intents.map(({ machineId }) => machineId));
    const { machines } = await s.other.scan(SIGNAL);
    const byId = new Map(machines.map((row) => [row.machineId, row.provided]));
    ids.forEach((id, at) => expect(byId.get(id)).toEqual(deviceOf(at)));
    expect(await stored()).toEqual(numbers(30).map(() => 'adopted 1'));
    const { rows } = await s.server.sql.query(
      `SELECT kind, actor, reason, session_id, machine_id FROM slot_events ORDER BY slot_id`,
    );
    expect(rows).toHaveLength(30);
    expect(rows).toContainEqual({
      kind: 'adopted',
      actor: 'shepherd',
      reason: `device device-7, intent ${intents[7]!.witness}`,
      session_id: s.session.sessionId,
      machine_id: ids[7],
    });
  });

  it('are refused each by itself', async () => {
    await s.rival.intents.open(slotOf(1));
    await s.bmdb.requests.file({
      key: 'hold',
      by: 'ann',
      reason: 'being moved',
      what: {
        verb: 'hold',
        target: { provider: PROVIDER, slotId: 'r3', machineId: null },
        kind: 'no-allocate',
        untilMs: null,
      },
    });
    await s.session.settle('hold');
    const opened = await sorted(numbers(6).map((at) => s.session.intents.open(slotOf(at))));
    expect([opened.done.length, opened.codes]).toEqual([4, ['work-conflict', 'nothing-to-do']]);
    const [first, second, ...others] = opened.done;
    await s.session.intents.end(first!.witness, FAILED);
    const notes = [first!, second!].map(({ witness }) =>
      s.session.intents.progress(witness, { attempts: 1 }),
    );
    expect((await sorted(notes)).codes).toEqual(['work-conflict']);
    const ends = [first!, second!].map(({ witness }) => s.session.intents.end(witness, FAILED));
    expect((await sorted(ends)).codes).toEqual([]);
    // The same device for both, which one of them gets.
    const stolen = others.map(({ witness }) => s.session.intents.adopt(witness, deviceOf(9)));
    const { done, codes } = await sorted(stolen);
    expect([done.length, codes]).toEqual([1, ['work-conflict']]);
    expect([await count('machines'), await count('slot_events')]).toEqual([1, 2]);
  });
});

describe('a step that the server is still busy with when its answer is lost', () => {
  const STALL = 4_712;
  beforeAll(() =>
    s.server.sql.query(
      `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock(${STALL}); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER stall AFTER INSERT OR UPDATE ON provision_intents
         DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stall()`,
    ),
  );
  afterAll(() => s.server.sql.query(`DROP FUNCTION stall CASCADE`));

  const lose = async <T>(call: () => Promise<T>): Promise<T> => {
    const { answer } = await holding(s, `SELECT pg_advisory_xact_lock(${STALL})`, async () => {
      const answer = call();
      answer.catch(() => undefined);
      await untilBlocked(s, 1);
      s.proxy.mood = 'down';
      s.proxy.mood = 'through';
      await untilBlocked(s, 2);
      return { answer };
    });
    return answer;
  };

  it('is waited for, and not taken twice', async () => {
    const [intent] = await lose(() => openAll(1));
    expect((await s.other.scan(SIGNAL)).intents).toEqual([intent]);
    await lose(() => noteAll([intent!]));
    const [id] = await lose(() => Promise.all(adoptAll([intent!])));
    expect(id).toBe(intent!.machineId);
    expect(await stored()).toEqual(['adopted 1']);
    expect([await count('machines'), await count('slot_events')]).toEqual([1, 1]);
  });
});

describe('an intent that cannot be written', () => {
  beforeAll(() =>
    s.server.sql.query(`
      ALTER TABLE provision_intents ADD CONSTRAINT spoilt
        CHECK (hostname <> 'poison' AND last_error <> 'poison');
      ALTER TABLE machine_provided ADD CONSTRAINT spoilt CHECK (provider_id <> 'poison')`),
  );
  afterAll(() =>
    s.server.sql.query(`
      ALTER TABLE provision_intents DROP CONSTRAINT spoilt;
      ALTER TABLE machine_provided DROP CONSTRAINT spoilt`),
  );
  /** All but the third of five. */
  const OTHERS = (line: string, own: string) => [line, line, own, line, line];

  it('fails alone', async () => {
    const { intents } = s.session;
    const poisoned = <T>(at: number, item: T, poison: Partial<T>): T =>
      at === 2 ? { ...item, ...poison } : item;
    const opened = await sorted(
      numbers(5).map((at) => intents.open(poisoned(at, slotOf(at), { hostname: 'poison' }))),
    );
    expect([opened.done.length, opened.codes]).toEqual([4, ['internal']]);
    const third = await intents.open(slotOf(2));
    const all = opened.done.toSpliced(2, 0, third);
    const notes = await sorted(
      all.map(({ witness }, at) =>
        intents.progress(witness, { attempts: 1, lastError: at === 2 ? 'poison' : 'none' }),
      ),
    );
    expect([notes.done.length, notes.codes]).toEqual([4, ['internal']]);
    expect(await stored()).toEqual(OTHERS('open 1', 'open 0'));
    const adoptions = await sorted(
      all.map(({ witness }, at) =>
        intents.adopt(witness, poisoned(at, deviceOf(at), { providerId: 'poison' })),
      ),
    );
    expect([adoptions.done.length, adoptions.codes]).toEqual([4, ['internal']]);
    expect(await stored()).toEqual(OTHERS('adopted 1', 'open 0'));
    expect([await count('machines'), await count('slot_events')]).toEqual([4, 4]);
    const poison = { state: 'abandoned', cause: 'poison' } as const;
    expect(await codeOfRefusal(intents.end(third.witness, poison))).toBe('internal');
    await intents.end(third.witness, { ...poison, cause: 'plain' });
  });
});
