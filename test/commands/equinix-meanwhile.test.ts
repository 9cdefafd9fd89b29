import { afterEach, describe, expect, test } from 'vitest';
import {
  type OperatorStand,
  OTHERS,
  OURS,
  ownedBy,
  reservationId,
  SOURCE,
  startOperatorStand,
} from './equinix-stand.ts';

let stand: OperatorStand;
afterEach(async () => {
  expect(stand.fake.violations()).toEqual([]);
  await stand.close();
});

const DEVICES = {
  reservations: [1, 2, 3].map((n) => ({ id: reservationId(n), facility: 'fr2' })),
  devices: [
    { hostname: 't-ours', reservation: reservationId(1), tags: ownedBy(OURS) },
    { hostname: 't-orphan', reservation: reservationId(2) },
    { hostname: 't-foreign', reservation: reservationId(3), tags: ownedBy(OTHERS) },
  ],
};
const deviceId = (hostname: string) =>
  stand.fake.devices().find((each) => each.hostname === hostname)!.id;
const REBOOT = 'POST /devices/{id}/actions';
const RENAME = 'PUT /devices/{id}';
const DELETE = 'DELETE /devices/{id}';

/** Runs a command, and does something while its question stands; what became of each device. */
async function meanwhile(args: readonly string[], change: () => Promise<void>, typed: string) {
  const whose = ['--prefix', 't-', '--owner', OURS, '--json'];
  const { exitCode, json } = await stand.run([...args, ...whose], async () => {
    await change();
    return typed;
  });
  const { items } = json as {
    items: { name: string; result: string; steps?: string[]; error?: string }[];
  };
  const told = items.map(({ name, result, steps = [], error = '' }) => [
    ...[`${name} ${result}: ${steps.join()}`, error],
  ]);
  return { exitCode, told: told.toSorted() };
}
const NOT_MEANT = expect.stringContaining('is not meant any more') as string;

describe('delete', () => {
  const deleting = (change: () => Promise<void>) =>
    meanwhile(['delete', SOURCE], change, SOURCE.slice(-4));

  test('what changed hands while the question stood stays', async () => {
    stand = await startOperatorStand(DEVICES);
    const [lost, renamed] = [deviceId('t-ours'), deviceId('t-orphan')];
    const { exitCode, told } = await deleting(async () => {
      await stand.rename(lost, { tags: ownedBy(OTHERS) });
      await stand.rename(renamed, { hostname: 'elsewhere' });
    });
    expect(exitCode).toBe(1);
    expect(told).toEqual([
      ['t-orphan failed: ', NOT_MEANT],
      ['t-ours failed: ', NOT_MEANT],
    ]);
    expect(stand.changes()).toEqual([RENAME, RENAME]);
    expect(stand.hostnames()).toEqual(['t-ours', 'elsewhere', 't-foreign']);
  });

  test('A2: what the API does not know and lists is not taken for gone', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, told } = await deleting(async () => {
      const match = { method: 'GET', route: '/devices/{id}' } as const;
      stand.fake.addFault({ match, effect: { type: 'status', code: 404 } });
    });
    expect(exitCode).toBe(1);
    const error = expect.stringContaining('a proxy may have answered') as string;
    expect(told).toEqual([
      ['t-orphan failed: ', error],
      ['t-ours failed: ', error],
    ]);
    expect(stand.changes()).toEqual([]);
  });

  test('what went away while the question stood is a success', async () => {
    stand = await startOperatorStand(DEVICES);
    const id = deviceId('t-ours');
    const { exitCode, told } = await deleting(async () => stand.fake.setDeviceState(id, 'deleted'));
    expect(exitCode).toBe(0);
    expect(told).toEqual([
      ['t-orphan done: deleted', ''],
      ['t-ours done: gone already', ''],
    ]);
    expect(stand.changes()).toEqual([RENAME, DELETE]);
  });
});

describe('reboot', () => {
  test('one that changed hands while the question stood is left alone', async () => {
    stand = await startOperatorStand(DEVICES);
    const lost = deviceId('t-ours');
    const change = () => stand.rename(lost, { tags: ownedBy(OTHERS) });
    const { exitCode, told } = await meanwhile(['reboot', SOURCE, '--all'], change, '2');
    expect(exitCode).toBe(1);
    expect(told).toEqual([
      [expect.stringMatching(/^t-orphan done/), ''],
      ['t-ours failed: ', NOT_MEANT],
    ]);
    expect(stand.changes()).toEqual([RENAME, REBOOT]);
  });
});
