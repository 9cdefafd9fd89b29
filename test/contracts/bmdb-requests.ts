import { describe, expect, it } from 'vitest';
import type { NewRequest, RequestedThing } from '../../src/adapters/bmdb/port.ts';
import type { InstallImage } from '../../src/domain/verbs.ts';
import { providerName } from '../../src/domain/ids.ts';
import { MINUTE, PROVIDER } from './bmdb-rows.ts';
import { DAY, refusedWith, SIGNAL, UNKNOWN } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';

const HOUR = 60 * MINUTE;
const OTHER_SLOT = { provider: PROVIDER, slotId: 'elsewhere' };

export function requestsContract(s: BmdbStage): void {
  const submit = (request: NewRequest) => s.h.bmdb.requests.submit(request);
  const list = (query: { provider?: typeof PROVIDER; slotId?: string; limit?: number } = {}) =>
    s.h.other.requests.list({ limit: 10, ...query }, SIGNAL);
  const keysOf = (states: readonly { readonly key: string }[]) => states.map(({ key }) => key);
  const hold: RequestedThing = {
    verb: 'hold',
    kind: 'no-start',
    untilMs: null,
    target: { ...OTHER_SLOT, machineId: null },
  };

  describe('a request of an operator', () => {
    it('is committed with who, why, for what and until when', async () => {
      const id = await s.add();
      const target = await s.target(id);
      const submitted = await submit(
        requestFor({ verb: 'reboot', target, force: true }, { key: 'one', reason: 'it hangs' }),
      );
      expect(submitted).toMatchObject({
        key: 'one',
        verb: 'reboot',
        by: 'ann',
        reason: 'it hangs',
        machineId: id,
        provider: target.provider,
        slotId: target.slotId,
        state: 'open',
        outcome: null,
        settledAtMs: null,
      });
      expect(Math.abs(submitted.createdAtMs - (await s.now()))).toBeLessThan(MINUTE);
      expect(submitted.expiresAtMs - submitted.createdAtMs).toBe(HOUR);
      const longer = requestFor(hold, { validForMs: 90 * DAY });
      const { expiresAtMs, createdAtMs } = await submit(longer);
      expect(expiresAtMs - createdAtMs).toBe(90 * DAY);
    });

    it('is read by every daemon while it is open, oldest first', async () => {
      const id = await s.add();
      const target = await s.target(id);
      const first = await submit(requestFor(hold, { key: 'b' }));
      await s.h.pass(1_000);
      await submit(requestFor({ verb: 'quarantine', target, untilMs: null }, { key: 'a' }));
      await s.h.pass(1_000);
      await submit(requestFor({ verb: 'freeze', scope: 'fleet' }, { key: 'c' }));
      await submit(requestFor({ verb: 'thaw', scope: PROVIDER }, { key: 'd' }));
      const { requests } = await s.scan();
      expect(keysOf(requests)).toEqual(['b', 'a', 'c', 'd']);
      expect(requests[0]).toMatchObject({ verb: 'hold', machineId: null, slotId: 'elsewhere' });
      expect(requests[0]!.expiresAtMs - requests[0]!.createdAtMs).toBe(HOUR);
      expect(requests[2]).toMatchObject({ provider: null, slotId: null, machineId: null });
      expect(requests[3]).toMatchObject({ provider: PROVIDER, slotId: null, machineId: null });
      await s.session.applyRequest(first.key);
      expect(keysOf((await s.scan()).requests)).toEqual(['a', 'c', 'd']);
    });

    it('reaches the readers of changes together with its machine', async () => {
      const id = await s.add();
      const { cursor } = await s.scan();
      const reboot = { verb: 'reboot', target: await s.target(id), force: false } as const;
      await submit(requestFor(reboot, { key: 'one' }));
      const changes = await s.h.other.changesSince(cursor!, SIGNAL);
      expect(keysOf(changes!.requests)).toEqual(['one']);
      expect(changes!.machines).toMatchObject([{ machineId: id, order: { key: 'one' } }]);
    });

    it('is made once per key, however often and by whomever', async () => {
      const target = await s.target(await s.add());
      const request = requestFor({ verb: 'reboot', target, force: false }, { key: 'one' });
      const first = await submit(request);
      await s.h.pass(1_000);
      const [again, beside] = await Promise.all([
        submit({ ...request, validForMs: 2 * HOUR }),
        s.h.other.requests.submit(request),
      ]);
      for (const state of [again, beside]) {
        const { createdAtMs, expiresAtMs, ...rest } = state;
        expect({ ...rest, lastsMs: expiresAtMs - createdAtMs }).toEqual({
          key: 'one',
          verb: 'reboot',
          by: 'ann',
          reason: 'no longer needed',
          ...target,
          state: 'open',
          outcome: null,
          settledAtMs: null,
          ...{ batch: null, role: null, proven: false },
          lastsMs: HOUR,
        });
      }
      expect(await list()).toHaveLength(1);
      expect(first.key).toBe('one');
    });

    it('returns its outcome when it is made again', async () => {
      const request = requestFor(hold);
      await submit(request);
      const settled = await s.session.applyRequest(request.key);
      expect(settled).toMatchObject({ state: 'done' });
      expect(await submit(request)).toEqual(settled);
    });

    it('returns its state while its machine exists and afterwards', async () => {
      const id = await s.add();
      const target = await s.target(id);
      await submit(requestFor({ verb: 'clear-backoff', target }, { key: 'one' }));
      await s.h.remove(id);
      const read = (...keys: string[]) => s.h.other.requests.read(keys, SIGNAL);
      expect(await read('one')).toMatchObject([{ key: 'one', state: 'open', machineId: id }]);
      await s.session.applyRequest('one');
      const states = await read('one', 'no such key', 'a key\0that cannot be');
      expect(states).toMatchObject([{ key: 'one', state: 'refused' }]);
      expect(await read()).toEqual([]);
    });

    it('is listed newest first, also after it was applied', async () => {
      const one = await s.target(await s.add());
      const two = await s.target(await s.add());
      const asked: [string, RequestedThing][] = [
        ['1', { verb: 'reboot', target: one, force: false }],
        ['2', { verb: 'deprovision', target: two }],
        ['3', { verb: 'hold', target: one, kind: 'preserve', untilMs: null }],
        ['4', { verb: 'freeze', scope: 'fleet' }],
        ['5', { verb: 'freeze', scope: providerName('other') }],
      ];
      for (const [key, what] of asked) {
        await submit(requestFor(what, { key }));
        await s.h.pass(1_000);
      }
      await s.session.applyRequest('3');
      expect(keysOf(await list())).toEqual(['5', '4', '3', '2', '1']);
      expect(keysOf(await list({ limit: 2 }))).toEqual(['5', '4']);
      expect(keysOf(await list({ provider: PROVIDER }))).toEqual(['3', '2', '1']);
      const { provider, slotId } = one;
      expect(keysOf(await list({ provider, slotId }))).toEqual(['3', '1']);
      expect(keysOf(await list({ provider, slotId, limit: 1 }))).toEqual(['3']);
      expect(keysOf(await list({ slotId }))).toEqual(['3', '1']);
      expect(await list({ provider, slotId: 'nowhere' })).toEqual([]);
      expect((await list()).map(({ state }) => state)).toEqual([
        ...['open', 'open', 'done', 'open', 'open'],
      ]);
    });

    it('stores plain texts', async () => {
      const reason = `a\0b${'x'.repeat(3_000)}`;
      const submitted = await submit(requestFor(hold, { by: 'ann\ud800', reason }));
      expect(submitted.by).toBe('ann\ufffd');
      expect(submitted.reason).toHaveLength(2_000);
      expect(submitted.reason).toMatch(/^a\ufffdbx/);
    });
  });

  describe('a request with impossible values', () => {
    const slot = (slotId: string, provider = PROVIDER): RequestedThing => ({
      verb: 'unhold',
      kind: 'preserve',
      target: { provider, slotId, machineId: null },
    });
    const image: InstallImage = {
      url: 'https://images.test/a.img',
      sha256: 'ab'.repeat(32),
      compression: 'gzip',
      rootDevice: { name: 'vda' },
    };
    const install = (change: object): RequestedThing => ({
      verb: 'install',
      target: { ...OTHER_SLOT, machineId: UNKNOWN },
      image: { ...image, ...change },
    });
    const about = (verb: RequestedThing['verb']) =>
      ({ verb, target: { ...OTHER_SLOT, machineId: null } }) as RequestedThing;
    const senseless: [string, NewRequest][] = [
      ['no key', requestFor(hold, { key: '' })],
      ['a long key', requestFor(hold, { key: 'k'.repeat(201) })],
      ['a key of two lines', requestFor(hold, { key: 'a\nb' })],
      ['a key with NUL', requestFor(hold, { key: 'a\0b' })],
      ['a key with half a character', requestFor(hold, { key: 'a\ud800' })],
      ['nobody', requestFor(hold, { by: ' ' })],
      ['no reason', requestFor(hold, { reason: '\n' })],
      ['valid for no time', requestFor(hold, { validForMs: 0 })],
      ['valid for less than no time', requestFor(hold, { validForMs: -1 })],
      ['valid for too long', requestFor(hold, { validForMs: 90 * DAY + 1 })],
      ['valid for no number', requestFor(hold, { validForMs: Number.NaN })],
      ['a slot without a name', requestFor(slot(''))],
      ['a slot with NUL', requestFor(slot('a\0b'))],
      ['a slot with a long name', requestFor(slot('s'.repeat(129)))],
      ['a strange provider', requestFor(slot('s', providerName('No Provider')))],
      ['a strange scope', requestFor({ verb: 'freeze', scope: providerName('x y') })],
      ['a strange hold', requestFor({ ...hold, kind: 'no-sleep' } as never)],
      ['an end that is no time', requestFor({ ...hold, untilMs: Number.NaN })],
      ['an end beyond all dates', requestFor({ ...hold, untilMs: 1e17 })],
      ...(
        ['reboot', 'reinstall', 'quarantine', 'release', 'deprovision', 'clear-backoff'] as const
      ).map((verb): [string, NewRequest] => [`${verb} of no machine`, requestFor(about(verb))]),
      ['install of no file', requestFor(install({ url: 'file:///etc/passwd' }))],
      ['install of a strange address', requestFor(install({ url: 'https://a/\ud800' }))],
      ['install without a sum', requestFor(install({ sha256: '' }))],
      ['install with a sum in capitals', requestFor(install({ sha256: 'AB'.repeat(32) }))],
      ['install with a strange packing', requestFor(install({ compression: 'rar' }))],
      ['install onto no disk', requestFor(install({ rootDevice: { serial: '' } }))],
      ['install onto a path', requestFor(install({ rootDevice: { name: '../sda' } }))],
      ['install onto a strange WWN', requestFor(install({ rootDevice: { wwn: 'xyz' } }))],
      ['install onto two disks', requestFor(install({ rootDevice: { name: 'vda', serial: 'S' } }))],
    ];

    it.each(senseless)('%s', async (_, request) => {
      expect(await refusedWith(submit(request))).toBe('usage');
      expect(await list()).toEqual([]);
    });

    it('accepts a key of 200 characters and a slot of 128', async () => {
      const key = '\u{1f680} '.repeat(100);
      expect((await submit(requestFor(slot('s'.repeat(128)), { key }))).key).toBe(key);
      expect(await s.session.applyRequest(key)).toMatchObject({ key, state: 'done' });
    });
  });

  describe('a used key', () => {
    it('cannot stand for another request', async () => {
      const target = await s.target(await s.add());
      const other = await s.target(await s.add());
      const reboot: RequestedThing = { verb: 'reboot', target, force: false };
      const request = requestFor(reboot, { key: 'one' });
      await submit(request);
      const changes: Partial<NewRequest>[] = [
        { what: { ...reboot, force: true } },
        { what: { ...reboot, target: other } },
        { what: { verb: 'restart-agent', target } },
        { what: { verb: 'freeze', scope: 'fleet' } },
        { by: 'bob' },
        { reason: 'another one' },
      ];
      for (const change of changes) {
        expect(await refusedWith(submit({ ...request, ...change }))).toBe('usage');
      }
      await s.session.close();
      expect(await list()).toHaveLength(1);
    });
  });

  describe('a request about a machine', () => {
    it('is refused when the machine does not exist or has moved', async () => {
      const target = await s.target(await s.add());
      const release = (change: object) =>
        submit(
          requestFor({ verb: 'release', target: { ...target, ...change }, forgetHostKey: false }),
        );
      expect(await refusedWith(release({ machineId: UNKNOWN }))).toBe('not-found');
      expect(await refusedWith(release({ machineId: 'no-machine' }))).toBe('not-found');
      expect(await refusedWith(release({ slotId: 'elsewhere' }))).toBe('not-found');
      expect(await refusedWith(release({ provider: 'other' }))).toBe('not-found');
      expect(await list()).toEqual([]);
    });
  });
}
