import { expect, test } from 'vitest';
import { adminOf, emulatorCommand } from '../emulator-command.ts';

const { file, begin, refuses } = emulatorCommand('fakelatitude');
type Line = Record<
  'url' | 'token' | 'project' | 'reservedProject' | 'otherToken' | 'adminUrl' | 'adminToken',
  string
>;

test('prints one line, has the stock and faults of its files, guards its controls, and ends with a signal', async () => {
  const faults = file('faults.yaml', '- effect: { type: status, code: 418 }\n  times: 1\n');
  const stock = file('stock.yaml', 'c3-small-x86: { ASH: 3 }\n');
  const plans = ['--plans', 'c3-small-x86,m4-metal-large'];
  const options = ['--faults', faults, '--stock', stock, ...plans, '--clock', 'manual'];
  const { line, end } = await begin<Line>(...options);
  for (const name of [line.project, line.reservedProject]) expect(name).toMatch(/^proj_\w+$/);
  const read = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${line.url}/plans`, { headers })).status;
  };
  expect(await read(line.token)).toBe(418);
  expect([await read(line.token), await read(line.otherToken)]).toEqual([200, 200]);
  const { admin, isGuarded, post, send } = adminOf(line);
  expect((await admin('/healthz', { headers: { 'x-fake-admin': 'wrong' } }))[0]).toBe(200);
  expect((await admin('/faults'))[1]).toMatchObject({ faults: [{ id: 'fault-1', applied: 1 }] });
  await isGuarded();
  const { stock: left } = (await admin('/state'))[1] as { stock: Record<string, object> };
  expect(left['c3-small-x86']).toMatchObject({ ASH: 3, SAO: 0 });
  expect(left['m4-metal-large']).toMatchObject({ ASH: 0 });
  const place = { plan: 'c3-small-x86', site: 'ASH' };
  expect((await send('PUT', '/stock', { ...place, count: 7 }))[0]).toBe(200);
  expect((await send('PUT', '/stock', { ...place, plan: 'none', count: 7 }))[0]).toBe(404);
  const knobs = await send('PATCH', '/knobs', { pageSizeMax: 50 });
  expect(knobs[1]).toMatchObject({ pageSizeMax: 50 });
  expect((await send('PATCH', '/knobs', { colour: 'red' }))[0]).toBe(422);
  const [, { token }] = (await post('/tokens', {})) as [number, { token: string }];
  expect(await read(token)).toBe(200);
  expect((await admin('/requests?since=x'))[0]).toBe(422);
  expect((await admin('/requests?since=3'))[1]).toMatchObject({ requests: [{ seq: 4 }] });
  await end();
});

refuses(
  [
    [['--stock', '%site.yaml%'], /OSLO/],
    [['--faults', '%route.yaml%'], /no route \/nowhere/],
  ],
  {
    'site.yaml': 'c3-small-x86: { OSLO: 1 }\n',
    'route.yaml': '- { match: { route: /nowhere }, effect: { type: quota } }\n',
  },
);
