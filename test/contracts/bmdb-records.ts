import { describe, expect, it } from 'vitest';
import { codeOf, ProviderError } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';
import {
  type RecordJson,
  RECORD_BYTES_MAX,
  RECORDS_MAX,
} from '../../src/domain/provisioning/records.ts';
import { refusedWith, SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

const RACK = providerName('rack');
const named = (key: string, provider = RACK) => ({ provider, key });
const NAME = named('bmc-1');

/** A value nested to this depth. */
const deep = (depth: number): RecordJson => (depth === 0 ? 1 : [deep(depth - 1)]);

export function recordsContract(s: BmdbStage): void {
  const all = async (provider = RACK) =>
    [...(await s.h.other.records.all(provider, SIGNAL))].toSorted((a, b) =>
      a.key < b.key ? -1 : 1,
    );
  const values = async () => (await all()).map(({ key, value }) => [key, value]);
  const refused = async (call: Promise<unknown>): Promise<ProviderError> => {
    const error = await call.then(
      () => expect.fail('the call succeeded'),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ProviderError);
    return error as ProviderError;
  };

  describe('records of a provider', () => {
    it('are created, replaced and dropped by a writer that knows their version', async () => {
      const { records } = s.session;
      expect(await all()).toEqual([]);
      const first = await records.make(NAME, { set: 'ours', step: 1 });
      expect(await all()).toEqual([
        { key: 'bmc-1', value: { set: 'ours', step: 1 }, version: first },
      ]);
      const second = await s.rival.records.replace(NAME, null, first);
      expect(second).not.toBe(first);
      expect(await all()).toEqual([{ key: 'bmc-1', value: null, version: second }]);
      await records.drop(NAME, second);
      expect(await all()).toEqual([]);
    });

    it('are never overwritten by a creation, or in a version that was not read', async () => {
      const { records } = s.session;
      const first = await records.make(NAME, 1);
      const there = await refused(s.rival.records.make(NAME, 2));
      expect([there.code, there.outcome, there.message]).toEqual([
        ...['conflict', 'not-done'],
        'record "bmc-1" of provider rack is there already: read it, and go on from what it says',
      ]);
      const second = await records.replace(NAME, 3, first);
      for (const call of [
        () => s.rival.records.replace(NAME, 4, first),
        () => s.rival.records.drop(NAME, first),
        () => s.rival.records.replace(NAME, 4, 'never given'),
      ]) {
        expect(await refused(call())).toMatchObject({
          code: 'conflict',
          message: expect.stringContaining('was changed since it was read'),
        });
      }
      expect(await values()).toEqual([['bmc-1', 3]]);
      await records.drop(NAME, second);
      for (const call of [
        () => records.drop(NAME, second),
        () => records.replace(NAME, 5, second),
      ]) {
        expect(await refused(call())).toMatchObject({
          code: 'conflict',
          message: expect.stringContaining('is gone since it was read'),
        });
      }
      // A record that is created again is a new one, even with an equal value.
      const third = await records.make(NAME, 1);
      expect([first, second]).not.toContain(third);
      expect(await refusedWith(records.drop(NAME, first))).toBe('conflict');
      expect(await values()).toEqual([['bmc-1', 1]]);
    });

    it('accept one of several simultaneous writers', async () => {
      const third = await s.openOn(s.h.other);
      const repositories = [s.session, s.rival, third].map(({ records }) => records);
      const race = async (run: (at: number) => Promise<unknown>) => {
        const ends = await Promise.allSettled(repositories.map((_, at) => run(at)));
        const codes = ends.map((end) => (end.status === 'rejected' ? codeOf(end.reason) : 'ok'));
        expect(codes.toSorted()).toEqual(['conflict', 'conflict', 'ok']);
        return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))[0];
      };
      for (let round = 0; round < 5; round++) {
        const name = named(`bmc-${round}`);
        const made = (await race((at) => repositories[at]!.make(name, at))) as string;
        const next = (await race((at) => repositories[at]!.replace(name, at, made))) as string;
        expect((await all()).map(({ version }) => version)).toEqual([next]);
        await race((at) => repositories[at]!.drop(name, next));
        expect(await all()).toEqual([]);
      }
      await third.close();
    });

    it('are not written after the session died', async () => {
      const version = await s.session.records.make(NAME, 1);
      const calls = [
        (records: typeof s.session.records) => records.make(named('bmc-2'), 2),
        (records: typeof s.session.records) => records.replace(NAME, 2, version),
        (records: typeof s.session.records) => records.drop(NAME, version),
      ];
      for (const call of calls) {
        const short = await s.openOn(s.h.bmdb, 60_000);
        await s.h.expireSession(short.sessionId);
        expect(await refusedWith(call(short.records))).toBe('session-expired');
        expect(short.signal.aborted).toBe(true);
        expect(await refusedWith(call(short.records))).toBe('session-expired');
        await short.close();
      }
      expect(await all()).toEqual([{ key: 'bmc-1', value: 1, version }]);
    });

    it('belong to one provider each, known or not', async () => {
      const other = providerName('old-rack');
      const version = await s.session.records.make(NAME, 1);
      await s.session.records.make(named('bmc-1', other), 2);
      await s.session.records.make(named('bmc-2', other), 3);
      expect((await all(other)).map(({ value }) => value)).toEqual([2, 3]);
      expect(await refusedWith(s.session.records.drop(named('bmc-1', other), version))).toBe(
        'conflict',
      );
      expect(await all(providerName('nobody'))).toEqual([]);
      expect(
        [...(await s.h.bmdb.records.counts(SIGNAL))].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ).toEqual([
        [other, 2],
        [RACK, 1],
      ]);
      await s.session.records.drop(NAME, version);
      expect([...(await s.h.bmdb.records.counts(SIGNAL))]).toEqual([[other, 2]]);
    });

    it('keep any JSON value unchanged', async () => {
      const held: readonly RecordJson[] = [
        ...[null, true, 0, -1.5e-300, 2 ** 53, '', 'ä 😀 \u0001 "\\', [], {}],
        { b: [1, { a: null }], '': 1, 'a/b': 'c' },
        deep(64),
        'x'.repeat(RECORD_BYTES_MAX - 2),
        'ä'.repeat(RECORD_BYTES_MAX / 2 - 1),
      ];
      for (const value of held) {
        const version = await s.session.records.make(NAME, value);
        expect((await all())[0]!.value).toStrictEqual(value);
        await s.session.records.drop(NAME, version);
      }
    });

    it('refuse a value that JSON would lose or change, and name its place', async () => {
      const version = await s.session.records.make(NAME, 1);
      const loop: unknown[] = [];
      loop.push(loop);
      const lost: readonly (readonly [unknown, string])[] = [
        [undefined, '""'],
        [{ a: [1, Number.NaN] }, '"/a/1"'],
        [{ a: { b: undefined } }, '"/a/b"'],
        [[Number.POSITIVE_INFINITY], '"/0"'],
        [[1n], '"/0"'],
        [{ at: new Date(0) }, '"/at"'],
        [new Map([['a', 1]]), '""'],
        [{ run: () => 1 }, '"/run"'],
        // A list with a hole.
        [Object.assign([1], { length: 2 }), '"/1"'],
        ['\0', '""'],
        [{ half: '\ud83d' }, '"/half"'],
        [{ 'a\0': 1 }, '"/a\0"'],
        [loop, '/0/0'],
        [deep(65), '/0/0'],
      ];
      for (const [value, at] of lost) {
        for (const call of [
          () => s.session.records.make(named('bmc-2'), value as RecordJson),
          () => s.session.records.replace(NAME, value as RecordJson, version),
        ]) {
          const { code, message } = await refused(call());
          expect(code).toBe('invalid');
          expect(message).toContain(at);
          expect(message).toContain('keep to null');
        }
      }
      expect(await values()).toEqual([['bmc-1', 1]]);
    });

    it('have at most 16 KiB, counted in bytes', async () => {
      const long = ['x'.repeat(RECORD_BYTES_MAX - 1), 'ä'.repeat(RECORD_BYTES_MAX / 2)];
      for (const value of long) {
        const { code, message } = await refused(s.session.records.make(NAME, value));
        expect(code).toBe('invalid');
        expect(message).toContain(`may have ${RECORD_BYTES_MAX}: keep less`);
      }
      expect(await all()).toEqual([]);
    });

    it('have a key of 1 to 200 printable characters', async () => {
      const { records } = s.session;
      for (const key of ['a', ' ', '😀'.repeat(200), 'https://bmc/redfish?x="1"\\']) {
        const version = await records.make(named(key), 1);
        await records.drop(named(key), await records.replace(named(key), 2, version));
      }
      for (const key of ['', 'x'.repeat(201), 'a\nb', 'a\0b', '\u202e', '\u2028', '\ud83d']) {
        for (const call of [
          () => records.make(named(key), 1),
          () => records.replace(named(key), 1, 'v'),
          () => records.drop(named(key), 'v'),
        ]) {
          const { code, message } = await refused(call());
          expect([code, message]).toEqual([
            'invalid',
            expect.stringContaining('choose one of 1 to 200 printable characters'),
          ]);
        }
      }
      expect(await all()).toEqual([]);
    });

    it('are limited to 100 000 per provider', async () => {
      const { records } = s.session;
      await s.h.addRecords(RACK, RECORDS_MAX - 1);
      const version = await records.make(NAME, 1);
      const { code, message } = await refused(records.make(named('bmc-2'), 1));
      expect(code).toBe('invalid');
      expect(message).toContain('there are 100000 already');
      expect(message).toContain('drop records that are no longer needed');
      // An existing record is a conflict; records of other providers are not affected.
      expect(await refusedWith(records.make(NAME, 2))).toBe('conflict');
      await records.make(named('bmc-2', providerName('other')), 1);
      await records.drop(NAME, await records.replace(NAME, 2, version));
      await records.make(named('bmc-2'), 1);
      expect((await s.h.bmdb.records.counts(SIGNAL)).get(RACK)).toBe(RECORDS_MAX);
    });
  });
}
