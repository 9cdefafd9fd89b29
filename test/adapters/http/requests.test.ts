import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { X509Certificate } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { formBody } from '../../../src/adapters/driver-kit/terms.ts';
import { certificateSha256 } from '../../../src/adapters/driver-kit/exchange.ts';
import { issue } from '../../support/certificates.ts';
import { createApiStand } from './stand.ts';

const live = new AbortController().signal;
const schema = z.unknown();

test.each([
  [{ type: 'hw', wait: true }, 'type=hw&wait=true'],
  [{ authorized_key: ['a:b'] }, 'authorized_key[]=a:b'],
  [{ os: 'linux', authorized_key: ['a', 'b'] }, 'os=linux&authorized_key[0]=a&authorized_key[1]=b'],
  [{ data: 'ssh-ed25519 AA+/= x&y', none: [] }, 'data=ssh-ed25519+AA+/=+x&y'],
])('hetzner-robot vector 29: the form %j', (fields, text) => {
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

test('a list may also be a name that is repeated', () => {
  expect(formBody('repeated').write({ key: ['a', 'b'] })).toBe('key=a&key=b');
});

test('an API with forms sends them as such, with the headers of the request', async () => {
  const { api, heard } = await createApiStand(
    () => ({ status: 202, body: {}, headers: { Location: '/task/1' } }),
    { encoding: formBody('brackets') },
  );
  const request = { method: 'POST', path: '/a', body: { x: ['1'] }, schema } as const;
  const received = await api
    .call('do', live)
    .receive({ ...request, headers: { 'If-Match': '"e"' } });
  expect(heard[0]).toMatchObject({
    text: 'x%5B%5D=1',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'if-match': '"e"' },
  });
  expect(received).toMatchObject({ status: 202, headers: { location: '/task/1' }, value: {} });
});

test('a request that may be sent once is sent once, whatever comes of it', async () => {
  for (const status of [429, 500, 425]) {
    const { api, heard } = await createApiStand(() => ({ status }));
    const once = { method: 'GET', path: '/a', schema, attemptsMax: 1 } as const;
    await expect(api.call('do', live).send(once)).rejects.toThrow();
    expect(heard, `status ${status}`).toHaveLength(1);
  }
});

test('what the API names as secret in a body is in no error and no log', async () => {
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

test('a reply over the limit of the API is refused', async () => {
  const { api } = await createApiStand(() => ({ status: 200, body: 'x'.repeat(5_000) }), {
    replyBytesMax: 4_096,
  });
  const reading = api.call('read', live).send({ method: 'GET', path: '/a', schema });
  await expect(reading).rejects.toThrow(/larger than/);
});

test('what is nested too deep in a reply is not parsed', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const body = Array.from({ length: 101 }).reduce<unknown>((inner) => [inner], 'deep');
  const { api } = await createApiStand(() => ({ status: 200, body: { id: 'a', body } }));
  const reading = api.call('read', live).send({ method: 'GET', path: '/a', schema });
  await expect(reading).resolves.toMatchObject({ id: 'a' });
  expect(parse.mock.calls.filter(([text]) => text.includes('deep'))).toEqual([]);
});

test('a server that wants no kept connections gets a new one for each request', async () => {
  const { api, heard } = await createApiStand(() => ({ status: 200, body: {} }), {
    closesConnections: true,
  });
  for (let n = 0; n < 2; n++)
    await api.call('read', live).send({ method: 'GET', path: '/a', schema });
  expect(heard.map(({ headers }) => headers.connection)).toEqual(['close', 'close']);
});

test('reads keep their connection, a change has one of its own', async () => {
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

test('a pinned certificate is believed, and so is one by an authority that is named', async () => {
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

test('any other certificate is named, and not a byte is sent', async () => {
  const { baseUrl, sha256, requests } = await secureServer();
  for (const trust of [{ sha256: '0'.repeat(64) }, {}, undefined]) {
    const { api } = await createApiStand(() => ({ status: 500 }), {
      baseUrl,
      ...(trust && { trust }),
    });
    const sending = api.call('read', live).send({ method: 'POST', path: '/', schema });
    const error = await sending.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'Network', ambiguous: false });
    if (trust) expect(String(error)).toContain(sha256);
  }
  expect(requests()).toBe(0);
});
