import { expect, test } from 'vitest';
import { adminOf, emulatorCommand } from '../emulator-command.ts';

const { file, begin, refuses } = emulatorCommand('fakerobot');
interface Line {
  readonly servers: readonly { readonly number: number }[];
  readonly adminUrl: string;
  readonly adminToken: string;
}

test('prints one line, has the faults of its file, guards its controls, and ends with a signal', async () => {
  const faults = file('faults.yaml', '- effect: { type: status, code: 418 }\n');
  const options = ['--faults', faults, '--servers', '3', '--clock', 'manual'];
  const { line, end } = await begin<Line>(...options);
  expect(line.servers.map(({ number }) => number)).toEqual([321, 322, 323]);
  const { isGuarded, post } = adminOf(line);
  await isGuarded();
  expect((await post('/faults', { effect: { type: 'inProcess' } }))[0]).toBe(201);
  expect((await post('/servers/9/press', { type: 'hw' }))[0]).toBe(404);
  expect((await post('/servers/322/press', { type: 'warm' }))[0]).toBe(422);
  expect(await post('/servers/322/press', { type: 'hw' })).toMatchObject([200, { phase: 'post' }]);
  expect(await post('/servers/323/crash', {})).toMatchObject([200, { phase: 'disk' }]);
  expect(await post('/servers/323/rename', { name: 'x' })).toMatchObject([200, { name: 'x' }]);
  await end();
});

refuses(
  [
    [['--servers', '0'], /--servers /],
    [['--faults', '%route.yaml%'], /no route \/nowhere/],
  ],
  { 'route.yaml': '- { match: { route: /nowhere }, effect: { type: inProcess } }\n' },
);
