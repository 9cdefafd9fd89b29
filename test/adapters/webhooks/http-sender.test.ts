import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createHttpSender } from '../../../src/adapters/webhooks/http-sender.ts';
import type { HttpSenderOptions } from '../../../src/adapters/webhooks/http-sender.ts';
import { DELIVERY_LIMIT_MS } from '../../../src/domain/events/retries.ts';
import { PATIENCE } from '../../support/patience.ts';

const OLD = `whsec_${Buffer.alloc(32, 'a').toString('base64')}`;
const FRESH = `whsec_${Buffer.alloc(32, 'b').toString('base64')}`;
const FOREVER = new AbortController().signal;
const BODY = '{"specversion":"1.0","id":"7"}';

interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
let server: Server;
let got: Got[] = [];
let answer: {
  status: number;
  headers?: Record<string, string>;
  hangs?: boolean;
  /** The replacement for a short body. */
  body?: (response: ServerResponse) => void;
};
beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      got.push({ path, headers, body: Buffer.concat(chunks).toString() });
      if (answer.hangs) return;
      response.writeHead(answer.status, answer.headers);
      if (answer.body) answer.body(response);
      else response.end('thanks');
    });
  });
  // It closes no connection itself.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  got = [];
  answer = { status: 200 };
});
const connections = (of: Server) =>
  new Promise<number>((resolve) => of.getConnections((_, count) => resolve(count)));
const urlOf = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
/** Ends with the test. */
function sender(change: Partial<HttpSenderOptions> = {}) {
  const hook = createHttpSender({
    url: urlOf('/hook/?token=a%2Fb&to=1&to=2'),
    userAgent: 'shepherd/test',
    clock: systemClock,
    secrets: [() => OLD],
    ...change,
  });
  onTestFinished(hook.close);
  return hook;
}

const send = (hook: ReturnType<typeof sender>, signal = FOREVER) =>
  hook.send({ id: '7', body: BODY }, signal);

describe('a delivery over HTTP', () => {
  it('V57 is a CloudEvent that the Standard Webhooks library verifies with either secret', async () => {
    const hook = sender({ secrets: [FRESH, OLD].map((each) => () => each) });
    const found = await send(hook);
    expect(found).toEqual({ status: 200, retryAfterMs: null });
    const [{ path, headers, body }] = got as [Got];
    expect([path, body]).toEqual(['/hook/?token=a%2Fb&to=1&to=2', BODY]);
    expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(headers['webhook-id']).toBe('7');
    for (const secret of [OLD, FRESH]) {
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        id: '7',
      });
    }
  });

  it('V57 is signed with the secrets of that moment', async () => {
    let secret = OLD;
    const hook = sender({ secrets: [() => secret] });
    await send(hook);
    secret = FRESH;
    await hook.send({ id: '8', body: BODY }, FOREVER);
    const [first, second] = got as [Got, Got];
    const verify = (by: string, { body, headers }: Got) =>
      new Webhook(by).verify(body, headers as Record<string, string>);
    expect(verify(OLD, first)).toMatchObject({ id: '7' });
    expect(verify(FRESH, second)).toMatchObject({ id: '7' });
    expect(() => verify(OLD, second)).toThrow('No matching signature');
  });

  it('V58 does not follow redirects, and reports Retry-After', async () => {
    const hook = sender();
    answer = { status: 307, headers: { location: urlOf('/elsewhere') } };
    expect(await send(hook)).toMatchObject({ status: 307 });
    expect(got).toHaveLength(1);
    answer = { status: 429, headers: { 'retry-after': '120' } };
    expect(await send(hook)).toEqual({ status: 429, retryAfterMs: 120_000 });
    // A date is relative to the clock of its author.
    const date = 'Wed, 17 Dec 2025 19:33:20 GMT';
    answer.headers = { date, 'retry-after': 'Wed, 17 Dec 2025 20:33:20 GMT' };
    expect(await send(hook)).toEqual({ status: 429, retryAfterMs: 3_600_000 });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['that never ends', (response) => response.write('thanks')],
    ['that is longer than anybody reads', (response) => response.end('x'.repeat(4 * 1024 * 1024))],
    ['that breaks off', (response) => response.write('thanks', () => response.destroy())],
  ])('is judged by status and headers, also with a body %s', async (_, body) => {
    const hook = sender();
    const headers = { 'retry-after': '120' };
    const fromMs = performance.now();
    for (const status of [200, 503]) {
      answer = { status, headers, body };
      expect(await send(hook)).toEqual({ status, retryAfterMs: 120_000 });
    }
    expect(performance.now() - fromMs).toBeLessThan(DELIVERY_LIMIT_MS);
    // Nobody keeps such a connection.
    await expect.poll(() => connections(server), PATIENCE).toBe(0);
    answer = { status: 204 };
    expect(await send(hook)).toMatchObject({ status: 204 });
  });

  it('keeps its connection if the body is short', async () => {
    const hook = sender();
    const ports = new Set<number | undefined>();
    answer = {
      status: 200,
      body: (response) => ports.add(response.socket?.remotePort) && response.end('thanks'),
    };
    for (let each = 0; each < 3; each++) await send(hook);
    expect(ports.size).toBe(1);
  });

  it('keeps its answer, although it is aborted before the body ends', async () => {
    const stop = new AbortController();
    answer = { status: 200, body: (response) => response.write('thanks') };
    // No time passes here. The body's time begins once status and headers have arrived.
    const patient = {
      ...systemClock,
      setTimeout: (_: () => void, ms: number) => ms < DELIVERY_LIMIT_MS && stop.abort(),
    };
    const hook = sender({ clock: patient });
    const sent = send(hook, stop.signal);
    await expect(sent).resolves.toMatchObject({ status: 200 });
  });

  it('V58 is given up after 15 s, or if no server answers, and reports that', async () => {
    answer = { status: 200, hangs: true };
    // A clock on which 15 s pass at once.
    const quick = { ...systemClock, setTimeout: (fn: () => void) => systemClock.setTimeout(fn, 1) };
    const hook = sender({ clock: quick });
    expect(await send(hook)).toMatchObject({
      status: null,
      cause: expect.stringContaining('within the time limit'),
    });
    const nobody = sender({ url: 'http://127.0.0.1:1/' });
    expect(await send(nobody)).toMatchObject({ status: null });
  });

  it('ends when it is aborted', async () => {
    answer = { status: 200, hangs: true };
    const stop = new AbortController();
    const hook = sender();
    const sent = send(hook, stop.signal);
    await expect.poll(() => got.length).toBe(1);
    stop.abort(new Error('enough'));
    await expect(sent).rejects.toThrow();
  });
});
