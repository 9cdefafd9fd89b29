import { networkInterfaces } from 'node:os';
import { connect as connectTcp } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { assign, createActor, createMachine, setup } from 'xstate';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import type { Inspection } from '../../../src/adapters/inspector/port.ts';
import { startInspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import type { InspectorRelay } from '../../../src/adapters/inspector/relay.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';

type Message = Record<string, unknown> & { type: string; sessionId: string };

const CANARY = 'canary-5d0c7e';

const lamp = setup({
  types: {
    context: {} as {
      count: number;
      apiToken: string;
      nested: { sshPrivate: string; generation: bigint; bytes: Uint8Array };
    },
    events: {} as { type: 'press'; password: string } | { type: 'noise' },
  },
}).createMachine({
  id: 'lamp',
  context: {
    count: 0,
    apiToken: CANARY,
    nested: { sshPrivate: CANARY, generation: 7n, bytes: new TextEncoder().encode(CANARY) },
  },
  initial: 'dark',
  on: { noise: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
  states: { dark: { on: { press: 'lit' } }, lit: { on: { press: 'dark' } } },
});

/** A program that looks, as the page does. */
function looker(url: string, headers: Record<string, string> = {}, query = '') {
  const socket = new WebSocket(`${url.replace('http', 'ws')}events${query}`, { headers });
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  let raw = '';
  socket.on('message', (data: Buffer) => {
    raw += data.toString();
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
  return { socket, messages, seen, status, closed, raw: () => raw };
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
    actor.send({ type: 'press', password: CANARY });
    const event = await seen(({ type }) => type === '@xstate.event');
    expect(event).toMatchObject({ sessionId: actor.sessionId, event: { type: 'press' } });
    const lit = await seen(isSnapshot('lit'));
    expect(lit).toMatchObject({ sessionId: actor.sessionId, rootId: actor.sessionId });
    socket.close();
  });

  test('shows an actor that comes while somebody looks', async () => {
    const { seen, status, socket } = looker(relay.url);
    await status;
    startLamp('late');
    await seen(({ type, name }) => type === '@xstate.actor' && name === 'late');
    await seen(isSnapshot('dark'));
    socket.close();
  });

  test('hides secrets and bytes, and writes bigints as text', async () => {
    const actor = startLamp('lamp-1');
    const { seen, raw, socket } = looker(relay.url);
    await seen(isSnapshot('dark'));
    actor.send({ type: 'press', password: CANARY });
    const lit = await seen(isSnapshot('lit'));
    expect(lit.snapshot).toMatchObject({
      context: {
        count: 0,
        apiToken: '[hidden]',
        nested: { sshPrivate: '[hidden]', generation: '7', bytes: `[${CANARY.length} bytes]` },
      },
    });
    expect(raw()).not.toContain(CANARY);
    expect(raw()).not.toContain([...new TextEncoder().encode(CANARY)].join(','));
    socket.close();
  });

  test('shows the machine of any cell that its address chooses, and no other', async () => {
    const machines = ['equinix/a', 'equinix/b'];
    const cell = createMachine({
      id: 'cell',
      invoke: machines.map((id) => ({ id, src: createMachine({ id: 'lifecycle' }) })),
    });
    createActor(cell, { id: 'cell-7', inspect: inspection.inspect }).start();
    const { seen, messages, status, socket } = looker(relay.url, {}, '?slot=equinix%2Fb');
    await status;
    await seen(({ name }) => name === 'equinix/b');
    createActor(cell, { id: 'cell-8', inspect: inspection.inspect }).start();
    const late = await seen(
      ({ name, sessionId }) => name === 'equinix/b' && sessionId !== messages[0]!.sessionId,
    );
    expect(JSON.parse(String(late.definition))).toMatchObject({ id: 'lifecycle' });
    const names = messages.flatMap(({ name }) => (name === undefined ? [] : [name]));
    expect(new Set(names)).toEqual(new Set(['equinix/b']));
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

  test('shows the last state of a burst, and says how many events it left out', async () => {
    const actor = startLamp('lamp-1');
    const { seen, messages, socket } = looker(relay.url);
    await seen(isSnapshot('dark'));
    const before = messages.length;
    for (let i = 0; i < 5_000; i += 1) actor.send({ type: 'noise' });
    await seen(({ type }) => type === 'shepherd.dropped');
    const last = await seen(
      ({ snapshot }) => (snapshot as { context?: { count: number } })?.context?.count === 5_000,
    );
    expect(valueOf(last)).toBe('dark');
    expect(messages.length - before).toBeLessThan(250);
    socket.close();
  });

  test.each([
    ['another origin', { origin: 'https://evil.example' }, 403],
    ['a local page on another port', { origin: 'http://127.0.0.1:1' }, 403],
    ['a rebound name', { host: 'evil.example' }, 421],
  ])('refuses %s', async (_what, headers, expected) => {
    const { status } = looker(relay.url, headers);
    expect(await status).toBe(expected);
  });

  test('accepts its own page', async () => {
    const { status, socket } = looker(relay.url, { origin: relay.url.replace(/\/$/, '') });
    expect(await status).toBe(101);
    socket.close();
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
