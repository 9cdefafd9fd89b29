import { expect } from 'vitest';
import { rename, tagOf, powerOf, CUT, isPending, type NumberedProof } from './fault-steps.ts';
import { ROOT } from './harness.ts';

/** What each fault of connections and logins does, and that it is over with its rule. */
export const WIRE_FAULTS: readonly NumberedProof[] = [
  [
    1,
    'latency',
    async (fish) => {
      await fish.fault({ type: 'latency', ms: 500 }, { times: 1 });
      const asked = fish.ask('GET', fish.path);
      expect(await isPending(asked, fish, 499)).toBe(true);
      await fish.fake.advance(1);
      expect((await asked).status).toBe(200);
    },
  ],
  [
    2,
    'connections refused',
    async (fish) => {
      const { id } = await fish.fault({ type: 'refuse' });
      await expect(fish.system()).rejects.toThrow(/ECONNREFUSED/);
      await fish.fake.removeFault(id);
      expect((await fish.ask('GET', fish.path)).status).toBe(200);
    },
  ],
  [
    3,
    'accepted, and no answer',
    async (fish) => {
      await fish.fault({ type: 'hang', phase: 'before' }, { times: 1 });
      const patience = new AbortController();
      const asked = fish.ask('GET', fish.path, { signal: patience.signal });
      await expect.poll(() => fish.fake.requests().at(-1)?.fate).toBe('hung');
      patience.abort();
      await expect(asked).rejects.toThrow(/abort/);
    },
  ],
  [
    4,
    'reply lost after execution',
    async (fish) => {
      await fish.fault({ type: 'drop', phase: 'after' }, { match: { method: 'POST' }, times: 1 });
      await expect(fish.reset('On')).rejects.toThrow(CUT);
      expect(powerOf(fish)).toBe('PoweringOn');
    },
  ],
  [
    5,
    '5xx before and after execution',
    async (fish) => {
      await fish.fault({ type: 'status', code: 500 }, { times: 1 });
      expect((await rename(fish)).status).toBe(500);
      expect(await tagOf(fish)).toBe('');
      const late = { match: { method: 'PATCH' }, times: 1 };
      await fish.fault({ type: 'status', code: 502, executed: true }, late);
      expect((await rename(fish)).status).toBe(502);
      expect(await tagOf(fish)).toBe('rack-7');
    },
  ],
  [
    6,
    'body cut or HTML',
    async (fish) => {
      await fish.fault({ type: 'garbage', kind: 'truncated' }, { times: 1 });
      const cut = await fish.ask('GET', fish.path);
      expect([cut.status, cut.text.at(-1)]).not.toEqual([200, '}']);
      expect(cut.body).toEqual({});
      await fish.fault({ type: 'garbage', kind: 'html' }, { times: 1 });
      expect((await fish.ask('GET', fish.path)).text).toMatch(/^<!DOCTYPE html>/);
    },
  ],
  [
    7,
    'session limit reached',
    async (fish) => {
      await fish.fault({ type: 'sessionLimit' }, { times: 1 });
      expect((await fish.login()).status).toBe(503);
      expect((await fish.login()).status).toBe(201);
    },
  ],
  [
    8,
    'sessions forgotten',
    async (fish) => {
      const auth = { token: String((await fish.login()).headers['x-auth-token']) };
      expect((await fish.ask('GET', fish.path, { auth })).status).toBe(200);
      await fish.fault({ type: 'sessionsForgotten' });
      expect((await fish.ask('GET', fish.path, { auth })).status).toBe(401);
      expect((await fish.login()).status).toBe(201);
    },
  ],
  [
    9,
    'locked out after three wrong logins',
    async (fish) => {
      await fish.fault({ type: 'lockout', after: 3, ms: 60_000 });
      for (let n = 0; n < 3; n++) {
        expect((await fish.ask('GET', fish.path)).status).toBe(200);
        for (let wrong = 0; wrong < (n === 2 ? 3 : 2); wrong++) {
          expect((await fish.ask('GET', fish.path, { auth: 'wrong' })).status).toBe(401);
        }
      }
      expect((await fish.login()).status).toBe(401);
      await fish.fake.advance(60_000);
      expect((await fish.login()).status).toBe(201);
    },
  ],
  [
    10,
    'certificate changed',
    async (fish) => {
      const before = fish.fake.bmcs()[0]!.certSha256;
      const { id } = await fish.fault({ type: 'certificate' });
      const shown = (await fish.ask('GET', ROOT)).certSha256;
      expect(shown).not.toBe(before);
      expect(fish.fake.bmcs()[0]!.certSha256).toBe(shown);
      await fish.fake.removeFault(id);
      expect((await fish.ask('GET', ROOT)).certSha256).toBe(before);
    },
  ],
];
