import { afterEach, expect, test } from 'vitest';
import { UsageError } from '../../src/domain/errors.ts';
import {
  type OperatorStand,
  OTHERS,
  OURS,
  ownedBy,
  reservationId,
  SOURCE,
  startOperatorStand,
  TARGET,
} from './equinix-stand.ts';

let stand: OperatorStand;
afterEach(async () => {
  expect(stand.fake.violations()).toEqual([]);
  await stand.close();
});

const YOINK = [
  'yoink',
  ...['--source-project', SOURCE, '--target-project', TARGET],
  ...['--spec', 'M3.Large.x86', '--metro', 'FR', '--prefix', 't-', '--owner', OURS],
];
const MOVE = 'POST /hardware-reservations/{id}/move';
const inFrankfurt = (n: number) => ({ id: reservationId(n), facility: 'fr2' });
const device = (hostname: string, n: number, change: object = {}) => ({
  hostname,
  reservation: reservationId(n),
  tags: ownedBy(OURS),
  ...change,
});
const projectOf = (n: number) =>
  stand.fake.reservations().find(({ id }) => id === reservationId(n))?.projectId;
const moved = () =>
  stand.fake
    .requests()
    .filter(({ method, route }) => `${method} ${route}` === MOVE)
    .map(({ path }) => path.split('/').at(-2));

const ONE_FREE_ONE_DEPLOYED = {
  reservations: [inFrankfurt(1), inFrankfurt(2)],
  devices: [device('t-one', 1)],
};

test('vector 38: the number of deletions is asked for; a wrong one changes nothing', async () => {
  stand = await startOperatorStand(ONE_FREE_ONE_DEPLOYED);
  const refused = await stand.run([...YOINK, '--count', '2'], '2');
  expect(refused.exitCode).toBe(1);
  expect(refused.notes.join('\n')).toContain('Type the number of devices to delete');
  expect(stand.changes()).toEqual([]);

  const done = await stand.run([...YOINK, '--count', '2'], '1');
  expect(done.exitCode).toBe(0);
  expect(stand.changes().filter((line) => line !== MOVE)).toEqual([
    'PUT /devices/{id}',
    'DELETE /devices/{id}',
  ]);
  // The free one at once, the other when it was cleaned.
  expect(moved()).toEqual([reservationId(2), reservationId(1)]);
  expect([projectOf(1), projectOf(2)]).toEqual([TARGET, TARGET]);
  expect(stand.fake.devices()).toEqual([]);
});

test('free ones come first, and with only such the number of moves is asked for', async () => {
  stand = await startOperatorStand(ONE_FREE_ONE_DEPLOYED);
  const { exitCode, notes } = await stand.run(YOINK, '1');
  expect(exitCode).toBe(0);
  expect(notes.join('\n')).toContain('Type the number of reservations to move');
  expect(moved()).toEqual([reservationId(2)]);
  expect(stand.hostnames()).toEqual(['t-one']);
});

test('of used ones the oldest device goes first', async () => {
  stand = await startOperatorStand({
    reservations: [1, 2, 3].map(inFrankfurt),
    devices: [
      device('t-young', 1, { createdAt: '2026-03-01T00:00:00Z' }),
      device('t-oldest', 2, { createdAt: '2026-01-01T00:00:00Z' }),
      device('t-old', 3, { createdAt: '2026-02-01T00:00:00Z' }),
    ],
  });
  expect((await stand.run([...YOINK, '--count', '2'], '2')).exitCode).toBe(0);
  expect(stand.hostnames()).toEqual(['t-young']);
});

test.each([['--all-owners'], []])(
  "another owner's device is never taken, nor one of another name (%s)",
  async (...more: string[]) => {
    stand = await startOperatorStand({
      reservations: [1, 2].map(inFrankfurt),
      devices: [device('t-foreign', 1, { tags: ownedBy(OTHERS) }), device('t-ours', 2)],
    });
    const refused = await stand.run([...YOINK, '--count', '2', ...more], '2');
    expect(refused.exitCode).toBe(1);
    expect(refused.notes.join('\n')).toContain('only 1 of 2');
    expect(stand.changes()).toEqual([]);
    expect((await stand.run([...YOINK, ...more], '1')).exitCode).toBe(0);
    expect(stand.hostnames()).toEqual(['t-foreign']);
  },
);

test('as long as nobody says who we are, every marked device is another owner’s', async () => {
  stand = await startOperatorStand({
    reservations: [inFrankfurt(1)],
    devices: [device('t-ours', 1)],
  });
  const nobody = YOINK.filter((arg) => arg !== '--owner' && arg !== OURS);
  expect((await stand.run(nobody, '1')).notes.join('\n')).toContain('only 0 of 1');
});

test('what is elsewhere, of another plan or not provisionable is no candidate', async () => {
  stand = await startOperatorStand({
    plans: [{ slug: 'c3.small.x86' }],
    reservations: [
      { id: reservationId(1), facility: 'am6' },
      { id: reservationId(2), facility: 'fr2', plan: 'c3.small.x86' },
      { ...inFrankfurt(3), spare: true },
      { ...inFrankfurt(4), provisionable: false },
    ],
  });
  const { notes } = await stand.run(YOINK, '1');
  expect(notes.join('\n')).toContain('only 0 of 1');
});

test('a device that fails to go is reported, and the others are taken', async () => {
  stand = await startOperatorStand({
    reservations: [1, 2].map(inFrankfurt),
    devices: [device('t-locked', 1, { locked: true }), device('t-two', 2)],
  });
  const { exitCode, json } = await stand.run([...YOINK, '--count', '2', '--json'], '2');
  expect(exitCode).toBe(1);
  expect(json).toMatchObject({
    items: [
      { id: reservationId(1), result: 'failed', steps: [], error: expect.stringContaining('lock') },
      { id: reservationId(2), result: 'done', steps: expect.arrayContaining(['moved']) },
    ],
  });
  expect(stand.hostnames()).toEqual(['t-locked']);
  expect([projectOf(1), projectOf(2)]).toEqual([SOURCE, TARGET]);
});

test('somebody faster on the freed reservation ends it for that one', async () => {
  stand = await startOperatorStand(
    { reservations: [inFrankfurt(1)], devices: [device('t-one', 1)] },
    { timings: { deprovisioningMs: 5, cleaningMs: 10 } },
  );
  stand.fake.events.on('change', ({ kind, to, id }) => {
    if (kind === 'reservation' && to === 'free') stand.fake.snatch(id);
  });
  const { exitCode, json } = await stand.run([...YOINK, '--json'], '1');
  expect(exitCode).toBe(1);
  expect(json).toMatchObject({
    items: [{ result: 'failed', error: expect.stringContaining('somebody else') }],
  });
  expect(moved()).toEqual([]);
});

test('vector 28: a move whose reply is lost is settled by looking', async () => {
  stand = await startOperatorStand(ONE_FREE_ONE_DEPLOYED);
  const match = { method: 'POST', route: '/hardware-reservations/{id}/move' };
  stand.fake.addFault({ match, times: 1, effect: { type: 'drop', phase: 'after' } });
  expect((await stand.run(YOINK, '1')).exitCode).toBe(0);
  expect(moved()).toEqual([reservationId(2)]);
});

test('a dry run shows what it would take and asks nothing', async () => {
  stand = await startOperatorStand(ONE_FREE_ONE_DEPLOYED);
  const { exitCode, notes, json } = await stand.run([
    ...YOINK,
    ...['--count', '2', '--dry-run', '--json'],
  ]);
  expect(exitCode).toBe(0);
  expect(notes.join('\n')).toContain('t-one');
  expect(json).toMatchObject({ items: [{ result: 'planned' }, { result: 'planned' }] });
  expect(stand.changes()).toEqual([]);
});

test('source and target must differ', async () => {
  stand = await startOperatorStand({ reservations: 1 });
  const same = YOINK.map((arg) => (arg === TARGET ? SOURCE : arg));
  await expect(stand.run(same, '1')).rejects.toBeInstanceOf(UsageError);
});
