import { afterEach, expect, test } from 'vitest';
import {
  type OperatorStand,
  reservationId,
  SOURCE,
  startOperatorStand,
  TARGET,
} from './equinix-stand.ts';
import {
  answer,
  type Script,
  type ScriptedApi,
  startScriptedApi,
} from '../adapters/provider/equinix/setup.ts';

let stand: OperatorStand;
let api: ScriptedApi;
afterEach(async () => {
  await api.close();
  await stand.close();
});

/** A server whose lists have one good entry, and one of which only the id can be read. */
async function begin(entry: object) {
  stand = await startOperatorStand({});
  const broken = { ...entry, id: reservationId(2), created_at: 7 };
  const entries = [{ ...entry, id: reservationId(1) }, broken];
  const meta = { total: 2, current_page: 1, last_page: 1 };
  const serve: Script = ({ path }, res) => {
    if (path.endsWith('/devices')) return answer(res, 200, { devices: entries, meta });
    if (path.endsWith('s')) return answer(res, 200, { hardware_reservations: entries, meta });
    return answer(res, 200, entries[0]);
  };
  api = await startScriptedApi(serve, stand.network);
}

test('A5: list counts what can be read and tells of the rest', async () => {
  await begin({ plan: { slug: 'c3' } });
  const args = ['list', '--project', SOURCE, '--base-url', api.url];
  const { exitCode, out } = await stand.run(args);
  expect(out).toContain('1 reservations\n1 more cannot be read, and are not counted.');
  expect(exitCode).toBe(1);
  const { json } = await stand.run([...args, '--json']);
  expect(json).toMatchObject({ reservations: 1, complete: true, unreadable: 1 });
});

test('A5: delete names what it cannot read, and leaves it alone', async () => {
  await begin({ hostname: 't-one', state: 'active' });
  const args = ['delete', SOURCE, '--prefix', 't-', '--base-url', api.url, '--dry-run'];
  const { notes } = await stand.run(args);
  expect(notes.join('\n')).toContain('other devices that stay: 1');
  expect(notes).toContain(`device ${reservationId(2)} cannot be read, so it stays`);
});

test.each([
  ['reboot', ['reboot', SOURCE, '--all', '--prefix', 't-'], 'device'],
  ['move', ['move', SOURCE, TARGET], 'reservation'],
  [
    'yoink',
    [
      ...['yoink', '--source-project', SOURCE, '--target-project', TARGET, '--prefix', 't-'],
      ...['--spec', 'c3', '--metro', 'fr2'],
    ],
    'reservation',
  ],
])('A5: %s names what it cannot read, and leaves it alone', async (_, command, what) => {
  await begin({ hostname: 't-one', state: 'active', plan: { slug: 'c3' } });
  const { notes } = await stand.run([...command, '--base-url', api.url, '--dry-run']);
  expect(notes).toContain(`${what} ${reservationId(2)} cannot be read, so it stays`);
});
