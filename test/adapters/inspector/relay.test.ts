import { networkInterfaces } from 'node:os';
import { connect as connectTcp } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { createActor, setup } from 'xstate';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import type { Inspection } from '../../../src/adapters/inspector/port.ts';
import { startInspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import type { InspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';

type Message = Record<string, unknown> & { type: string; sessionId: string };

const lamp = setup({ types: { events: {} as { type: 'press' } } }).createMachine({
  id: 'lamp',
  initial: 'dark',
  states: { dark: { on: { press: 'lit' } }, lit: { on: { press: 'dark' } } },
});

/** A program that looks, as the page does. */
function looker(url: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}events`, { headers });
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (data: Buffer) => {
    messages.push(JSON.parse(data.toString()) as Message);
    for (const check of waiting) check();
  });
  const seen = (matches: (message: Message) => boolean) =>
    new Promise<Message>((resolve) => {
      const check = () => {
        const found = messages.find(matches);
        if (found === undefined) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
    });
  const status = new Promise<number>((resolve, reject) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.once('error', reject);
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { socket, seen, status, closed };
}

const valueOf = (message: Message) => (message.snapshot as { value?: unknown } | undefined)?.value;
const isSnapshot = (value: string) => (message: Message) =>
  message.type !== '@xstate.event' && valueOf(message) === value;

describe('inspector relay', () => {
  let relay: InspectorRelay;
  let inspection: Inspection;
  const open = () =>
    startInspectorRelay({ host: '127.0.0.1', port: 0, log: silentLog, inspector: inspection });

  beforeEach(async () => {
    // All that happens in a test falls into one window of the limit, however slow the machine is.
    inspection = createInspection({ clock: { ...systemClock, monotonic: () => 0 } });
    relay = await open();
  });
  afterEach(async () => {
    await relay.close();
    inspection.close();
  });

  const startLamp = (id: string) => createActor(lamp, { id, inspect: inspection.inspect }).start();

  test('shows an actor that was there before, then what happens to it', async () => {
    const actor = startLamp('lamp-1');
    const { seen, socket } = looker(relay.url);
    const registered = await seen(({ type }) => type === '@xstate.actor');
    expect(registered).toMatchObject({ name: 'lamp-1', sessionId: actor.sessionId });
    expect(JSON.parse(String(registered.definition))).toMatchObject({
      id: 'lamp',
      initial: 'dark',
    });
    await seen(isSnapshot('dark'));
    actor.send({ type: 'press' });
    const event = await seen(({ type }) => type === '@xstate.event');
    expect(event).toMatchObject({ sessionId: actor.sessionId, event: { type: 'press' } });
    const lit = await seen(isSnapshot('lit'));
    expect(lit).toMatchObject({ sessionId: actor.sessionId, rootId: actor.sessionId });
    socket.close();
  });

  test('tells the ninth who looks that eight may, and goes on for them', async () => {
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
    expect(await page.text()).toContain('inspector.js');
    expect((await fetch(`${relay.url}inspector.js`)).headers.get('content-type')).toMatch(
      /javascript/,
    );
    expect((await fetch(`${relay.url}../package.json`)).status).toBe(404);
    expect((await fetch(relay.url, { method: 'POST' })).status).toBe(405);
  });

  test('a taken port is one clear mistake', async () => {
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

  test('closing ends the sockets of all viewers', async () => {
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
