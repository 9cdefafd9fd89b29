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

describe('delete', () => {
  const MINE = ['delete', SOURCE, '--prefix', 't-', '--owner', OURS];

  test('what changed hands while the question stood stays', async () => {
    stand = await startOperatorStand(DEVICES);
    const [lost, renamed] = [deviceId('t-ours'), deviceId('t-orphan')];
    const { exitCode, json } = await stand.run([...MINE, '--json'], async () => {
      await stand.rename(lost, { tags: ownedBy(OTHERS) });
      await stand.rename(renamed, { hostname: 'elsewhere' });
      return SOURCE.slice(-4);
    });
    expect(exitCode).toBe(1);
    const error = expect.stringContaining('is not meant any more');
    expect(json).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ name: 't-ours', result: 'failed', steps: [], error }),
        expect.objectContaining({ name: 't-orphan', result: 'failed', steps: [], error }),
      ]),
    });
    expect(stand.changes()).toEqual([RENAME, RENAME]);
    expect(stand.hostnames()).toEqual(['t-ours', 'elsewhere', 't-foreign']);
  });

  test('A2: what the API does not know and lists is not taken for gone', async () => {
    stand = await startOperatorStand(DEVICES);
    const { exitCode, json } = await stand.run([...MINE, '--json'], async () => {
      const match = { method: 'GET', route: '/devices/{id}' } as const;
      stand.fake.addFault({ match, effect: { type: 'status', code: 404 } });
      return SOURCE.slice(-4);
    });
    expect(exitCode).toBe(1);
    const error = expect.stringContaining('a proxy may have answered');
    expect(json).toMatchObject({
      items: [
        expect.objectContaining({ name: 't-orphan', result: 'failed', steps: [], error }),
        expect.objectContaining({ name: 't-ours', result: 'failed', steps: [], error }),
      ],
    });
    expect(stand.changes()).toEqual([]);
  });

  test('what went away while the question stood is a success', async () => {
    stand = await startOperatorStand(DEVICES);
    const id = deviceId('t-ours');
    const { exitCode, json } = await stand.run([...MINE, '--json'], async () => {
      stand.fake.setDeviceState(id, 'deleted');
      return SOURCE.slice(-4);
    });
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ name: 't-ours', steps: ['gone already'] }),
        expect.objectContaining({ name: 't-orphan', steps: ['deleted'] }),
      ]),
    });
    expect(stand.changes()).toEqual([RENAME, DELETE]);
  });
});

describe('reboot', () => {
  const MINE = ['--prefix', 't-', '--owner', OURS];

  test('one that changed hands while the question stood is left alone', async () => {
    stand = await startOperatorStand(DEVICES);
    const lost = deviceId('t-ours');
    const { exitCode, json } = await stand.run(
      ['reboot', SOURCE, '--all', ...MINE, '--json'],
      async () => {
        await stand.rename(lost, { tags: ownedBy(OTHERS) });
        return '2';
      },
    );
    expect(exitCode).toBe(1);
    const error = expect.stringContaining('is not meant any more');
    expect(json).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ name: 't-ours', result: 'failed', error }),
        expect.objectContaining({ name: 't-orphan', result: 'done' }),
      ]),
    });
    expect(stand.changes()).toEqual([RENAME, REBOOT]);
  });
});
