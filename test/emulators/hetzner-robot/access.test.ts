import { expect, test } from 'vitest';
import { LIMITS } from '../../../emulators/hetzner-robot/api/limits.ts';
import { faultsOf, FIELDS } from './field-table.ts';
import { codeOf, startRobot } from './harness.ts';

const MINUTE_MS = 60_000;

test('as many requests in an hour as are documented', () => {
  expect(LIMITS).toEqual({
    'GET /server': 200,
    'POST /server': 200,
    'GET /reset': 500,
    'POST /reset': 50,
    'GET /boot': 500,
    'POST /boot': 500,
    'DELETE /boot': 500,
    'GET /key': 500,
    'POST /key': 200,
    'DELETE /key': 200,
    'GET /wol': 500,
    'POST /wol': 10,
  });
});

test('what is over the limit is refused until an hour has passed', async () => {
  const [method, path, form, max] = ['POST', '/wol/321', '', 10] as const;
  const robot = await startRobot();
  for (let n = 0; n < max; n++) expect((await robot.ask(method, path, { form })).status).toBe(200);
  const refused = await robot.ask(method, path, { form });
  expect(codeOf(refused)).toEqual([403, 'RATE_LIMIT_EXCEEDED']);
  const { error } = refused.body as { error: object };
  expect(error).toMatchObject({ max_requests: max, max_request: max, interval: 3_600 });
  expect(faultsOf(error, FIELDS.rateLimit)).toEqual([]);
  await robot.fake.advance(60 * MINUTE_MS - 1);
  expect((await robot.ask(method, path, { form })).status).toBe(403);
  await robot.fake.advance(1);
  expect((await robot.ask(method, path, { form })).status).toBe(200);
});

test('a list and a single one are counted together, and nothing else with them', async () => {
  const robot = await startRobot({ limits: { 'GET /server': 2 } });
  expect((await robot.ask('GET', '/server')).status).toBe(200);
  expect((await robot.ask('GET', '/server/321')).status).toBe(200);
  expect((await robot.ask('GET', '/server/321/cancellation')).status).toBe(403);
  expect((await robot.ask('POST', '/server/321', { form: 'server_name=a' })).status).toBe(200);
  expect((await robot.ask('GET', '/reset/321')).status).toBe(200);
  expect(robot.fake.used()).toMatchObject({ 'GET /server': 2, 'POST /server': 1 });
});

test('three wrong logins shut the address out for ten minutes', async () => {
  const robot = await startRobot();
  for (const auth of ['wrong', 'none', 'wrong'] as const) {
    expect((await robot.ask('GET', '/server')).status).toBe(200);
    expect(codeOf(await robot.ask('GET', '/server', { auth }))).toEqual([401, 'UNAUTHORIZED']);
  }
  const isRefused = () => robot.ask('GET', '/server').then(() => false, isRefusal);
  await expect.poll(isRefused).toBe(true);
  await robot.fake.advance(10 * MINUTE_MS - 1);
  expect(await isRefused()).toBe(true);
  await robot.fake.advance(1);
  await expect.poll(isRefused).toBe(false);
  expect((await robot.ask('GET', '/server')).status).toBe(200);
});

const isRefusal = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';

test('a wrong login is forgotten after ten minutes, and has no share in the limits', async () => {
  const robot = await startRobot({ limits: { 'GET /server': 1 } });
  for (let n = 0; n < 4; n++) {
    expect((await robot.ask('GET', '/server', { auth: 'wrong' })).status).toBe(401);
    await robot.fake.advance(6 * MINUTE_MS);
  }
  expect((await robot.ask('GET', '/server')).status).toBe(200);
});

test('vector 5: another password lets in at once, and the old one does not', async () => {
  const robot = await startRobot();
  const before = robot.fake.credentials.password;
  robot.fake.setPassword('changed');
  expect(robot.fake.credentials.password).toBe('changed');
  const login = Buffer.from(`${robot.fake.credentials.user}:${before}`).toString('base64');
  const headers = { authorization: `Basic ${login}` };
  expect((await robot.ask('GET', '/server', { auth: 'none', headers })).status).toBe(401);
  expect((await robot.ask('GET', '/server')).status).toBe(200);
});

test('the journal tells what was asked, and no password or key', async () => {
  const robot = await startRobot();
  await robot.rescue();
  const told = robot.fake.requests();
  expect(told.map(({ method, route, status }) => [method, route, status])).toEqual([
    ['POST', '/key', 201],
    ['POST', '/boot/{n}/rescue', 200],
    ['POST', '/reset/{n}', 200],
  ]);
  const { rescue } = (await robot.get('/boot/321/rescue/last')) as { rescue: { password: string } };
  const text = JSON.stringify(robot.fake.requests());
  expect(rescue.password).toMatch(/^.{16}$/);
  expect(text).not.toContain(rescue.password);
  expect(text).not.toContain(robot.fake.credentials.password);
  expect(text).not.toContain('AAAAC3');
});
