import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startLatitudeEmulator } from '../../emulators/latitude/emulator.ts';
import { runProgram } from './debian-client.ts';

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), 'kitsu/servers.mjs');

test('serves a generic JSON:API client with the emulator of Latitude.sh', async () => {
  const fake = await startLatitudeEmulator({ listen: { host: '127.0.0.1', port: 0 } });
  onTestFinished(() => fake.close());
  const printed = await runProgram(process.execPath, [PROGRAM, fake.url, fake.project], {
    LATITUDE_TOKEN: fake.token,
  });
  expect(JSON.parse(printed)).toEqual({
    media: 'application/vnd.api+json; charset=utf-8',
    description: 'renamed',
    statuses: [201, 201, 201],
    page: ['kitsu-3'],
    total: 3,
    one: ['servers', 'kitsu-1', 'c3-small-x86'],
    config: true,
    refused: [
      ['422', '/data/attributes/plan'],
      ['422', '/data/attributes/site'],
      ['422', '/data/attributes/operating_system'],
      ['422', '/data/attributes/hostname'],
    ],
    missing: [['404', null]],
    removed: [204, 204, 204],
    left: 0,
  });
  const strange = fake
    .requests()
    .filter(({ status }) => ![200, 201, 204, 404, 422].includes(status!));
  expect(strange).toEqual([]);
});
