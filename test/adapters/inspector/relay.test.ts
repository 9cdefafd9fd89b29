import { networkInterfaces } from 'node:os';
import { connect as connectTcp } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import type { Inspection, Inspector } from '../../../src/adapters/inspector/port.ts';
import { startInspectorRelay, type InspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';

const addressOf = (url: string) => url.replace('http', 'ws');

/** A viewer program and the answer that it got. */
function looker(url: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(addressOf(url), { headers });
  const status = new Promise<number>((resolve, reject) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.once('error', reject);
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { socket, status, closed };
}

describe('inspector relay', () => {
  let relay: InspectorRelay;
  let inspection: Inspection;
  const open = (inspector: Inspector = inspection) =>
    startInspectorRelay({ host: '127.0.0.1', port: 0, log: silentLog, inspector });

  beforeEach(async () => {
    // All events of a test fall into one window of the limit, on any slow machine.
    inspection = createInspection({ clock: { ...systemClock, monotonic: () => 0 } });
    relay = await open();
  });
  afterEach(async () => {
    await relay.close();
    inspection.close();
  });

  test('reports on the machine that the address names', async () => {
    const subjects: unknown[] = [];
    const { url, close } = await open({
      watch: (subject) => {
        subjects.push(subject);
        return () => undefined;
      },
    });
    for (const query of ['', '?slot=equinix%2Fone']) {
      const { socket, status } = looker(`${url}${query}`);
      await status;
      socket.terminate();
    }
    expect(subjects).toEqual([null, 'equinix/one']);
    await close();
  });

  test('refuses the ninth viewer with the limit of eight, and continues for the others', async () => {
    const lookers = Array.from({ length: 8 }, () => looker(relay.url));
    await Promise.all(lookers.map(({ status }) => status));
    const ninth = looker(relay.url);
    await ninth.closed;
    lookers.forEach(({ socket }) => expect(socket.readyState).toBe(socket.OPEN));
    lookers.forEach(({ socket }) => socket.close());
  });

  test.each([
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['a local page on another port', { origin: 'http://127.0.0.1:1' }, 403],
    ['a rebound name', { host: 'evil.example' }, 421],
  ])('refuses %s', async (_what, headers, expected) => {
    const { status } = looker(relay.url, headers);
    expect(await status).toBe(expected);
  });

  test('listens on loopback only', async () => {
    const port = Number(new URL(relay.url).port);
    const others = Object.values(networkInterfaces())
      .flat()
      .filter((address) => address !== undefined && !address.internal && address.family === 'IPv4');
    const addresses = ['127.0.0.2', ...others.map((address) => address!.address)];
    for (const host of addresses) expect(await reaches(host, port), host).toBe(false);
    expect(await reaches('127.0.0.1', port)).toBe(true);
  });

  test('serves its page under a strict policy, and only to loopback names', async () => {
    const page = await fetch(relay.url);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain('bridge.js');
    expect((await fetch(`${relay.url}bridge.js`)).headers.get('content-type')).toMatch(
      /javascript/,
    );
    expect((await fetch(`${relay.url}../package.json`)).status).toBe(404);
    expect((await fetch(relay.url, { method: 'POST' })).status).toBe(405);
  });

  test('reports a port in use as one clear mistake', async () => {
    const again = startInspectorRelay({
      host: '127.0.0.1',
      port: Number(new URL(relay.url).port),
      log: silentLog,
      inspector: inspection,
    });
    await expect(again).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/127\.0\.0\.1:\d+ is already in use.*--inspect/) as string,
    });
  });

  test('ends the sockets of all viewers when it closes', async () => {
    const { status, closed } = looker(relay.url);
    await status;
    await relay.close();
    await closed;
    relay = await open();
  });
});

test('refuses to listen on anything but loopback', async () => {
  const attempt = startInspectorRelay({
    host: '0.0.0.0' as '127.0.0.1',
    port: 0,
    log: silentLog,
    inspector: { watch: () => null },
  });
  await expect(attempt).rejects.toMatchObject({ code: 'usage' });
});

const reaches = (host: string, port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connectTcp({ host, port, timeout: 2_000 });
    const settle = (reached: boolean) => {
      socket.destroy();
      resolve(reached);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
  });
