import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  startTraffic,
  type Traffic,
  type TrafficFigures,
} from '../../../../emulators/haproxy/traffic/traffic.ts';

/** A service, and controls of its connections. */
async function serve(port = 0) {
  const sockets = new Map<Socket, number>();
  const server: Server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    sockets.set(request.socket, (sockets.get(request.socket) ?? 0) + 1);
    response.end('well\n');
  });
  server.on('connection', (socket) => {
    sockets.set(socket, 0);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    for (const socket of sockets.keys()) socket.destroy();
  };
  onTestFinished(close);
  return {
    port: (server.address() as AddressInfo).port,
    close,
    /** Connections that have carried more than one request. */
    held: () => [...sockets].filter(([, count]) => count > 1).map(([socket]) => socket),
  };
}

function send(port: number, more: { perSecond?: number; held?: number; hold?: number } = {}) {
  const { perSecond = 100, held = 4, hold = 400 } = more;
  const traffic = startTraffic({
    to: { host: '127.0.0.1', port },
    perSecond,
    held,
    holdMs: [hold, hold],
    chance: () => 0.5,
  });
  onTestFinished(async () => void (await traffic.stop()));
  return traffic;
}
const seen = (traffic: Traffic, question: (figures: TrafficFigures) => boolean) =>
  vi.waitFor(() => expect(question(traffic.figures())).toBe(true), 30_000);

test('answers clients that reach a server, and lets them end their own connections', async () => {
  const traffic = send((await serve()).port);
  await seen(traffic, ({ answered, ended }) => answered >= 50 && ended >= 8);
  const { requests, answered, refused, cut, failures } = await traffic.stop();
  expect({ refused, cut, failures }).toEqual({ refused: 0, cut: 0, failures: new Map() });
  expect(answered).toBe(requests);
});

test('counts each connection that another side ends as cut, once', async () => {
  const service = await serve();
  const traffic = send(service.port, { perSecond: 1, held: 3, hold: 60_000 });
  await vi.waitFor(() => expect(service.held()).toHaveLength(3), 30_000);
  for (const socket of service.held()) socket.resetAndDestroy();
  await seen(traffic, ({ cut }) => cut === 3);
  await vi.waitFor(() => expect(service.held()).toHaveLength(3), 30_000);
  for (const socket of service.held().slice(0, 1)) socket.end();
  await seen(traffic, ({ cut }) => cut === 4);
  await vi.waitFor(() => expect(service.held()).toHaveLength(3), 30_000);
  const { ended, refused, cut } = await traffic.stop();
  expect({ refused, cut, ended }).toEqual({ refused: 0, cut: 4, ended: 3 });
});

test('refuses clients without a server, on new connections and on kept ones', async () => {
  const { port, close } = await serve();
  const traffic = send(port, { held: 2 });
  await seen(traffic, ({ answered }) => answered > 0);
  close();
  await seen(traffic, ({ refused }) => refused > 20);
  const { failures, refused, requests, answered } = await traffic.stop();
  expect([...failures.keys()].join()).toMatch(/refused: ECONNREFUSED/);
  expect(requests).toBe(refused + answered);
});

test('counts no incomplete answer, and none but 200, as an answer', async () => {
  const server = createServer((_request, response) => {
    response.statusCode = 503;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const traffic = send((server.address() as AddressInfo).port, { held: 0 });
  await seen(traffic, ({ refused }) => refused > 5);
  const { answered, failures } = await traffic.stop();
  expect({ answered, why: [...failures.keys()] }).toEqual({
    answered: 0,
    why: ['refused: answered with 503'],
  });
});
