import { describe, expect, it } from 'vitest';
import { BATCH_MAX } from '../../src/adapters/bmdb/port.ts';
import type { NewBatch, NewRequest, RequestTarget } from '../../src/adapters/bmdb/port.ts';
import { BatchRefused } from '../../src/domain/errors.ts';
import { refusedWith, SIGNAL, UNKNOWN } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { MINUTE } from './bmdb-rows.ts';
import { requestFor, targetOf } from './requests-of.ts';

export function requestBatchesContract(s: BmdbStage): void {
  const targets = (count: number): Promise<RequestTarget[]> =>
    Promise.all(Array.from({ length: count }, async () => targetOf(await s.read(await s.add()))));
  const reboot = (key: string, target: RequestTarget, change: Partial<NewRequest> = {}) =>
    requestFor({ verb: 'reboot', target, force: false }, { key, ...change });
  const batchOf = (key: string, requests: readonly NewRequest[], digest = 'one'): NewBatch => ({
    key,
    digest,
    requests,
  });
  const all = () => s.h.other.requests.list({ limit: 1_000 }, SIGNAL);
  const refusalsOf = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(BatchRefused);
    return (error as BatchRefused).refusals.map(({ key, cause }) => `${key} ${cause.code}`);
  };

  describe('a batch of requests', () => {
    it('is submitted as a whole with who, why and how many', async () => {
      const [a, b] = (await targets(2)) as [RequestTarget, RequestTarget];
      const standing = { role: 'admin', proven: true };
      const submitted = await s.h.bmdb.requests.submitBatch(
        batchOf('monday', [
          reboot('monday/b', b, { standing }),
          reboot('monday/a', a, { standing }),
        ]),
      );
      expect(submitted.head).toMatchObject({
        ...{ key: 'monday', batch: 'monday', verb: 'reboot', by: 'ann', ...standing },
        ...{ state: 'done', outcome: '2 requests were submitted', machineId: null, slotId: null },
      });
      expect(submitted.requests).toMatchObject([
        { key: 'monday/a', batch: 'monday', state: 'open', machineId: a.machineId, ...standing },
        { key: 'monday/b', batch: 'monday', state: 'open', machineId: b.machineId, ...standing },
      ]);
      expect(await s.h.other.requests.readBatch('monday', SIGNAL)).toEqual(submitted);
      const { requests } = await s.scan();
      expect(requests.map(({ key }) => key).toSorted()).toEqual(['monday/a', 'monday/b']);
    });

    it('reports its progress as its requests are applied', async () => {
      const [target] = (await targets(1)) as [RequestTarget];
      const hold = requestFor(
        { verb: 'hold', kind: 'preserve', untilMs: null, target },
        { key: 'k/1' },
      );
      await s.h.bmdb.requests.submitBatch(batchOf('k', [hold]));
      await s.session.applyRequest('k/1');
      const batch = await s.h.other.requests.readBatch('k', SIGNAL);
      expect(batch?.requests).toMatchObject([{ key: 'k/1', state: 'done' }]);
      expect(await s.session.applyRequest('k')).toMatchObject({ key: 'k', state: 'done' });
    });

    it('is not found under the key of something else', async () => {
      const [target] = (await targets(1)) as [RequestTarget];
      await s.h.bmdb.requests.submit(reboot('one', target));
      const read = (key: string) => s.h.other.requests.readBatch(key, SIGNAL);
      expect(await Promise.all(['one', 'none', 'a\0b'].map(read))).toEqual([null, null, null]);
    });

    it('is submitted once per key, whatever happened to its machines meanwhile', async () => {
      const [a, b] = (await targets(2)) as [RequestTarget, RequestTarget];
      const first = await s.h.bmdb.requests.submitBatch(batchOf('k', [reboot('k/a', a)]));
      const again = await s.h.other.requests.submitBatch(batchOf('k', [reboot('k/b', b)]));
      expect(again).toEqual(first);
      expect(await all()).toHaveLength(2);
    });

    it('is refused under a key that was used for something else', async () => {
      const [a, b] = (await targets(2)) as [RequestTarget, RequestTarget];
      await s.h.bmdb.requests.submitBatch(batchOf('k', [reboot('k/a', a)]));
      const others: NewBatch[] = [
        batchOf('k', [reboot('k/a', a)], 'another'),
        batchOf('k', [reboot('k/a', a, { by: 'bob' })]),
        batchOf('l', [reboot('k/a', a)]),
        batchOf('k/a', [reboot('k/a/b', b)]),
      ];
      for (const other of others) {
        expect(await refusedWith(s.h.bmdb.requests.submitBatch(other))).toBe('usage');
      }
      expect(await refusedWith(s.h.bmdb.requests.submit(reboot('k', b)))).toBe('usage');
      expect(await refusedWith(s.h.bmdb.requests.submit(reboot('k/a', a)))).toBe('usage');
      expect(await all()).toHaveLength(2);
    });

    it('is refused without requests, with too many, or with a repeated key', async () => {
      const [target] = (await targets(1)) as [RequestTarget];
      const one = reboot('k/a', target);
      const senseless = [
        batchOf('k', []),
        batchOf('k', [one, one]),
        batchOf('k/a', [one]),
        batchOf('', [one]),
        batchOf(
          'k',
          Array.from({ length: BATCH_MAX + 1 }, (_, at) => ({ ...one, key: `k/${at}` })),
        ),
        batchOf('k', [one, { ...reboot('k/b', target), reason: ' ' }]),
      ];
      for (const batch of senseless) {
        expect(await refusedWith(s.h.bmdb.requests.submitBatch(batch))).toBe('usage');
      }
      expect(await all()).toEqual([]);
    });

    it('is not submitted at all when one machine cannot be asked, and names that machine', async () => {
      const [a, b, c] = (await targets(3)) as [RequestTarget, RequestTarget, RequestTarget];
      await s.h.bmdb.requests.submit(reboot('before', b));
      const refused = await refusalsOf(
        s.h.bmdb.requests.submitBatch(
          batchOf('k', [
            ...[reboot('k/a', a), reboot('k/b', b), reboot('k/c', c)],
            reboot('k/d', { ...c, machineId: UNKNOWN }),
            reboot('k/e', { ...a, slotId: 'elsewhere' }),
          ]),
        ),
      );
      expect(refused.toSorted()).toEqual([
        ...['k/b nothing-to-do', 'k/d not-found', 'k/e not-found'],
      ]);
      expect(await all()).toMatchObject([{ key: 'before' }]);
      expect((await s.read(a.machineId!)).order).toBeNull();
    });

    it('replaces orders that have expired', async () => {
      const [a] = (await targets(1)) as [RequestTarget];
      await s.h.bmdb.requests.submit(reboot('old', a, { validForMs: MINUTE }));
      await s.h.pass(2 * MINUTE);
      await s.h.bmdb.requests.submitBatch(batchOf('k', [reboot('k/a', a)]));
      const [old] = await s.h.other.requests.read(['old'], SIGNAL);
      expect(old).toMatchObject({ state: 'refused' });
      expect((await s.read(a.machineId!)).order).toMatchObject({ key: 'k/a' });
    });
  });

  describe('the list of requests', () => {
    it('filters by verb, requester, machine, state and time, page by page', async () => {
      const [a, b] = (await targets(2)) as [RequestTarget, RequestTarget];
      const list = async (query: object) => {
        const found = await s.h.other.requests.list({ limit: 10, ...query }, SIGNAL);
        return found.map(({ key }) => key);
      };
      await s.h.bmdb.requests.submit(reboot('1', a));
      await s.h.pass(1_000);
      await s.submit({ verb: 'clear-backoff', target: b }, { key: '2', by: 'bob' });
      await s.session.applyRequest('2');
      await s.h.pass(1_000);
      await s.h.bmdb.requests.submitBatch(batchOf('3', [reboot('3/b', b)]));
      expect(await list({ verb: 'clear-backoff' })).toEqual(['2']);
      expect(await list({ by: 'ann' })).toEqual(['3/b', '3', '1']);
      expect(await list({ machineId: b.machineId! })).toEqual(['3/b', '2']);
      expect(await list({ state: 'open' })).toEqual(['3/b', '1']);
      const [second] = await s.h.other.requests.read(['2'], SIGNAL);
      const atMs = second!.createdAtMs;
      expect(await list({ sinceMs: atMs })).toEqual(['3/b', '3', '2']);
      expect(await list({ untilMs: atMs })).toEqual(['1']);
      expect(await list({ sinceMs: atMs, untilMs: atMs + 1 })).toEqual(['2']);
      expect(await list({ limit: 2 })).toEqual(['3/b', '3']);
      expect(await list({ limit: 2, after: '3' })).toEqual(['2', '1']);
      expect(await list({ after: '1' })).toEqual([]);
      expect(await list({ after: 'no such key' })).toEqual([]);
      expect(await list({ after: 'a\0b' })).toEqual([]);
    });

    it('marks names of requesters that nobody verified', async () => {
      const [a] = (await targets(1)) as [RequestTarget];
      expect(await s.h.bmdb.requests.submit(reboot('1', a))).toMatchObject({
        ...{ role: null, proven: false, batch: null },
      });
    });
  });
}
