import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { badIn, resultOf, runTest, skippedIn } from './stand.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'loopback-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('this host passes every step', async () => {
  const section = { driver: 'loopback', dataDir: join(dir, 'host'), callsPerSecond: 0 };
  const { exitCode, report } = await runTest(section, { command: 'echo "up and running"' });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toEqual({
    existing: 'the driver makes machines',
    claims: 'the driver keeps nothing of its machines on record',
    'claims-dropped': 'the driver keeps nothing of its machines on record',
    parallel: 'the driver takes one call at a time',
    pause: expect.stringContaining('ssh -p PORT'),
  });
  expect(resultOf(report, 'command').message).toBe('up and running');
  expect(resultOf(report, 'host-key').message).toBe('the provider knows the key');
  expect(readdirSync(join(dir, 'host')), 'nothing of the machine is left').toEqual([
    'machine.json',
  ]);
});
