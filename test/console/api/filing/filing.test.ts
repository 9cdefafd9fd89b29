import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AmbiguousCommit, Unreachable } from '../../../../src/domain/errors.ts';
import { filingStand, person, SIGNAL, slotName, type FilingStand } from './filing-stand.ts';
import { idOf } from '../../../commands/machine-stand.ts';

let s: FilingStand;
beforeEach(async () => {
  s = await filingStand();
});
afterEach(() => s.close());

const reason = 'it hangs';
const reboot = (...at: number[]) => ({ verb: 'reboot', slots: at.map(slotName), reason });
const hold = { verb: 'hold', kind: 'no-recover', reason };
const inQuarantine = {
  quarantine: { kind: 'needsHuman', reason: 'the ladder has ended', untilMs: null },
} as const;

async function fleetOf(count: number, change: Parameters<FilingStand['add']>[1] = {}) {
  for (let at = 1; at <= count; at++) s.add(at, change);
  await s.look();
}

describe('one machine', () => {
  test('is asked once, under the key, with who, by which right, and where to look', async () => {
    await fleetOf(1);
    const filed = await s.ask(reboot(1), { key: 'one two' });
    expect(filed).toMatchObject({
      status: 202,
      headers: { location: '/api/v1/requests/one%20two' },
    });
    expect(filed.body).toMatchObject({
      ...{ key: 'one two', verb: 'reboot', slot: slotName(1), machineId: idOf(1), state: 'open' },
      ...{ by: 'token:ann', role: 'admin', proven: true, reason, batch: null },
    });
    expect((await s.get('requests/one%20two')).body).toEqual(filed.body);
    expect((await s.get('requests/none')).status).toBe(404);
  });

  test('is waited for as long as the caller likes, and then 200 says that it is settled', async () => {
    await fleetOf(2);
    await s.daemon();
    const body = { ...hold, slots: [idOf(1)] };
    const waited = await s.ask(body, { prefer: 'wait=30' });
    expect(waited).toMatchObject({ status: 200, body: { state: 'done' } });
    expect(waited.body['outcome']).toMatch(/^no-recover holds until it is taken away/);
    const open = await s.ask(reboot(2), { prefer: 'respond-async, wait=2' });
    expect(open).toMatchObject({ status: 202, body: { state: 'open' } });
  });

  test('V24: that changed meanwhile is told as it is now, and nothing is filed', async () => {
    await fleetOf(1);
    const seen = '"as it was"';
    const changed = await s.ask(reboot(1), { seen });
    expect(changed).toMatchObject({
      status: 412,
      body: {
        code: 'changed',
        detail: 'It is Running · healthy now, and not as you saw it',
        current: { slot: slotName(1), state: 'Running', substate: 'healthy' },
      },
    });
    expect(await s.keys()).toEqual([]);
    const { etag } = changed.body['current'] as { etag: string };
    expect((await s.ask(reboot(1), { seen: etag })).status).toBe(202);
    await s.look();
    const ordered = await s.ask({ ...hold, slots: [slotName(1)] }, { seen: etag });
    expect(ordered.status, 'its order is another thing that may have been seen').toBe(412);
  });

  test('is refused where an order is open already, which is named', async () => {
    await fleetOf(1);
    await s.ask(reboot(1));
    const second = await s.ask(reboot(1));
    expect(second).toMatchObject({ status: 422, body: { code: 'refused' } });
    expect(second.body['detail']).toContain('reboot by token:ann: it hangs');
  });

  test.each([
    ['no machine there', { slots: ['metal/none'] }, 404],
    ['no name', { slots: ['none'] }, 400],
    ['nothing named', {}, 400],
    ['two ways', { slots: [slotName(1)], selector: { all: true }, expectCount: 1 }, 400],
    ['another count', { slots: [slotName(1)], expectCount: 2 }, 412],
    ['no such state', { selector: { states: ['Runing'] }, expectCount: 1 }, 400],
    ['no machine so', { selector: { states: ['Reserved'] }, expectCount: 1 }, 400],
    ['an unknown part', { slots: [slotName(1)], colour: 'red' }, 400],
  ])('%s: nothing is filed', async (_what, which, status) => {
    await fleetOf(1);
    const refused = await s.ask({ verb: 'reboot', reason, ...which });
    expect(refused.status).toBe(status);
    expect(await s.keys()).toEqual([]);
  });

  test('an end that is past is a mistake', async () => {
    await fleetOf(1);
    const past = { ...hold, slots: [slotName(1)], untilMs: s.clock.now() - 1 };
    expect(await s.ask(past)).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '#/body/untilMs', detail: 'it is past already' }] },
    });
  });

  test('an order is taken back by asking to withdraw it', async () => {
    await fleetOf(1);
    await s.daemon();
    await s.ask(reboot(1), { key: 'one' });
    expect(await s.remove('requests/one')).toMatchObject({
      status: 202,
      headers: { location: '/api/v1/requests/one%2Fwithdraw' },
      body: { verb: 'withdraw', by: 'token:ann' },
    });
    const [one] = await s.bmdb.requests.read(['one'], SIGNAL);
    expect(one).toMatchObject({ state: 'refused', outcome: expect.stringContaining('withdrew') });
    await s.look();
    await s.ask(reboot(1), { key: 'two' });
    const late = { verb: 'withdraw', order: 'one', slots: [slotName(1)], reason };
    expect(await s.ask(late, { prefer: 'wait=10' })).toMatchObject({
      body: { outcome: 'that order does not wait any more' },
    });
    expect((await s.bmdb.requests.read(['two'], SIGNAL))[0]).toMatchObject({ state: 'open' });
    expect((await s.remove('requests/one')).status).toBe(422);
    expect((await s.remove('requests/none')).status).toBe(404);
  });
});

describe('a key', () => {
  test('V39: used again for the same is the same, for other content 422', async () => {
    await fleetOf(2);
    const first = await s.ask(reboot(1), { key: 'k' });
    const again = await s.ask(reboot(1), { key: '"k"' });
    expect([again.status, again.headers.location]).toEqual([202, first.headers.location]);
    for (const other of [
      reboot(2),
      { ...reboot(1), force: true },
      { ...hold, slots: [slotName(1)] },
    ]) {
      expect(await s.ask(other, { key: 'k' })).toMatchObject({
        status: 422,
        body: { code: 'key-reused' },
      });
    }
    s.asker = person({ name: 'token:bob' });
    expect((await s.ask(reboot(1), { key: 'k' })).status).toBe(422);
    expect(await s.keys()).toEqual(['k']);
  });

  test('V39: two at once file one, and the other is told that it is being filed', async () => {
    await fleetOf(3);
    for (const body of [reboot(1), { ...reboot(2, 3), expectCount: 2 }]) {
      const key = `${body.slots.length}`;
      const both = await Promise.all([s.ask(body, { key }), s.ask(body, { key })]);
      expect(both.map(({ status }) => status).toSorted()).toEqual([202, 409]);
      expect((await s.ask(body, { key })).status).toBe(202);
    }
    expect((await s.keys()).toSorted()).toEqual([
      ...['1', '2', `2/${slotName(2)}`, `2/${slotName(3)}`],
    ]);
  });

  test('asked again answers for the machine of then, also when it has gone', async () => {
    await fleetOf(1);
    await s.ask(reboot(1), { key: 'k' });
    s.bmdb.tables.machines.delete(idOf(1));
    await s.look();
    expect(await s.ask(reboot(1), { key: 'k' })).toMatchObject({
      ...{ status: 202, body: { key: 'k', machineId: idOf(1) } },
    });
  });

  test('is demanded', async () => {
    await fleetOf(1);
    const bare = await s.app.inject({
      method: 'POST',
      url: '/api/v1/requests',
      payload: reboot(1),
    });
    expect(bare.statusCode).toBe(400);
    expect(bare.body).toContain('idempotency-key');
  });
});

describe('the database is away', () => {
  test.each([
    ['V12: before', new Unreachable('the database does not answer')],
    ['V12: while it commits', new AmbiguousCommit('lost the connection')],
  ])('%s: 503, and nothing twice after', async (_when, error) => {
    await fleetOf(2);
    s.breakFiling(error);
    const bodies = [reboot(1), { ...hold, slots: [slotName(1), slotName(2)], expectCount: 2 }];
    for (const [at, body] of bodies.entries()) {
      const away = await s.ask(body, { key: `k${at}` });
      expect(away).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(away.headers['retry-after']).toBe('5');
    }
    expect((await s.get('requests')).status).toBe(503);
    s.breakFiling(null);
    for (const [at, body] of bodies.entries()) {
      for (const _ of [1, 2]) expect((await s.ask(body, { key: `k${at}` })).status).toBe(202);
    }
    expect(await s.keys()).toHaveLength(4);
  });
});

describe('several machines', () => {
  test('are a batch, which tells how it stands', async () => {
    await fleetOf(3);
    await s.daemon();
    const body = { ...hold, selector: { provider: 'metal' }, expectCount: 3 };
    const filed = await s.ask(body, { key: 'monday', prefer: 'wait=10' });
    expect(filed).toMatchObject({ status: 200, headers: { location: '/api/v1/batches/monday' } });
    expect(filed.body).toMatchObject({
      ...{ key: 'monday', verb: 'hold', by: 'token:ann', proven: true },
      ...{ counts: { open: 0, done: 3, refused: 0 }, refusals: [] },
    });
    expect((await s.get('batches/monday')).body).toEqual(filed.body);
    expect((await s.get('batches/none')).status).toBe(404);
    expect(await s.keys()).toContain(`monday/${slotName(2)}`);
  });

  test('asked again with one key are those of then, whatever matches by now', async () => {
    await fleetOf(2);
    const body = { ...hold, selector: { states: ['Running'] }, expectCount: 2 };
    const first = await s.ask(body, { key: 'k' });
    s.add(3);
    await s.look();
    expect((await s.ask(body, { key: 'k' })).body).toEqual(first.body);
    expect((await s.ask({ ...body, reason: 'another' }, { key: 'k' })).status).toBe(422);
    s.asker = person({ name: 'token:bob' });
    expect((await s.ask(body, { key: 'k' })).status).toBe(422);
  });

  test('V25: 300 of 5,000: what stands in the way is told by reason; one more matches: nothing', async () => {
    for (let at = 1; at <= 5_000; at++) s.add(at, at <= 300 ? inQuarantine : {});
    s.add(1, { ...inQuarantine, work: [] });
    await s.look();
    const body = {
      ...{ verb: 'reboot', reason },
      ...{ selector: { states: ['Quarantined/needsHuman'] }, expectCount: 300 },
    };
    const preview = await s.ask(body, { dryRun: true });
    expect(preview).toMatchObject({
      status: 200,
      body: { dryRun: true, count: 300, would: 'be rebooted by its provider', lost: null },
    });
    expect(preview.body['refusals']).toMatchObject([
      { count: 300, reason: expect.stringContaining('release it first') },
    ]);
    expect(preview.body['machines']).toHaveLength(300);
    expect(await s.keys()).toEqual([]);
    s.add(301, inQuarantine);
    await s.look();
    const more = await s.ask(body, { key: 'bulk' });
    expect(more).toMatchObject({
      status: 412,
      body: {
        ...{ code: 'changed', current: { count: 301 } },
        detail: '301 machines are meant, not 300 as expectCount says; nothing was done',
      },
    });
    expect(await s.keys()).toEqual([]);
    const filed = await s.ask({ ...body, expectCount: 301 }, { key: 'bulk' });
    expect(filed).toMatchObject({ status: 202, body: { counts: { open: 301 } } });
    const session = await s.daemon();
    for (const key of await s.keys()) await session.settle(key);
    const { body: settled } = await s.get('batches/bulk');
    expect(settled).toMatchObject({
      counts: { open: 0, refused: 301 },
      refusals: [{ count: 301, reason: expect.stringContaining('release it first') }],
    });
  });

  test('of which one cannot be asked are not asked at all, and it is named with its reason', async () => {
    await fleetOf(3);
    await s.ask(reboot(2));
    const refused = await s.ask({ ...reboot(1, 2, 3), expectCount: 3 }, { key: 'k' });
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'refused', refusals: [{ count: 1, slots: [`k/${slotName(2)}`] }] },
    });
    expect(await s.keys()).toHaveLength(1);
  });

  test('want their number', async () => {
    await fleetOf(3);
    const uncounted = await s.ask(reboot(1, 2));
    expect(uncounted).toMatchObject({ status: 400, body: { code: 'malformed' } });
    expect(uncounted.body['detail']).toContain('confirm with expectCount 2');
    const seen = await s.ask({ ...reboot(1, 2), expectCount: 2 }, { seen: '"a"' });
    expect(seen.status).toBe(400);
  });
});

describe('a preview', () => {
  test('says what would become of it, what is lost, and what is waited for; and files nothing', async () => {
    await fleetOf(2);
    await s.daemon();
    await s.ask({ verb: 'freeze', reason: 'works on the switches' }, { prefer: 'wait=10' });
    await s.look();
    const held = await s.ask({ ...hold, slots: [slotName(1)] }, { dryRun: true });
    expect(held.body).toMatchObject({
      ...{ count: 1, isDestroying: false },
      outcomes: [{ count: 1, reason: 'no-recover holds until it is taken away' }],
    });
    const frozen = await s.ask(reboot(1, 2), { dryRun: true });
    expect(frozen.body['waits']).toMatchObject([
      { count: 2, reason: 'recovery of the fleet is frozen by token:ann: works on the switches' },
    ]);
    await s.ask(reboot(2), { key: 'ordered' });
    await s.look();
    const second = await s.ask(reboot(1, 2), { dryRun: true });
    expect(second.body['refusals']).toMatchObject([
      { count: 1, slots: [slotName(2)], reason: expect.stringContaining('reboot by token:ann') },
    ]);
    const gone = await s.ask(
      { verb: 'deprovision', slots: [slotName(1)], reason },
      { dryRun: true },
    );
    expect(gone.body).toMatchObject({
      lost: expect.stringMatching(/^the device is deleted; .* --kind no-allocate$/),
      isDestroying: true,
    });
    const returned = await s.ask(
      { verb: 'deprovision', returnToPool: true, slots: [slotName(1)], reason },
      { dryRun: true },
    );
    expect(returned.body['lost']).toBe(
      'the device is deleted; Shepherd may use its slot again at once',
    );
    const thaw = await s.ask({ verb: 'thaw', reason }, { dryRun: true });
    expect(thaw.body['outcomes']).toMatchObject([
      { reason: expect.stringMatching(/^thawed; it was/) },
    ]);
    expect(await s.keys()).toEqual(['key-0', 'ordered']);
  });
});

describe('the audit', () => {
  test('is what was asked, newest first, by any of its parts, page by page and as NDJSON', async () => {
    await fleetOf(2);
    for (const at of [1, 2]) {
      await s.ask(reboot(at), { key: `k${at}` });
      s.clock.increment(1_000);
    }
    s.asker = person({ name: 'db:bob@host', proven: false });
    await s.ask({ ...hold, slots: [slotName(1)] }, { key: 'k3' });
    const keysOf = async (query: string) => {
      const { body } = await s.get(`requests?${query}`);
      return (body['requests'] as { key: string }[]).map(({ key }) => key);
    };
    expect(await keysOf('')).toEqual(['k3', 'k2', 'k1']);
    expect(await keysOf('verb=reboot')).toEqual(['k2', 'k1']);
    expect(await keysOf(`slot=${encodeURIComponent(slotName(1))}`)).toEqual(['k3', 'k1']);
    expect(await keysOf('by=db:bob@host')).toEqual(['k3']);
    const { body } = await s.get('requests?limit=2');
    expect(body).toMatchObject({ next: 'k2', requests: [{ proven: false }, { proven: true }] });
    expect(await keysOf(`limit=2&after=${String(body['next'])}`)).toEqual(['k1']);
    const lines = await s.get('requests', { accept: 'application/x-ndjson' });
    expect(lines.headers['content-type']).toBe('application/x-ndjson');
    expect(lines.text.trim().split('\n')).toHaveLength(3);
    const since = s.clock.now();
    expect(await keysOf(`since=${since - 1_500}`)).toEqual(['k3', 'k2']);
    expect(await keysOf(`until=${since - 1_500}`)).toEqual(['k1']);
    expect((await s.get('requests?colour=red')).status).toBe(400);
  });

  test('goes into a file whole, however long it is, and as it is filtered', async () => {
    await fleetOf(1);
    await s.ask({ ...hold, slots: [slotName(1)] }, { key: 'k1' });
    const [first] = await s.bmdb.requests.list({ limit: 1 }, SIGNAL);
    const many = Array.from({ length: 2_300 }, (_, at) => ({
      ...first!,
      ...{ key: `m${String(at).padStart(4, '0')}`, by: at === 7 ? 'db:bob@host' : 'token:ann' },
    }));
    for (const each of many) {
      s.bmdb.tables.requests.set(each.key, { ...s.bmdb.tables.requests.get('k1')!, ...each });
    }
    const file = await s.get('requests?format=ndjson&limit=3');
    expect(file.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'content-disposition': 'attachment; filename="requests.ndjson"',
    });
    const keys = file.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { key: string }).key);
    expect(keys).toEqual(
      many
        .map(({ key }) => key)
        .toReversed()
        .concat('k1'),
    );
    const his = await s.get('requests?format=ndjson&by=db:bob@host');
    expect(JSON.parse(his.text)).toMatchObject({ key: 'm0007' });
    expect((await s.get('requests?format=ndjson&by=db:eve@host')).text).toBe('');
    s.breakFiling(new Unreachable('away'));
    expect((await s.get('requests?format=ndjson')).status).toBe(503);
  });
});
