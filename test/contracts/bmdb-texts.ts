import { describe, expect, it } from 'vitest';
import { TEXT_MAX } from '../../src/lib/texts.ts';
import { ASKED, MINUTE, PROVIDER, providedOf } from './bmdb-rows.ts';
import { agentStarted, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const FOUL = 'bad\0 \u001b[2Janswer \ud800';
const PLAIN = 'bad\ufffd \ufffd[2Janswer \ufffd';
const LONG = 'long '.repeat(1_000);

export function textsContract(s: BmdbStage): void {
  const { add, read } = s;

  describe('texts from outside', () => {
    it('never keep a failure from being recorded', async () => {
      const id = await add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      await work.fail(STEADY, FOUL, { quarantine: { kind: 'needsHuman', reason: FOUL } });
      expect(await read(id)).toMatchObject({
        work: [],
        startAttempt: { count: 1 },
        backoffs: [{ process: 'ShepherdAgentStart', cause: PLAIN }],
        quarantine: { kind: 'needsHuman', reason: PLAIN },
      });
      expect((await s.h.history(id)).at(-1)).toBe(`ShepherdAgentStart Failed ${PLAIN}`);
      expect(await s.h.events(id)).toEqual([
        `workFailed ShepherdAgentStart: ${PLAIN}`,
        `quarantined needsHuman: ${PLAIN}`,
      ]);
    });

    it('spoil nothing for work that ends at the same time', async () => {
      const ids = await Promise.all([add(), add(), add()]);
      const works = await Promise.all(ids.map((id) => s.session.claim('UnitTest1', id)));
      await Promise.all(works.map((work, at) => work.fail(STEADY, at === 1 ? FOUL : `no ${at}`)));
      const causes = await Promise.all(ids.map(async (id) => (await read(id)).backoffs[0]?.cause));
      expect(causes).toEqual(['no 0', PLAIN, 'no 2']);
    });

    it('are cut with a visible mark', async () => {
      const id = await add();
      await (await s.session.claim('UnitTest1', id)).fail(STEADY, LONG);
      const { cause } = (await read(id)).backoffs[0]!;
      expect(cause).toHaveLength(TEXT_MAX);
      expect(cause).toMatch(/^long long .*… \(cut\)$/);
    });

    it('can be the cause of a cancellation', async () => {
      const id = await add();
      await (await s.session.claim('UnitTest1', id)).cancel(FOUL);
      expect((await s.h.history(id)).at(-1)).toBe(`UnitTest1 Canceled ${PLAIN}`);
    });

    it('can be warnings, the boot id and the host key of an agent start', async () => {
      const id = await add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      const change = { ...agentStarted(), bootId: FOUL, hostKey: FOUL };
      await work.finish({ ...change, warnings: ['first', FOUL, LONG] });
      const row = await read(id);
      expect([row.agentStarted?.bootId, row.hostKey]).toEqual([PLAIN, PLAIN]);
      const warnings = (await s.h.events(id)).at(-1)!;
      expect(warnings).toMatch(/^agentStarted first; bad\ufffd .* \(cut\)$/);
      expect(warnings).toHaveLength('agentStarted '.length + TEXT_MAX);
    });

    it('can be the provider’s name of its operation', async () => {
      const id = await s.addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await work.note({ kind: 'recoveryAccepted', operationRef: FOUL });
      expect((await read(id)).recovery?.operationRef).toBe(PLAIN);
      await work.cancel();
    });

    it('can be the error, the place and the end of a creation', async () => {
      const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
      const { intents } = s.session;
      const first = await intents.open(slot);
      await intents.progress(first.witness, { lastError: FOUL });
      expect((await s.h.bmdb.scan(SIGNAL)).intents).toMatchObject([{ lastError: PLAIN }]);
      await intents.end(first.witness, { state: 'failed', cause: FOUL, penaltyMs: MINUTE });
      expect((await s.h.bmdb.scan(SIGNAL)).penalties).toMatchObject([{ cause: PLAIN }]);
      const second = await intents.open({ ...slot, slotId: 'reservation-2' });
      const provided = providedOf('1', { address: FOUL, location: FOUL });
      const id = await intents.adopt(second.witness, provided);
      const clean = { address: PLAIN, location: PLAIN };
      expect((await read(id)).provided).toEqual({ ...provided, ...clean });
      await s.session.updateProvided(id, { address: `${FOUL}2`, location: null });
      expect((await read(id)).provided).toMatchObject({ address: `${PLAIN}2`, location: null });
    });

    it('can be the key and the cause of a hold, which the same name lifts', async () => {
      const { providerHolds } = s.h.bmdb;
      const hold = { provider: PROVIDER, kind: 'capacity', level: 1, forMs: MINUTE } as const;
      await providerHolds.impose({ ...hold, key: `plan ${FOUL}`, cause: FOUL });
      expect((await s.h.bmdb.scan(SIGNAL)).providerHolds).toMatchObject([
        { key: `plan ${PLAIN}`, cause: PLAIN },
      ]);
      expect(await providerHolds.lift(PROVIDER, 'capacity', `plan ${FOUL}`)).toBe(1);
    });

    it('can describe a session', async () => {
      const options = { component: 'shepherd', intervalMs: 60_000 };
      const session = await s.h.bmdb.openSession({ ...options, runtimeInfo: FOUL });
      await session.close();
    });
  });
}
