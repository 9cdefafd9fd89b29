import { expect, test } from 'vitest';
import { emulatorCommand } from '../emulator-command.ts';

const { file, begin, refuses } = emulatorCommand('fakengine');
interface Line {
  readonly url: string;
  readonly adminUrl: string;
  readonly token: string;
  readonly adminToken: string;
  readonly loadBalancers: readonly string[];
}

test('prints one line, has the faults of its file, and ends with a signal', async () => {
  const route = '/api/LBaaS/v1/backend.json';
  const effect = '{ type: status, code: 418 }';
  const faults = file('faults.yaml', `- { match: { route: ${route} }, effect: ${effect} }\n`);
  const world = ['--state-delay', '0s', '--load-balancers', '1', '--rows', 'full'];
  const { line, end } = await begin<Line>('--faults', faults, '--seed', '9', ...world);
  const { url, adminUrl, token, adminToken, loadBalancers } = line;
  expect(loadBalancers).toHaveLength(1);
  const headers = { authorization: `Token ${token}` };
  const list = await fetch(`${url}${route}`, { headers });
  expect(list.status).toBe(418);
  const one = await fetch(`${url}/api/LBaaS/v1/loadbalancer.json/${loadBalancers[0]}`, { headers });
  expect(await one.json()).toMatchObject({ name: 'lb-1', state: { id: '3' } });
  const knobs = await fetch(`${adminUrl}/knobs`, { headers: { 'x-fake-admin': adminToken } });
  expect(await knobs.json()).toMatchObject({ rows: 'full' });
  await end();
});

refuses(
  [
    [['--seed', '-1'], /--seed /],
    [['--listen', '0.0.0.0:0'], /--listen .*loopback/],
    [['--state-delay', 'soon'], /--state-delay .*duration/],
    [['--rows', 'some'], /--rows .*short, full/],
    [['--faults', '/nowhere/faults.yaml'], /\/nowhere\/faults\.yaml cannot be read/],
    [['--faults', '%text.yaml%'], /holds no list/],
    [['--faults', '%route.yaml%'], /no route \/nowhere/],
  ],
  {
    'text.yaml': 'a: 1\n',
    'route.yaml': '- { match: { route: /nowhere }, effect: { type: twin } }\n',
  },
);
