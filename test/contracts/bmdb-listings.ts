import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const OTHER = providerName('other');

export function listingsContract(s: BmdbStage): void {
  const failed = (session: typeof s.session, cause = 'no route', provider = PROVIDER) =>
    s.h.bmdb.listings.failed({ provider, sessionId: session.sessionId, cause });
  const unlisted = async () => {
    const nowMs = await s.now();
    const found = await s.h.other.listings.unlisted(SIGNAL);
    return found.map(({ sinceMs, ...each }) => ({
      ...each,
      minutes: Math.round((nowMs - sinceMs) / MINUTE),
    }));
  };
  const by = ({ sessionId }: typeof s.session, cause: string, minutes: number) => ({
    provider: PROVIDER,
    sessionId,
    cause,
    minutes,
  });

  describe('A8: a provider that cannot be listed', () => {
    it('is reported to every daemon with its first failure and last cause', async () => {
      expect(await unlisted()).toEqual([]);
      await failed(s.session, 'no route');
      await s.h.pass(20 * MINUTE);
      await failed(s.session, 'refused\u0007');
      await failed(s.session, 'no route', OTHER);
      expect(await unlisted()).toEqual([
        by(s.session, 'refused\ufffd', 20),
        { ...by(s.session, 'no route', 0), provider: OTHER },
      ]);
      await s.h.bmdb.listings.succeeded(PROVIDER, s.session.sessionId);
      expect(await unlisted()).toMatchObject([{ provider: OTHER }]);
    });

    it('is recorded for each daemon separately', async () => {
      await failed(s.session);
      await s.h.pass(MINUTE);
      await failed(s.rival, 'late');
      expect(await unlisted()).toEqual([by(s.session, 'no route', 1), by(s.rival, 'late', 0)]);
      await s.h.bmdb.listings.succeeded(PROVIDER, s.session.sessionId);
      expect(await unlisted()).toEqual([by(s.rival, 'late', 0)]);
    });

    it('is forgotten by a restart and while no daemon reports it', async () => {
      await failed(s.session);
      await s.h.pass(10 * MINUTE);
      await s.h.expireSession(s.session.sessionId);
      expect(await unlisted()).toEqual([]);
      await failed(s.rival, 'still');
      expect(await unlisted()).toEqual([by(s.rival, 'still', 10)]);
      await s.h.bmdb.listings.succeeded(PROVIDER, s.rival.sessionId);
      await failed(s.rival, 'again');
      expect(await unlisted()).toEqual([by(s.rival, 'again', 0)]);
    });

    it('counts as listed again when a later daemon listed it', async () => {
      await failed(s.session);
      await s.h.pass(10 * MINUTE);
      await s.h.expireSession(s.session.sessionId);
      await s.h.bmdb.listings.succeeded(PROVIDER, s.rival.sessionId);
      await failed(s.rival);
      expect(await unlisted()).toEqual([by(s.rival, 'no route', 0)]);
    });
  });
}
