import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { secretsOfSettings } from '../../../../src/adapters/driver-kit/redaction.ts';
import type { CreateRequest, Provider } from '../../../../src/adapters/provider/port.ts';
import { explain, ProviderError } from '../../../../src/domain/errors.ts';
import { facetsOf } from '../../../../src/domain/provisioning/provider-facets.ts';
import { createSecret } from '../../../../src/settings/secret.ts';
import { fleetOf, live, order, scripted } from '../../../doubles/scripted-driver.ts';

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.unreachable('it was not rejected'),
    (error: unknown) => error,
  );
/** What the creation of a driver that fails like this is rejected with, and the request. */
async function failed(fail: (request: CreateRequest) => unknown) {
  let seen: CreateRequest | undefined;
  const createMachine: Provider['createMachine'] = (request) => {
    seen = request;
    return Promise.reject(fail(request));
  };
  const { fleet } = fleetOf(scripted({ createMachine }), { initCommand: 'site-token-5678' });
  const error = await rejection(fleet.createMachine(order(), live));
  return { error, secret: /[0-9a-f]{40}/.exec(seen!.initCommand)![0], request: seen! };
}
const everything = (error: unknown) => inspect(error, { depth: 20 }) + explain(error);

test.each<[string, (request: CreateRequest) => unknown]>([
  ['as JSON', (request) => new Error(`boom ${JSON.stringify(request)}`)],
  ['as it is', ({ initCommand }) => new Error(initCommand)],
  ['as user data', ({ initCommand }) => new Error(Buffer.from(initCommand).toString('base64'))],
  ['in a URL', ({ initCommand }) => new Error(encodeURIComponent(initCommand))],
  ['in a cause', ({ initCommand }) => new Error('a', { cause: new Error(initCommand) })],
  ['in a cause that is a text', ({ initCommand }) => new Error('a', { cause: initCommand })],
  ['in a cause that is a request', ({ initCommand }) => new Error('a', { cause: { initCommand } })],
  ['as one of several', ({ initCommand }) => new AggregateError([new Error(initCommand)], 'a')],
  ['frozen', ({ initCommand }) => Object.freeze(new Error(initCommand))],
  ['as a text', ({ initCommand }) => initCommand],
  ['in what is no error', ({ initCommand }) => ({ config: { data: initCommand } })],
])('a new machine’s secret and script leave in no error: %s', async (_, fail) => {
  const { error, secret, request } = await failed(fail);
  const text = everything(error);
  expect(text).not.toContain(secret);
  expect(text).not.toContain('site-token-5678');
  expect(text).not.toContain(Buffer.from(request.initCommand).toString('base64'));
  expect(error).toMatchObject({ kind: 'permanent', outcome: 'unknown' });
});

test('kind, facets and causes stay as they are', async () => {
  const retryAt = new Date(1_700_000_060_000);
  const { error } = await failed(({ initCommand }) => {
    const inner = new ProviderError('transient', `429 ${initCommand}`, { rateLimit: { retryAt } });
    return new ProviderError('conflict', 'no', { cause: inner, capacity: { scope: 'plan' } });
  });
  expect(error).toMatchObject({ kind: 'conflict', message: 'no' });
  expect(explain(error)).toBe('no: 429 [redacted]');
  const found = { retryAtMs: retryAt.getTime(), capacity: 'plan', outcome: 'not-done' };
  expect(facetsOf(error)).toMatchObject(found);
});

test('one that cannot be changed is replaced by one that says the same', async () => {
  const { error } = await failed(({ initCommand }) => {
    const capacity = { scope: 'all' } as const;
    const inner = new ProviderError('race-lost', initCommand, { capacity });
    return new Error('outer', { cause: Object.freeze(inner) });
  });
  expect(error).toMatchObject({ kind: 'race-lost', message: 'outer: [redacted]' });
  expect(facetsOf(error)).toMatchObject({ capacity: 'all', outcome: 'not-done' });
  const getMachine: Provider['getMachine'] = () =>
    Promise.reject(Object.freeze(new Error('token-1234')));
  const token = { reference: '', read: () => 'token-1234', toJSON: () => '' };
  const { fleet } = fleetOf(scripted({ getMachine }), { secrets: [token] });
  const read = await rejection(fleet.getMachine('a', live));
  expect(read).toMatchObject({ kind: 'permanent', outcome: 'not-done' });
  expect(everything(read)).not.toContain('token-1234');
});

test('secrets of the settings leave neither in an error nor in a log line, rotated or not', async () => {
  const env = { TOKEN: 'token-1234' };
  const secret = createSecret('${TOKEN}', { env, baseDirectory: '/', checkFiles: false });
  const secrets = secretsOfSettings({ plan: 'a', account: [{ deep: { secret } }] });
  expect(secrets).toEqual([secret]);
  const fail = () => {
    const config = { headers: { authorization: `Bearer ${secret.read()}` } };
    return Promise.reject(Object.assign(new Error(`401 for ${secret.read()}`), { config }));
  };
  const { fleet, log } = fleetOf(scripted({ getMachine: fail, stop: fail }), { secrets });
  const before = await rejection(fleet.getMachine('a', live));
  expect(explain(before)).toBe('Get failed in the driver: 401 for [redacted]');
  env.TOKEN = 'token-5678';
  expect(explain(await rejection(fleet.getMachine('a', live)))).not.toContain('token-');
  env.TOKEN = '';
  await fleet.stop();
  expect(log.count('the driver did not stop')).toBe(1);
});

test('what a stop failed with is logged without what hangs on it', async () => {
  const config = { headers: { authorization: 'Bearer unknown-to-us' } };
  const stop = () => Promise.reject(Object.assign(new Error('refused'), { config }));
  const { fleet, log } = fleetOf(scripted({ stop }));
  await fleet.stop();
  expect(inspect(log.lines, { depth: 20 })).not.toContain('unknown-to-us');
  expect(log.lines).toMatchObject([{ fields: { err: { message: 'refused' } } }]);
});
