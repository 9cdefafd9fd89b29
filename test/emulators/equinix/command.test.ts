import { expect, test } from 'vitest';
import { judgedChild } from '../../published/children.ts';
import { emulatorCommand } from '../emulator-command.ts';

const { file, begin, refuses } = emulatorCommand('fakequinix', judgedChild);
interface Line {
  readonly url: string;
  readonly adminUrl: string;
  readonly projectId: string;
  readonly tokens: Readonly<Record<string, string>>;
}

test('prints one line; the same seed gives the same world, and ends with a signal', async () => {
  const options = ['--seed', '9', '--clock', 'manual', '--reservations', '2'];
  const one = await begin<Line>(...options);
  const headers = { 'x-fake-admin': one.line.tokens['admin']! };
  const clock = await fetch(`${one.line.adminUrl}/clock`, { headers });
  expect(await clock.json()).toMatchObject({ mode: 'manual' });
  await one.end();
  const again = await begin<Line>(...options);
  expect(again.line.projectId).toBe(one.line.projectId);
  expect(Object.values(again.line.tokens)).not.toEqual(
    expect.arrayContaining([expect.toBeOneOf(Object.values(one.line.tokens))]),
  );
  await again.end();
  const other = await begin<Line>('--seed', '10');
  expect(other.line.projectId).not.toBe(one.line.projectId);
  await other.end();
});

test('serves below another base path, and a world from a file', async () => {
  const world = file('world.yaml', 'projects: [{ name: a }]\nknobs: { maxPerPage: 2 }\n');
  const { line, end } = await begin<Line>('--base-path', '/x/y', '--world', world);
  expect(line.url).toMatch(/:\d+\/x\/y$/);
  const init = { headers: { 'x-auth-token': line.tokens['user']! } };
  const path = `/projects/${line.projectId}/hardware-reservations?per_page=9`;
  const response = await fetch(`${line.url}${path}`, init);
  const body = (await response.json()) as { hardware_reservations: unknown[] };
  expect([response.status, body.hardware_reservations.length]).toEqual([200, 2]);
  await end();
});

refuses(
  [
    [['--base-path', '/_fake/v1'], /--base-path .*\/_fake is taken/],
    [['--base-path', 'metal'], /--base-path /],
    [['--clock', 'sand'], /--clock .*real, manual/],
    [['--seed', '-1'], /--seed /],
    [['--listen', '0.0.0.0:0'], /--listen .*loopback/],
    [['--world', '%wrong.yaml%'], /reservations\[0\]\.plan: unknown plan "none"/],
    [['--state', '%wrong.json%'], /is not a state file of the emulator/],
  ],
  { 'wrong.yaml': 'reservations: [{ plan: none }]\n', 'wrong.json': '{}' },
);
