import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ConsoleSession } from '../../src/adapters/bmdb/port.ts';
import {
  DEVICE_LOGIN_MS,
  GRANT_MAX_MS,
  GRANT_MS,
  GRANT_RETRY_MS,
  LOGIN_CODE_MS,
  ROLES,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
} from '../../src/domain/access.ts';
import { SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const digestOf = (text: string) => createHash('sha256').update(text).digest();
const idOf = (at: number) => `00000000-0000-4000-8000-00000000000${at}`;

const CI = {
  ...{ name: 'ci', owner: 'db:ann@host', ownerIdentity: 'db:ann@host' },
  ...({ role: 'operator', providers: ['rack'] } as const),
};
const token = (id: string, change: object = {}) => ({
  ...{ ...CI, id, digest: digestOf(id), forMs: HOUR },
  ...change,
});
const session = (at: number, change: object = {}) => ({
  ...{
    id: idOf(at),
    digest: digestOf(`${at}`),
    name: 'oidc:ann',
    identity: 'oidc:7',
    proven: true,
  },
  ...({ role: 'admin', providers: null, renewal: null, tokenId: null } as const),
  ...change,
});

export function accessContract(s: BmdbStage): void {
  it.each(ROLES)('the role %s is stored with tokens, logins and links', async (role) => {
    const { tokens, sessions, codes } = s.h.bmdb.access;
    await tokens.add(token('a', { role }));
    await sessions.open(session(1, { role }));
    const link = { name: 'ann', identity: null, providers: null, tokenId: null };
    await codes.add({ ...link, digest: digestOf('code'), role });
    expect(await tokens.find('a', digestOf('a'), SIGNAL)).toMatchObject({ role });
    expect(await sessions.list(SIGNAL)).toMatchObject([{ role }]);
    expect(await codes.redeem(digestOf('code'))).toMatchObject({ role });
  });

  describe('tokens', () => {
    const repository = () => s.h.bmdb.access.tokens;
    const others = () => s.h.other.access.tokens;
    const finds = async (id: string, digest = digestOf(id)) =>
      (await others().find(id, digest, SIGNAL)) !== null;

    it('are found by id and digest in every daemon until they expire', async () => {
      const endsAtMs = await repository().add(token('a'));
      const found = await others().find('a', digestOf('a'), SIGNAL);
      const { createdAtMs, expiresAtMs, ...rest } = found!;
      expect(rest).toEqual({
        ...{ ...CI, id: 'a', lastUsedAtMs: null, revokedAtMs: null, revokedBy: null },
        ...{ origins: [CI.ownerIdentity], hasEnded: false, loginSeal: null },
      });
      expect(endsAtMs).toBe(expiresAtMs);
      expect(expiresAtMs - createdAtMs).toBe(HOUR);
      expect([await finds('a', digestOf('b')), await finds('b', digestOf('a'))]).toEqual([
        ...[false, false],
      ]);
      await s.h.pass(HOUR - MINUTE);
      expect(await finds('a')).toBe(true);
      await s.h.pass(MINUTE);
      expect(await finds('a')).toBe(false);
    });

    it('V29: are refused after revocation and stay in the list', async () => {
      await repository().add(token('a'));
      expect(await others().revoke('a', 'oidc:bob')).toBe(true);
      expect(await finds('a')).toBe(false);
      expect([await repository().revoke('a', 'x'), await repository().revoke('b', 'x')]).toEqual([
        ...[false, false],
      ]);
      expect(await repository().list(SIGNAL)).toMatchObject([
        { id: 'a', revokedBy: 'oidc:bob', revokedAtMs: expect.any(Number) },
      ]);
    });

    it('have a unique name, which is free again after revocation', async () => {
      await repository().add(token('a'));
      expect(await others().add(token('b'))).toBeNull();
      expect(await finds('b')).toBe(false);
      await repository().revoke('a', 'x');
      await s.h.pass(MINUTE);
      expect(await others().add(token('b', { providers: null }))).not.toBeNull();
      await s.h.pass(MINUTE);
      await repository().add(token('c', { name: 'other' }));
      expect((await repository().list(SIGNAL)).map(({ id, providers }) => [id, providers])).toEqual(
        [
          ['c', ['rack']],
          ['b', null],
          ['a', ['rack']],
        ],
      );
    });

    it('record when they were last used', async () => {
      await repository().add(token('a'));
      await s.h.pass(MINUTE);
      await repository().used('a');
      await repository().used('nobody');
      const [{ lastUsedAtMs, createdAtMs } = expect.fail('none')] = await others().list(SIGNAL);
      expect((lastUsedAtMs ?? 0) - createdAtMs).toBeGreaterThanOrEqual(MINUTE);
    });

    it('E3: end with the token that created them, and with that token’s own creator', async () => {
      await repository().add(token('a', { forMs: 2 * MINUTE }));
      const year = { forMs: 365 * 24 * HOUR };
      const endsAtMs = await repository().add(
        token('b', { ...year, name: 'b', parentTokenId: 'a' }),
      );
      expect(await repository().add(token('c', { ...year, name: 'c', parentTokenId: 'b' }))).toBe(
        endsAtMs,
      );
      const [c] = await others().list(SIGNAL);
      expect([c!.expiresAtMs, (await others().find('c', digestOf('c'), SIGNAL))?.origins]).toEqual([
        endsAtMs,
        [CI.ownerIdentity, CI.ownerIdentity, CI.ownerIdentity],
      ]);
      await s.h.pass(MINUTE);
      expect([await finds('b'), await finds('c')]).toEqual([true, true]);
      await others().revoke('a', 'x');
      expect([await finds('b'), await finds('c')]).toEqual([false, false]);
      expect((await repository().list(SIGNAL)).map(({ hasEnded }) => hasEnded)).toEqual([
        ...[true, true, true],
      ]);
    });

    it('end with the login that created them, or when its rights shrink', async () => {
      const { sessions } = s.h.bmdb.access;
      const made = (id: string, at: number) =>
        repository().add(
          token(id, { name: id, parentSessionId: idOf(at), forMs: 48 * HOUR, providers: null }),
        );
      for (const at of [1, 2, 3, 4]) await sessions.open(session(at));
      const [endsAtMs] = [await made('a', 1), await made('b', 2), await made('c', 3)];
      await made('d', 4);
      await repository().add(token('e', { name: 'e', parentTokenId: 'd', providers: null }));
      expect(endsAtMs).toBe((await sessions.find(digestOf('1'), SIGNAL))!.endsAtMs);
      await sessions.end(idOf(1));
      const less = { role: 'viewer', providers: null, renewal: null } as const;
      await sessions.used(digestOf('2'), less);
      await sessions.used(digestOf('3'), { ...less, role: 'operator', providers: ['rack'] });
      expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => finds(id)))).toEqual([
        ...[false, false, false, true, true],
      ]);
      await s.h.pass(SESSION_IDLE_MS);
      expect([await finds('d'), await finds('e')]).toEqual([false, false]);
    });
  });

  describe('logins of commands', () => {
    const repository = () => s.h.bmdb.access.devices;
    const others = () => s.h.other.access.devices;
    const device = (at: string, user = at) => ({
      ...{ deviceDigest: digestOf(`d${at}`), userDigest: digestOf(`u${user}`), host: 'laptop' },
      ...{ address: '192.0.2.7', publicKey: digestOf('key') },
    });
    const poll = (at: string) => others().poll(digestOf(`d${at}`));
    const find = (at: string) => others().find(digestOf(`u${at}`), SIGNAL);
    const WAITING = { outcome: 'waiting', sealed: null };

    it('wait for a person, whom any daemon tells who asks, and are granted once', async () => {
      expect(await repository().add(device('a'))).toBe(true);
      expect(await find('a')).toMatchObject({ host: 'laptop', address: '192.0.2.7' });
      expect([...(await find('a'))!.publicKey]).toEqual([...digestOf('key')]);
      expect(await poll('a')).toEqual(WAITING);
      const sealed = digestOf('sealed');
      expect(await repository().decide(digestOf('ua'), sealed)).toBe(true);
      expect(await others().decide(digestOf('ua'), null)).toBe(false);
      expect(await find('a')).toBeNull();
      const granted = await poll('a');
      expect([granted!.outcome, [...granted!.sealed!]]).toEqual(['granted', [...sealed]]);
      expect(await poll('a')).toBeNull();
    });

    it('are refused, unknown, or end after ten minutes', async () => {
      await repository().add(device('a'));
      await repository().add(device('b'));
      expect(await others().decide(digestOf('ua'), null)).toBe(true);
      expect([await poll('a'), await poll('a'), await poll('nobody')]).toEqual([
        ...[{ outcome: 'refused', sealed: null }, null, null],
      ]);
      await repository().add(device('c'));
      expect(await others().decide(digestOf('uc'), digestOf('sealed'))).toBe(true);
      await s.h.pass(DEVICE_LOGIN_MS);
      expect(await poll('c')).toEqual({ outcome: 'expired', sealed: null });
      expect(await find('b')).toBeNull();
      expect(await repository().decide(digestOf('ub'), digestOf('late'))).toBe(false);
      expect([await poll('b'), await poll('b')]).toEqual([
        ...[{ outcome: 'expired', sealed: null }, null],
      ]);
    });

    it('have a short code of their own', async () => {
      await repository().add(device('a'));
      expect(await others().add(device('b', 'a'))).toBe(false);
      expect(await poll('b')).toBeNull();
    });

    it('slow a command down by five seconds each time it does not wait', async () => {
      await repository().add(device('a'));
      const after = async (seconds: number) => {
        await s.h.pass(seconds * 1_000);
        return (await poll('a'))!.outcome;
      };
      const outcomes = [];
      for (const seconds of [0, 6, 4, 9, 16, 14]) outcomes.push(await after(seconds));
      expect(outcomes).toEqual(['waiting', 'waiting', 'soon', 'soon', 'waiting', 'soon']);
    });
  });

  describe('sessions of the console', () => {
    const repository = () => s.h.bmdb.access.sessions;
    const find = (at: number) => s.h.other.access.sessions.find(digestOf(`${at}`), SIGNAL);
    const ids = (list: readonly ConsoleSession[]) => list.map(({ id }) => id);

    it('are found by the cookie’s digest and end after a time without requests', async () => {
      const pageDigest = digestOf('page');
      await repository().open(session(1, { renewal: Buffer.from('sealed'), pageDigest }));
      const found = (await find(1))!;
      expect(found).toMatchObject({
        id: idOf(1),
        name: 'oidc:ann',
        identity: 'oidc:7',
        role: 'admin',
      });
      expect(Buffer.from(found.renewal!).toString()).toBe('sealed');
      expect(Buffer.from(found.pageDigest!)).toEqual(pageDigest);
      expect(found.endsAtMs - found.openedAtMs).toBe(SESSION_MAX_MS);
      expect(await find(2)).toBeNull();
      await s.h.pass(SESSION_IDLE_MS - MINUTE);
      expect(await find(1)).not.toBeNull();
      await s.h.pass(MINUTE);
      expect(await find(1)).toBeNull();
      // A use does not revive a session that has ended.
      await repository().used(digestOf('1'));
      expect([await find(1), await repository().list(SIGNAL)]).toEqual([null, []]);
    });

    it('end a day after the login, even in constant use', async () => {
      await repository().open(session(1));
      for (let hours = 6; hours < 24; hours += 6) {
        await s.h.pass(6 * HOUR);
        await repository().used(digestOf('1'));
      }
      expect(await find(1)).not.toBeNull();
      await s.h.pass(6 * HOUR);
      expect(await find(1)).toBeNull();
    });

    it('take over a changed role and know how long ago the provider was asked', async () => {
      await repository().open(session(1, { renewal: Buffer.from('a') }));
      await s.h.pass(20 * MINUTE);
      await repository().used(digestOf('1'));
      expect((await find(1))!.grantAgeMs).toBeGreaterThanOrEqual(20 * MINUTE);
      expect((await find(1))!.role).toBe('admin');
      const less = { role: 'viewer', providers: ['rack'], renewal: Buffer.from('b') } as const;
      await repository().used(digestOf('1'), less);
      const found = (await find(1))!;
      expect(found).toMatchObject({ role: 'viewer', providers: ['rack'] });
      expect(Buffer.from(found.renewal!).toString()).toBe('b');
      expect(found.grantAgeMs).toBeLessThan(MINUTE);
    });

    it('are renewed by one daemon at a time when they are old enough', async () => {
      const claims = () =>
        Promise.all(
          [repository(), s.h.other.access.sessions].map((b) => b.claimRenewal(digestOf('1'))),
        );
      const counted = async () => (await claims()).filter((each) => each !== null).length;
      await repository().open(session(1, { renewal: Buffer.from('a') }));
      await s.h.pass(GRANT_MS - MINUTE);
      expect(await counted()).toBe(0);
      await s.h.pass(MINUTE);
      const [claimed, ...others] = (await claims()).filter((each) => each !== null);
      expect([claimed!.id, Buffer.from(claimed!.renewal!).toString()]).toEqual([idOf(1), 'a']);
      expect([others, await counted()]).toEqual([[], 0]);
      await s.h.pass(GRANT_RETRY_MS);
      expect(await counted()).toBe(1);
      await repository().used(digestOf('1'), { role: 'viewer', providers: null, renewal: null });
      await s.h.pass(GRANT_RETRY_MS);
      expect([await counted(), await repository().claimRenewal(digestOf('2'))]).toEqual([0, null]);
    });

    it('V29: end with the token that the person logged in with', async () => {
      const { tokens } = s.h.bmdb.access;
      await tokens.add(token('a'));
      await tokens.add(token('b', { name: 'brief', forMs: MINUTE }));
      await repository().open(session(1, { tokenId: 'a' }));
      await repository().open(session(2, { tokenId: 'b' }));
      expect([await find(1), await find(2)]).not.toContain(null);
      await s.h.pass(MINUTE);
      expect([(await find(1))?.id, await find(2)]).toEqual([idOf(1), null]);
      await tokens.revoke('a', 'oidc:bob');
      expect([await find(1), await repository().list(SIGNAL)]).toEqual([null, []]);
    });

    it('end when the login behind them loses rights or is no longer checked', async () => {
      const { tokens } = s.h.bmdb.access;
      for (const at of [1, 2]) await repository().open(session(at));
      for (const [id, at] of [
        ['a', 1],
        ['b', 2],
      ] as const) {
        const wide = { name: id, forMs: 24 * HOUR, providers: null };
        await tokens.add(token(id, { ...wide, parentSessionId: idOf(at) }));
        const opened = {
          role: 'operator',
          tokenId: id,
          name: `token:${id}`,
          identity: `token:${id}`,
        };
        await repository().open(session(at + 2, opened));
      }
      expect((await find(3))!.origins.toSorted()).toEqual([CI.ownerIdentity, 'oidc:7', 'token:a']);
      await repository().used(digestOf('1'), { role: 'viewer', providers: null, renewal: null });
      expect([await find(3), (await find(4))?.id]).toEqual([null, idOf(4)]);
      await s.h.pass(GRANT_MAX_MS);
      expect([(await find(2))?.id, await find(4)]).toEqual([idOf(2), null]);
    });

    it('end one by one and are listed until then', async () => {
      await repository().open(session(1));
      await s.h.pass(MINUTE);
      await repository().open(session(2, { name: 'db:bob@host', proven: false }));
      expect(ids(await s.h.other.access.sessions.list(SIGNAL))).toEqual([idOf(2), idOf(1)]);
      expect(await repository().end(idOf(2))).toBe('db:bob@host');
      expect(await repository().end(idOf(2))).toBeNull();
      expect([await find(2), ids(await repository().list(SIGNAL))]).toEqual([null, [idOf(1)]]);
    });
  });

  describe('one-time links', () => {
    const known = { name: 'db:ann@host', identity: 'token:a', tokenId: 'a' };
    const CODE = { digest: digestOf('code'), ...known };
    const codes = () => s.h.bmdb.access.codes;
    const redeem = (text = 'code') => s.h.other.access.codes.redeem(digestOf(text));

    it('work once, for one of several simultaneous users', async () => {
      const grant = { role: 'admin', providers: ['rack'] } as const;
      await codes().add({ ...CODE, ...grant });
      expect(await redeem('other')).toBeNull();
      const all = await Promise.all([redeem(), redeem(), redeem()]);
      expect(all.filter((each) => each !== null)).toEqual([{ ...known, ...grant }]);
      expect(await redeem()).toBeNull();
    });

    it('work for ten minutes only', async () => {
      expect(LOGIN_CODE_MS).toBe(600_000);
      const add = () => codes().add({ ...CODE, role: 'viewer', providers: null });
      await add();
      await s.h.pass(LOGIN_CODE_MS - 60_000);
      expect(await redeem()).toMatchObject({ name: CODE.name });
      await add();
      await s.h.pass(LOGIN_CODE_MS);
      expect(await redeem()).toBeNull();
    });
  });
}
