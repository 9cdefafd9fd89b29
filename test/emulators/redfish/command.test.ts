import { expect, test } from 'vitest';
import { adminOf, emulatorCommand } from '../emulator-command.ts';

const { file, begin, refuses } = emulatorCommand('fakefish');
interface Line {
  readonly bmcs: readonly { readonly systems: readonly object[] }[];
  readonly adminUrl: string;
  readonly adminToken: string;
}

test('prints one line, has the faults of its file, guards its controls, and ends with a signal', async () => {
  const faults = file('faults.yaml', '- effect: { type: status, code: 418 }\n');
  const options = ['--faults', faults, '--systems', '3', '--bmcs', '2', '--clock', 'manual'];
  const { line, end } = await begin<Line>(...options);
  expect(line.bmcs.map(({ systems }) => systems.length)).toEqual([1, 2]);
  const { isGuarded, post } = adminOf(line);
  await isGuarded();
  expect((await post('/faults', { effect: { type: 'licence' } }))[0]).toBe(201);
  expect((await post('/systems/system-9/reset', { ResetType: 'On' }))[0]).toBe(404);
  expect((await post('/systems/system-2/reset', { ResetType: 'On' }))[0]).toBe(200);
  await end();
});

refuses(
  [
    [['--listen', '0.0.0.0:0'], /--listen .*loopback/],
    [['--profile', 'acme'], /--profile .*generic/],
    [['--systems', '0'], /--systems /],
    [['--systems', '1', '--bmcs', '2'], /more BMCs than systems/],
    [['--profile', 'openbmc', '--systems', '2', '--bmcs', '1'], /one system/],
    [['--faults', '%route.yaml%'], /no route \/nowhere/],
  ],
  { 'route.yaml': '- { match: { route: /nowhere }, effect: { type: licence } }\n' },
);
