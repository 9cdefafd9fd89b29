import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, test, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import type { ProviderError } from '../../../src/domain/errors.ts';
import { certificateSha256 } from '../../../src/adapters/driver-kit/exchange.ts';
import type { AnswerForm } from '../../../src/adapters/driver-kit/outcome.ts';
import { formBody, type ApiTerms, type Exchange } from '../../../src/adapters/driver-kit/terms.ts';
import { issue } from '../../support/certificates.ts';
import { testRows } from '../../support/rows.ts';
import { createApiStand } from './stand.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const live = new AbortController().signal;
const schema = z.unknown();

/** Robot's forms: 403 with the limit in the body or without one, and 503 during maintenance. */
const ROBOT: AnswerForm = {
  errorsIn: (json) => (json === undefined ? null : ['no']),
  tellsAbsence: new Set([404]),
  staysAway({ status, json, waitAskedMs, inARow }) {
    if (status === 503) return { waitMs: waitAskedMs || 5 * MINUTE };
    if (status !== 403) return undefined;
    const told = z.object({ max_requests: z.number(), interval: z.number() }).safeParse(json).data;
    const { max_requests: max, interval } = told ?? { max_requests: 200, interval: 3_600 };
    const leastMs = Math.max(MINUTE, (2 * interval * 1_000) / max);
    return { waitMs: Math.min(interval * 1_000, leastMs * 2 ** (inARow - 1)) };
  },
};
const BY_PATH: Partial<ApiTerms> = {
  form: ROBOT,
  classes: { reset: { budgets: [{ startsMax: 45, withinMs: HOUR, keptForUrgent: 10 }] }, list: {} },
  classOf: ({ path }: Exchange) =>
    path.startsWith('/reset') ? 'reset' : path === '/server' ? 'list' : null,
};
const listing = { method: 'GET', path: '/server', schema } as const;
const reset = { method: 'POST', path: '/reset/1', body: { type: 'hw' }, schema } as const;

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error as ProviderError,
  );

test('lengthens the wait with each consecutive answer that asks for one', async () => {
  const { api, clock } = await createApiStand((_, n) => ({ status: n === 3 ? 200 : 403 }), BY_PATH);
  const waits: number[] = [];
  for (const fails of [true, true, false, true]) {
    if (!fails) await api.call('list', live).send(listing);
    else {
      const { rateLimit } = await failureOf(api.call('list', live).send(listing));
      waits.push(rateLimit!.retryAt.getTime() - clock.now());
    }
  }
  expect(waits).toEqual([MINUTE, 2 * MINUTE, MINUTE]);
});

test('hetzner-robot vector 24: reports an empty budget as our own error without a request; urgent calls go', async () => {
  const { api, clock, heard } = await createApiStand(() => ({ status: 200, body: {} }), BY_PATH);
  for (let n = 0; n < 35; n++) await api.call('reset', live).send(reset);
  clock.increment(MINUTE);
  const error = await failureOf(api.call('reset', live).send(reset));
  expect(error).toMatchObject({
    ...{ kind: 'transient', outcome: 'not-done', answer: { attempts: 0 } },
    rateLimit: { retryAt: new Date(clock.now() + HOUR - MINUTE) },
    message: expect.stringContaining('our own request budget'),
  });
  expect(heard).toHaveLength(35);
  await api.call('give back', live).send({ ...reset, urgent: true });
  expect(heard).toHaveLength(36);
  expect(api.left('reset', true)).toBe(9);
});

test('treats a call that the core marks as urgent as urgent', async () => {
  const waitsForTurn = () => ({ urgent: true, end: () => undefined });
  const answer = () => ({ status: 200, body: {} });
  const { api, heard } = await createApiStand(answer, BY_PATH, { waitsForTurn });
  for (let n = 0; n < 45; n++) await api.call('reset', live).send(reset);
  expect(heard).toHaveLength(45);
  await failureOf(api.call('reset', live).send(reset));
  expect(heard).toHaveLength(45);
});

test('waits for the budget itself if the wait is short enough', async () => {
  const { api, clock, heard } = await createApiStand(() => ({ status: 200, body: {} }), {
    classes: { read: { budgets: [{ startsMax: 2, withinMs: MINUTE }] } },
    classOf: () => 'read',
  });
  for (let n = 0; n < 2; n++) await api.call('list', live).send(listing);
  clock.increment(40_000);
  const third = api.call('list', live).send(listing);
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toHaveLength(2);
  clock.increment(20_000);
  await third;
  expect(heard).toHaveLength(3);
});

/** Latitude's form: seconds in the body. */
const LATITUDE: AnswerForm = {
  errorsIn: (json) => (json === undefined ? null : ['no']),
  tellsAbsence: new Set([404]),
  staysAway({ status, json, waitAskedMs }) {
    if (status !== 429) return undefined;
    const errors = z.object({
      errors: z.array(z.object({ meta: z.object({ retry_after: z.number() }) })),
    });
    const seconds = errors.safeParse(json).data?.errors[0]?.meta.retry_after;
    return { waitMs: seconds === undefined ? waitAskedMs || MINUTE : seconds * 1_000 };
  },
  meaningOf: ({ status }) => (status === 403 ? { kind: 'auth' } : undefined),
};
const READS_AND_WRITES: Partial<ApiTerms> = {
  form: LATITUDE,
  classes: { reads: {}, writes: {} },
  classOf: ({ method }) => (method === 'GET' ? 'reads' : 'writes'),
};

testRows([
  ['seconds in the body', { errors: [{ meta: { retry_after: 61 } }] }, {}, 61_000],
  ['Retry-After', {}, { 'Retry-After': '42' }, 42_000],
  ['neither', {}, {}, MINUTE],
])('holds up reads, and no writes, after 429 with %s', async (_, body, headers, waitMs) => {
  const { api, clock, heard } = await createApiStand(
    ({ method }) => (method === 'GET' ? { status: 429, body, headers } : { status: 201, body: {} }),
    READS_AND_WRITES,
  );
  const error = await failureOf(api.call('list', live).send(listing));
  expect(error.rateLimit).toEqual({ retryAt: new Date(clock.now() + waitMs) });
  await api.call('create', live).send({ method: 'POST', path: '/servers', body: {}, schema });
  expect(heard).toHaveLength(2);
});

test('waits through a short enough pause in the affected class alone', async () => {
  const { api, clock, heard } = await createApiStand(
    ({ method }, n) =>
      method === 'GET' && n === 1
        ? { status: 429, body: { errors: [{ meta: { retry_after: 20 } }] } }
        : { status: 200, body: {} },
    READS_AND_WRITES,
  );
  const read = api.call('list', live).send(listing);
  await expect.poll(() => heard.length).toBe(1);
  await api.call('create', live).send({ method: 'POST', path: '/servers', body: {}, schema });
  expect(heard.map(({ method }) => method)).toEqual(['GET', 'POST']);
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  clock.increment(21_000);
  await read;
  expect(heard.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
});

test('silences all classes after a refused token, as the form says, until the token changes', async () => {
  let token = 'old';
  const { api, clock, heard } = await createApiStand(
    ({ headers }) => ({ status: headers.authorization === 'Bearer new' ? 200 : 403, body: {} }),
    { ...READS_AND_WRITES, token: () => token },
  );
  const write = { method: 'POST', path: '/servers', body: {}, schema } as const;
  expect(await failureOf(api.call('list', live).send(listing))).toMatchObject({ kind: 'auth' });
  for (let n = 0; n < 10; n++) await failureOf(api.call('create', live).send(write));
  expect(heard).toHaveLength(1);
  token = 'new';
  await api.call('create', live).send(write);
  expect(heard).toHaveLength(2);
  token = 'old';
  clock.increment(600_000);
  await failureOf(api.call('list', live).send(listing));
  expect(heard).toHaveLength(3);
});

test('reports both the pause and the doubt for an answer that has both', async () => {
  const form: AnswerForm = { ...ROBOT, staysAway: () => ({ waitMs: 300_000, ambiguous: true }) };
  const { api, clock, heard } = await createApiStand(() => ({ status: 503 }), { ...BY_PATH, form });
  const error = await failureOf(api.call('reset', live).send(reset));
  const rateLimit = { retryAt: new Date(clock.now() + 300_000) };
  expect(error).toMatchObject({ outcome: 'unknown', rateLimit });
  expect(heard).toHaveLength(1);
});

test.each([
  [{ type: 'hw', wait: true }, 'type=hw&wait=true'],
  [{ authorized_key: ['a:b'] }, 'authorized_key[]=a:b'],
  [{ os: 'linux', authorized_key: ['a', 'b'] }, 'os=linux&authorized_key[0]=a&authorized_key[1]=b'],
  [{ data: 'ssh-ed25519 AA+/= x&y', none: [] }, 'data=ssh-ed25519+AA+/=+x&y'],
])('hetzner-robot vector 29: encodes the form %j', (fields, text) => {
  const written = formBody('brackets').write(fields);
  expect(Object.fromEntries(new URLSearchParams(written))).toEqual(
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, value]): [string, string][] =>
        Array.isArray(value)
          ? value.map((each, n) => [value.length === 1 ? `${name}[]` : `${name}[${n}]`, each])
          : [[name, String(value)]],
      ),
    ),
  );
  expect(decodeURIComponent(written)).toBe(text);
});

test('may encode a list as a repeated name', () => {
  expect(formBody('repeated').write({ key: ['a', 'b'] })).toBe('key=a&key=b');
});

test('sends forms to an API that uses them, with the headers of the request', async () => {
  const { api, heard } = await createApiStand(() => ({ status: 202, body: {} }), {
    encoding: formBody('brackets'),
  });
  const request = { method: 'POST', path: '/a', body: { x: ['1'] }, schema } as const;
  await api.call('do', live).send({ ...request, headers: { 'If-Match': '"e"' } });
  expect(heard[0]).toMatchObject({
    text: 'x%5B%5D=1',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'if-match': '"e"' },
  });
});

test('sends a send-once request once, whatever its outcome', async () => {
  for (const status of [429, 500, 425]) {
    const { api, heard } = await createApiStand(() => ({ status }));
    const once = { method: 'GET', path: '/a', schema, attemptsMax: 1 } as const;
    await expect(api.call('do', live).send(once)).rejects.toThrow();
    expect(heard, `status ${status}`).toHaveLength(1);
  }
});

test('keeps the secrets that the API names in a body out of errors and log', async () => {
  const { api, lines } = await createApiStand(
    ({ text }) => ({ status: 400, body: { error: text } }),
    {
      secretsIn: (body) => [(body as { Password: string }).Password],
      form: { errorsIn: (json) => [JSON.stringify(json)], tellsAbsence: new Set() },
    },
  );
  const body = { Password: 'correct horse 42' };
  const sent = api.call('log in', live).send({ method: 'POST', path: '/sessions', body, schema });
  const error = await sent.catch((thrown: unknown) => thrown as Error);
  expect(`${String(error)} ${JSON.stringify(lines)}`).not.toContain('correct horse');
});

test('refuses a reply over the limit of the API', async () => {
  const { api } = await createApiStand(() => ({ status: 200, body: 'x'.repeat(5_000) }), {
    replyBytesMax: 4_096,
  });
  const reading = api.call('read', live).send({ method: 'GET', path: '/a', schema });
  await expect(reading).rejects.toThrow(/larger than/);
});

test('does not parse a reply that is nested too deep', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const body = Array.from({ length: 101 }).reduce<unknown>((inner) => [inner], 'deep');
  const { api } = await createApiStand(() => ({ status: 200, body: { id: 'a', body } }));
  const reading = api.call('read', live).send({ method: 'GET', path: '/a', schema });
  await expect(reading).resolves.toMatchObject({ id: 'a' });
  expect(parse.mock.calls.filter(([text]) => text.includes('deep'))).toEqual([]);
});

test('opens a new connection per request for a server that allows no kept connections', async () => {
  const { api, heard } = await createApiStand(() => ({ status: 200, body: {} }), {
    closesConnections: true,
  });
  for (let n = 0; n < 2; n++)
    await api.call('read', live).send({ method: 'GET', path: '/a', schema });
  expect(heard.map(({ headers }) => headers.connection)).toEqual(['close', 'close']);
});

test('keeps connections for reads, and opens a new one for each change', async () => {
  const { api, heard } = await createApiStand(() => ({ status: 200, body: {} }));
  for (const method of ['GET', 'PUT'] as const) {
    await api.call('do', live).send({ method, path: '/a', schema });
  }
  expect(heard.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'close']);
});

async function secureServer() {
  const { key, cert } = await issue({ name: 'CN=bmc', names: ['127.0.0.1'] });
  let requests = 0;
  const server = createServer({ key, cert }, (_, response) => {
    requests += 1;
    response.setHeader('Content-Type', 'application/json');
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sha256 = certificateSha256(new X509Certificate(cert));
  return { baseUrl, cert, sha256, requests: () => requests };
}

test('accepts a pinned certificate and one by a named authority', async () => {
  const { baseUrl, cert, sha256, requests } = await secureServer();
  const pinnedAs = [sha256, sha256.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:')];
  for (const trust of [...pinnedAs.map((pin) => ({ sha256: pin })), { ca: cert }]) {
    const { api } = await createApiStand(() => ({ status: 500 }), { baseUrl, trust });
    for (const method of ['GET', 'GET', 'POST'] as const) {
      await api.call('read', live).send({ method, path: '/', schema });
    }
  }
  expect(requests()).toBe(9);
});

test('names any other certificate, and sends no byte', async () => {
  const { baseUrl, sha256, requests } = await secureServer();
  for (const trust of [{ sha256: '0'.repeat(64) }, {}, undefined]) {
    const { api } = await createApiStand(() => ({ status: 500 }), {
      baseUrl,
      ...(trust && { trust }),
    });
    const sending = api.call('read', live).send({ method: 'POST', path: '/', schema });
    const error = await sending.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
    if (trust) expect(String(error)).toContain(sha256);
  }
  expect(requests()).toBe(0);
});
