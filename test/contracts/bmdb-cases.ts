import { describe, expect, it } from 'vitest';
import type { NewEvidence } from '../../src/adapters/bmdb/port.ts';
import { CASE_TEXT_MAX, EVIDENCE_LEAD_MS } from '../../src/domain/cases.ts';
import type { RepairCase } from '../../src/domain/cases.ts';
import { machineId } from '../../src/domain/ids.ts';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { DAY, SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const MACHINE = machineId('00000000-0000-4000-8000-0000000000aa');

export function casesContract(s: BmdbStage): void {
  const cases = () => s.h.bmdb.cases;
  const open = async (slotId: string, title = 'it is broken') =>
    cases().open({ provider: PROVIDER, slotId, machineId: MACHINE, title, by: 'shepherd' });
  const opened = async (slotId: string): Promise<RepairCase> =>
    (await open(slotId)) ?? expect.fail('it is open already');
  const close = (caseId: string) => cases().close(caseId, { by: 'jo', outcome: 'new disk' });
  const list = async (...[query = {}]: [Parameters<ReturnType<typeof cases>['list']>[0]?]) =>
    (await s.h.other.cases.list(query, SIGNAL)).map(({ slotId, caseId }) => [slotId, caseId]);
  const evidence = (slotId: string, text: string, kind: NewEvidence['kind'] = 'evidence-before') =>
    cases().addLine({ provider: PROVIDER, slotId, kind, author: 'shepherd', text });
  const lines = async (
    { caseId, provider, slotId }: Pick<RepairCase, 'caseId' | 'provider' | 'slotId'>,
    [sinceMs, untilMs]: [number, number | null] = [0, null],
  ) => s.h.other.cases.lines({ caseId, provider, slotId, sinceMs, untilMs }, SIGNAL);
  const texts = async (...asked: Parameters<typeof lines>) =>
    (await lines(...asked)).map(({ text }) => text);

  describe('repair cases', () => {
    it('are open until somebody closes them, one on each slot at a time', async () => {
      const first = await opened('a');
      expect(first).toEqual({
        ...{ caseId: expect.stringMatching(/^\d+$/), provider: PROVIDER, slotId: 'a' },
        ...{ machineId: MACHINE, title: 'it is broken', part: null, ticketUrl: null },
        ...{ openedAtMs: expect.closeTo(await s.now(), -4), openedBy: 'shepherd' },
        ...{ closedAtMs: null, closedBy: null, outcome: null },
      });
      expect(await open('a', 'it is broken again'), 'the first one is open').toBeNull();
      const other = await opened('b');
      expect(await close(first.caseId)).toEqual({
        ...first,
        ...{ closedAtMs: expect.closeTo(await s.now(), -4), closedBy: 'jo', outcome: 'new disk' },
      });
      expect(await close(first.caseId), 'it is closed').toBeNull();
      const second = await opened('a');
      const [one, two, three] = [first, other, second].map((each) => [each.slotId, each.caseId]);
      expect(await list()).toEqual([three, two, one]);
      expect(await list({ state: 'open' })).toEqual([three, two]);
      expect(await list({ state: 'closed' })).toEqual([one]);
      expect(await list({ state: 'latest' })).toEqual([three, two]);
      expect(await list({ slot: { provider: PROVIDER, slotId: 'a' } })).toEqual([three, one]);
      expect(await list({ caseId: other.caseId })).toEqual([two]);
    });

    it('are opened once, however many daemons try', async () => {
      const tries = [s.h.bmdb, s.h.other, s.h.bmdb].map((bmdb) =>
        bmdb.cases.open({
          ...{ provider: PROVIDER, slotId: 'a', machineId: null, title: 'x', by: 'shepherd' },
        }),
      );
      expect((await Promise.all(tries)).filter((each) => each !== null)).toHaveLength(1);
    });

    it('name a part and a ticket, which can be removed again', async () => {
      const { caseId } = await opened('a');
      const ticketUrl = 'https://tickets.example/7';
      expect(await cases().update(caseId, { by: 'jo', part: 'disk 2' })).toMatchObject({
        ...{ part: 'disk 2', ticketUrl: null },
      });
      expect(await cases().update(caseId, { by: 'jo', ticketUrl })).toMatchObject({
        ...{ part: 'disk 2', ticketUrl },
      });
      expect(await cases().update(caseId, { by: 'jo', part: '' })).toMatchObject({
        ...{ part: null, ticketUrl },
      });
      expect(await cases().update('999999', { by: 'jo', part: 'x' })).toBeNull();
    });

    it('show their notes, and the evidence of their slot in a span of time', async () => {
      await evidence('a', 'long before');
      await s.h.pass(2 * DAY);
      await evidence('a', 'before');
      await evidence('b', 'of another slot');
      await s.h.pass(MINUTE);
      const first = await opened('a');
      await cases().addLine({ kind: 'note', caseId: first.caseId, author: 'jo', text: 'on it' });
      await evidence('a', 'after', 'evidence-after');
      const { closedAtMs } = (await close(first.caseId))!;
      await s.h.pass(MINUTE);
      await cases().addLine({ kind: 'note', caseId: first.caseId, author: 'jo', text: 'done' });
      await evidence('a', 'later');
      const span: [number, number | null] = [first.openedAtMs - EVIDENCE_LEAD_MS, closedAtMs];
      expect(await lines(first, span)).toMatchObject([
        { kind: 'evidence-before', author: 'shepherd', text: 'before' },
        { kind: 'note', author: 'jo', text: 'on it', atMs: expect.closeTo(closedAtMs!, -4) },
        { kind: 'evidence-after', author: 'shepherd', text: 'after' },
        { kind: 'note', author: 'jo', text: 'done' },
      ]);
      const second = await opened('a');
      expect(await texts(second, [first.openedAtMs, null])).toEqual(['after', 'later']);
      const lost = { kind: 'note', caseId: '999999', author: 'jo', text: 'x' } as const;
      expect(await cases().addLine(lost)).toBe(false);
    });

    it('keep long texts, but not without end', async () => {
      const { caseId, ...slot } = await opened('a');
      await evidence('a', 'x'.repeat(CASE_TEXT_MAX));
      await evidence('a', 'y'.repeat(CASE_TEXT_MAX + 1));
      const [whole, cut] = await texts({ caseId, ...slot });
      expect(whole).toHaveLength(CASE_TEXT_MAX);
      expect(cut).toMatch(/^y+… \(cut\)$/);
      expect(cut).toHaveLength(CASE_TEXT_MAX);
    });

    it('tell each change', async () => {
      const after = await s.h.bmdb.events.newest(SIGNAL);
      const { caseId } = await opened('a');
      await open('a');
      await evidence('a', 'no event');
      const ticketUrl = 'https://tickets.example/7';
      await cases().update(caseId, { by: 'jo', ticketUrl });
      await cases().addLine({ kind: 'note', caseId, author: 'jo', text: 'on it' });
      await close(caseId);
      await close(caseId);
      // Events are complete when transactions of other tests on the server have ended.
      const events = async () =>
        (await s.h.other.events.read({ after, limit: 100 }, SIGNAL)).events;
      const about = { provider: PROVIDER, slotId: 'a', machineId: MACHINE };
      const details = { case: caseId, title: 'it is broken', ticket: ticketUrl };
      await expect.poll(events).toMatchObject([
        {
          ...{ type: 'case.opened', actor: 'shepherd', reason: 'it is broken', ...about },
          details: { ...details, ticket: null },
        },
        { type: 'case.linked', actor: 'jo', reason: ticketUrl, ...about, details },
        { type: 'case.noted', actor: 'jo', reason: 'on it', ...about, details },
        { type: 'case.closed', actor: 'jo', reason: 'new disk', ...about, details },
      ]);
    });

    it('are deleted 400 days after their end, and evidence without a case after 30', async () => {
      await evidence('a', 'of no case');
      await evidence('b', 'of a case');
      const [first, lasting] = [await opened('b'), await opened('c')];
      await cases().addLine({ kind: 'note', caseId: first.caseId, author: 'jo', text: 'note' });
      await close(first.caseId);
      await s.h.pass(29 * DAY);
      const on = (slotId: string) => texts({ caseId: first.caseId, provider: PROVIDER, slotId });
      await s.h.bmdb.sweep();
      expect(await on('a')).toEqual(['of no case']);
      await s.h.pass(2 * DAY);
      await s.h.bmdb.sweep();
      expect(await on('a')).toEqual([]);
      expect(await on('b')).toEqual(['of a case', 'note']);
      await s.h.pass(370 * DAY);
      await s.h.bmdb.sweep();
      await s.h.bmdb.sweep();
      expect(await list()).toEqual([['c', lasting.caseId]]);
      expect(await on('b')).toEqual([]);
    });
  });
}
