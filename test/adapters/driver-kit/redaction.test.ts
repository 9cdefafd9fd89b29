import { inspect } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createRedact,
  secretsIn,
  shownUrl,
  secretsOfSettings,
} from '../../../src/adapters/driver-kit/redaction.ts';
import type { CreateRequest, Provider } from '../../../src/adapters/provider/port.ts';
import { explain, ProviderError } from '../../../src/domain/errors.ts';
import { facetsOf } from '../../../src/domain/provisioning/provider-holds.ts';
import { createSecret } from '../../../src/settings/secret.ts';
import { fleetOf, live, order, scripted } from '../../doubles/scripted-driver.ts';
import { testRows } from '../../support/rows.ts';

test('removes a secret in any surrounding text', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9+/=]{4,60}$/);
  fc.assert(
    fc.property(secret, secret, fc.string(), fc.string(), (token, line, before, after) => {
      const body = { userdata: `first line\n  ${line}  \n`, hostname: 'kept' };
      const redact = createRedact([token, ...secretsIn(body)]);
      const text = redact(`${before}${line}${after}${token}${before}`);
      const left = text.replaceAll('[redacted]', '\u0000');
      expect(left).not.toContain(token);
      expect(left).not.toContain(line);
    }),
  );
});

test('removes a secret that contains another as a whole', () => {
  expect(createRedact(['abcd', 'abcdefgh'])('x abcdefgh y')).toBe('x [redacted] y');
});

test('keeps words that are no secrets', () => {
  const redact = createRedact(['tok', ...secretsIn({ hostname: 'name', customdata: { n: 5 } })]);
  expect(redact('hostname: name is taken, 5 tok')).toBe('hostname: name is taken, 5 tok');
});

test('removes the value after the name of a secret field', () => {
  const redact = createRedact([]);
  expect(redact('userdata: #!/bin/sh')).toBe('userdata [redacted]');
  expect(redact('a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b')).toBe(
    'a [redacted] b',
  );
});

test('shows only paging and include in addresses', () => {
  const query = { page: '2', per_page: '100', include: 'facility', tag: 'shepherd-x' };
  expect(shownUrl('/devices', query)).toBe('/devices?page=2&per_page=100&include=facility&tag=*');
  expect(shownUrl('/devices')).toBe('/devices');
});

const HEX = '3f9a0c51d27be8463f9a0c51d27be8463f9a0c51';
const SCRIPT = `#!/bin/sh\ncat > /etc/x <<END\n{"secret": "${HEX}", "path": "C:\\dir\\k3y"}\nEND\n`;
const BASE64 = Buffer.from(SCRIPT).toString('base64');

/** The longest piece of a secret that a text shows. */
function shown(text: string, secret: string): number {
  const pieces = Array.from({ length: secret.length }, (_, from) => {
    let length = 0;
    while (from + length < secret.length && text.includes(secret.slice(from, from + length + 1))) {
      length++;
    }
    return length;
  });
  return Math.max(...pieces);
}

testRows([
  ['a word of a line', `unexpected word "${HEX}"`, HEX],
  ['the beginning of a word', `unexpected ${HEX.slice(0, 20)}...`, HEX],
  ['the end of a word', `unexpected ...${HEX.slice(-20)}`, HEX],
  ['a line cut in its middle', `at: {"secret": "${HEX.slice(0, 11)}`, HEX],
  ['lines escaped as JSON', `got ${JSON.stringify(SCRIPT)}`, HEX],
  ['base64', `cannot read ${BASE64}`, BASE64],
  ['a piece of base64', `cannot read ${BASE64.slice(17, 60)}`, BASE64],
  ['a line as base64', `bad ${Buffer.from(`"${HEX}"`).toString('base64')}`, BASE64.slice(20)],
])('removes %s of a sent body', (_, said, secret) => {
  const redact = createRedact(secretsIn({ userdata: SCRIPT }));
  expect(shown(redact(said), secret)).toBeLessThan(8);
});

testRows(['tok-ABCDEF0123456789', 'onlylowercaseletters', 'only-lower-case-words'])(
  'removes a piece of the token %s',
  (token) => {
    const redact = createRedact([], [token]);
    expect(redact(`token ${token.slice(0, 10)}... has expired`)).toBe(
      'token [redacted]... has expired',
    );
    expect(shown(redact(`(${token})(${token.slice(5)})`), token)).toBeLessThan(8);
  },
);

test('keeps ordinary words that also occur in a script', () => {
  const userdata = '# keep the instance and its reservation\nexport secret=1';
  const redact = createRedact(secretsIn({ userdata }));
  const said = 'maximum number of instances reached; reservation is not provisionable';
  expect(redact(said)).toBe(said);
});

testRows(['userdata', 'user_data', 'user data', 'root_password', 'Private Key'])(
  'removes the value after "%s"',
  (name) => expect(createRedact([])(`${name}: hunter2 and more`)).not.toContain('hunter2'),
);

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.unreachable('it was not rejected'),
    (error: unknown) => error,
  );
/** The error that a failing driver's creation is rejected with, and the request. */
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
])('removes a new machine’s secret and script from every error: %s', async (_, fail) => {
  const { error, secret, request } = await failed(fail);
  const text = everything(error);
  expect(text).not.toContain(secret);
  expect(text).not.toContain('site-token-5678');
  expect(text).not.toContain(Buffer.from(request.initCommand).toString('base64'));
  expect(error).toMatchObject({ kind: 'permanent', outcome: 'unknown' });
});

test('keeps kind, facets and causes', async () => {
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

test('replaces an immutable error by an equal one', async () => {
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

test('keeps configured secrets out of errors and log lines, before and after a rotation', async () => {
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

test('logs the failure of a stop without the objects attached to it', async () => {
  const config = { headers: { authorization: 'Bearer unknown-to-us' } };
  const stop = () => Promise.reject(Object.assign(new Error('refused'), { config }));
  const { fleet, log } = fleetOf(scripted({ stop }));
  await fleet.stop();
  expect(inspect(log.lines, { depth: 20 })).not.toContain('unknown-to-us');
  expect(log.lines).toMatchObject([{ fields: { err: { message: 'refused' } } }]);
});
