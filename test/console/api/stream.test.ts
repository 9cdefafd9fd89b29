import { expect, test } from 'vitest';
import { slot } from '../../../src/domain/ids.ts';
import { AT_MS, machine, scriptedFleet, WATCHING } from '../scripted-fleet.ts';
import { openConsole } from './console-stand.ts';
import { readStream } from './stream-reader.ts';
import { testRows } from '../../support/rows.ts';

const QUICK = { batchMs: 5, tickMs: 20, heardMs: 20 };
const NAMES = ['a', 'b', 'c', 'd'];
const at = (id: string) => slot('equinix', id);

async function stand(limits: object = QUICK) {
  const fleet = scriptedFleet(...NAMES.map((id) => machine(id)));
  const shown = await openConsole({ fleet, streamLimits: limits });
  const open = (query: string, last?: string) =>
    readStream(`${shown.url}api/v1/stream?${query}`, last);
  return { fleet, shown, open };
}

test('the view of the fleet: sends hello, a frame, a new frame when it changes, and ticks with an id', async () => {
  const { fleet, open } = await stand();
  const { until, ofType } = await open('view=fleet');
  await until(() => ofType('tick').length > 0);
  expect(ofType('hello')[0]!.data).toMatchObject({ protocol: 1, version: '0.0.0', resume: 'full' });
  expect(ofType('frame')[0]!.data).toMatchObject({ total: 4, counts: { Reserved: 4 } });
  expect(ofType('frame')[0]!.data).toHaveProperty('cells');
  expect(ofType('tick')[0]!.id).toMatch(/^[0-9a-z]+\.\d+$/);
  fleet.set(at('a'), { state: 'Running', substate: 'healthy' });
  await until(() => ofType('frame').length > 1);
  expect(ofType('frame')[1]!.data).toMatchObject({ counts: { Reserved: 3, Running: 1 } });
  fleet.guard({ ...WATCHING, state: 'frozen' });
  await until(() => ofType('frame').length > 2);
  expect(ofType('frame')[2]!.data).toMatchObject({ guard: { state: 'frozen' } });
});

test('a window: sends its machines in order, then only the changes in it', async () => {
  const { fleet, open } = await stand();
  const { until, ofType } = await open('view=list&sort=-slot&offset=1&limit=2');
  await until(() => ofType('rows').length > 0);
  expect(ofType('rows')[0]!.data).toMatchObject({
    total: 4,
    order: ['equinix/c', 'equinix/b'],
    upserts: [{ slot: 'equinix/c' }, { slot: 'equinix/b' }],
    removed: [],
  });
  fleet.set(at('a'), { address: '192.0.2.1' });
  fleet.set(at('b'), { address: '192.0.2.2' });
  await until(() => ofType('rows').length > 1);
  const [, second] = ofType('rows');
  expect(second!.data).toMatchObject({ upserts: [{ slot: 'equinix/b', address: '192.0.2.2' }] });
  expect(second!.data).not.toHaveProperty('order');
  fleet.set(at('c'), { lastHeartbeatAtMs: 7 });
  await until(() => ofType('rows').length > 2);
  expect(ofType('rows')[2]!.data).toMatchObject({
    ...{ upserts: [], atMs: AT_MS },
    heard: { 0: AT_MS - 7 },
  });
  fleet.put(machine('z'));
  await until(() => ofType('rows').length > 3);
  expect(ofType('rows')[3]!.data).toMatchObject({
    total: 5,
    order: ['equinix/d', 'equinix/c'],
    upserts: [{ slot: 'equinix/d' }],
    removed: ['equinix/b'],
  });
  fleet.remove(at('a'));
  await until(() => ofType('list').length > 0);
  expect(ofType('list')[0]!.data).toMatchObject({ total: 4 });
});

test('one machine: sends the whole machine at each change', async () => {
  const { fleet, open } = await stand();
  const { until, ofType } = await open('view=machine&slot=equinix%2Fb');
  await until(() => ofType('machine').length > 0);
  expect(ofType('machine')[0]!.data).toMatchObject({ slot: 'equinix/b', slotId: 'b' });
  fleet.set(at('b'), { holds: ['preserve'] });
  await until(() => ofType('machine').length > 1);
  expect(ofType('machine')[1]!.data).toMatchObject({ holds: ['preserve'] });
  fleet.remove(at('b'));
  await until(() => ofType('machine').length > 2);
  expect(ofType('machine')[2]!.data).toEqual({ slot: 'equinix/b', gone: true });
});

test('sends a missing machine as gone, and whole as soon as it exists', async () => {
  const { fleet, open } = await stand();
  const { until, ofType } = await open('view=machine&slot=equinix%2Flate');
  await until(() => ofType('machine').length > 0);
  expect(ofType('machine')[0]!.data).toEqual({ slot: 'equinix/late', gone: true });
  fleet.put(machine('late'));
  await until(() => ofType('machine').length > 1);
  expect(ofType('machine')[1]!.data).toMatchObject({ slot: 'equinix/late', slotId: 'late' });
});

test('V7: sends a returning reader what it missed, and nothing twice', async () => {
  const { fleet, open } = await stand();
  const first = await open('view=list');
  await first.until(() => first.lastId() !== null);
  first.hangUp();
  await first.ended;
  fleet.set(at('c'), { address: '192.0.2.3' });
  const second = await open('view=list', first.lastId()!);
  await second.until(() => second.ofType('rows').length > 0);
  expect(second.ofType('hello')[0]!.data).toMatchObject({ resume: 'delta' });
  expect(second.ofType('rows')[0]!.data).toMatchObject({ upserts: [{ slot: 'equinix/c' }] });
  await second.until(() => second.lastId() !== null);
  const third = await open('view=list', second.lastId()!);
  await third.until(() => third.ofType('tick').length > 0);
  expect(third.ofType('rows')).toEqual([]);
});

testRows(['nothing', 'zz.1.1', ''])(
  'V7: sends everything after an id of another start (%j)',
  async (id) => {
    const { open } = await stand();
    const { until, ofType } = await open('view=list', id);
    await until(() => ofType('rows').length > 0);
    expect(ofType('hello')[0]!.data).toMatchObject({ resume: 'full' });
    expect(ofType('rows')[0]!.data['upserts']).toHaveLength(4);
  },
);

test('V9: drops a reader that does not read, and no other', async () => {
  const { fleet, open } = await stand({
    ...QUICK,
    lagMaxBytes: 200_000,
    creditBytes: 1e9,
    creditMaxBytes: 1e9,
  });
  const [slow, quick] = [await open('view=machine&slot=equinix%2Fb'), await open('view=list')];
  await slow.until(() => slow.ofType('machine').length > 0);
  slow.response.pause();
  let closed = false;
  void slow.ended.then(() => (closed = true));
  let round = 0;
  // Reading shows whether it was dropped: for a few rounds, after longer and longer pauses, because
  // on a busy machine several changes become one message, and sockets hold many.
  let readsAt = 50;
  await slow.until(() => {
    fleet.set(at('b'), { reason: 'x'.repeat(100_000), sinceMs: (round += 1) });
    if (round === readsAt) slow.response.resume();
    if (round === readsAt + 5) {
      slow.response.pause();
      readsAt = 2 * round;
    }
    return closed;
  });
  const latest = () => quick.ofType('rows').at(-1)?.data['upserts'];
  await quick.until(() => JSON.stringify(latest()).includes(`"sinceMs":${round}`));
});

test('V11: tells every reader when the console closes', async () => {
  const { shown, open } = await stand();
  const { until, ofType, ended } = await open('view=fleet');
  await until(() => ofType('frame').length > 0);
  await shown.close();
  await ended;
  expect(ofType('bye').map(({ data }) => data)).toEqual([{ reason: 'stopping', retryMs: 1_000 }]);
});

test('ends a stream after its time, with the reason', async () => {
  const { open } = await stand({ ...QUICK, lifeMs: 30 });
  const { ended, ofType } = await open('view=fleet');
  await ended;
  expect(ofType('bye')[0]!.data).toMatchObject({ reason: 'renew' });
});

test('refuses too many readers with the reason', async () => {
  const { open } = await stand({ ...QUICK, readersMax: 1 });
  const first = await open('view=fleet');
  await first.until(() => first.ofType('hello').length > 0);
  const { response } = await open('view=fleet');
  expect([response.statusCode, response.headers['retry-after']]).toEqual([429, '5']);
  const strange = await open('view=machine&slot=equinix%2Fnone');
  expect(strange.response.statusCode).toBe(429);
});
