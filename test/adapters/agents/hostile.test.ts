import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defaultLimits } from '../../../src/adapters/agents/limits.ts';
import { generateRawKeyPair } from '../../../src/agent/keys.ts';
import { machineId } from '../../../src/domain/ids.ts';
import {
  heartbeatRequestCodec,
  installationReportCodec,
  installationRequestCodec,
} from '../../../src/wire/codec.ts';
import { GrpcStatus, writeFrame } from '../../../src/wire/grpc.ts';
import { ED25519, openRawCall, rawCall, selfSigned } from './raw-client.ts';
import {
  END_STREAM,
  LAST_REMEMBERED,
  callHeaders,
  continuation,
  data,
  goaway,
  headers,
  literal,
  remembered,
  reset,
} from './raw-http2.ts';
import { startAgentStand } from './agent-stand.ts';
import type { AgentStand, StandAgent, AgentStandOptions } from './agent-stand.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { PATIENCE } from '../../support/patience.ts';

const MIB = 1024 * 1024;
const odd = (index: number) => 2 * index + 1;
const closed = (emitter: NodeJS.EventEmitter) =>
  new Promise<void>((resolve) => emitter.once('close', () => resolve()));
/** Unlike `once`, ignores earlier errors. */
const drained = (stream: NodeJS.EventEmitter) =>
  new Promise<void>((resolve) => stream.once('drain', () => resolve()));

/** Attacks by malicious agents, each while an honest agent keeps reporting. */
describe('hostile agents', () => {
  let { store, host, port, trust, clients, session, rawHttp2 } = {} as AgentStand;
  let honest: StandAgent;
  const start = async (options: AgentStandOptions = {}) => {
    const stand = await startAgentStand(options);
    ({ store, host, port, trust, clients, session, rawHttp2 } = stand);
    honest = stand.agent();
  };
  /** The honest agent is served whatever happened. */
  const isServed = async () => {
    const before = honest.stored.heartbeats;
    await honest.beat();
    expect(honest.stored.heartbeats).toBe(before + 1);
  };

  test('cannot report for another machine with their own key', async () => {
    await start();
    const key = generateRawKeyPair();
    const machine = machineId(randomUUID());
    store.start(machine, key.publicKey);
    const own = await clients.of(key);
    const { signal } = new AbortController();
    await own.heartbeat({ machineId: machine }, signal);
    await expect(own.heartbeat({ machineId: honest.machine }, signal)).rejects.toMatchObject({
      status: GrpcStatus.unauthenticated,
    });
    await isServed();
    expect(honest.stored.heartbeats).toBe(1);
  });

  test('cannot replay a report with another key, or a result late', async () => {
    await start();
    const installationReport = { generation: 1n, success: {} };
    const recorded = writeFrame(
      heartbeatRequestCodec.encode({ machineId: honest.machine, installationReport }),
    );
    const thief = session(await selfSigned(ED25519));
    honest.stored.request = {
      generation: 2n,
      raw: installationReportCodec.encode({ generation: 2n }),
    };
    expect(await rawCall(thief, recorded)).toMatchObject({
      status: String(GrpcStatus.unauthenticated),
    });
    const own = session(await honest.identity());
    expect(await rawCall(own, recorded)).toMatchObject({ status: String(GrpcStatus.ok) });
    expect(honest.stored.report).toBeNull();
  });

  test('cannot send a report of 100 MB, which is not read beyond the limit', async () => {
    await start();
    for (const identity of [await honest.identity(), await selfSigned(ED25519)]) {
      const stream = openRawCall(session(identity));
      let status: unknown;
      stream.on('response', (head) => (status = head['grpc-status'])).resume();
      const ended = closed(stream);
      let sentBytes = 0;
      for (; sentBytes < 100 * MIB && !stream.closed; sentBytes += MIB) {
        const hasRoom = stream.write(Buffer.alloc(MIB));
        if (!hasRoom) await Promise.race([drained(stream), ended]);
      }
      await ended;
      expect(status).toBe(String(GrpcStatus.resourceExhausted));
      expect(sentBytes).toBeLessThan(8 * MIB);
    }
    expect(store.batches).toEqual([]);
    await isServed();
  });

  test('cannot make the server hold more than a bound, and real agents pass', async () => {
    const strangerBytes = { all: 100_000, each: 60_000 };
    await start({ limits: { strangerBytes, connectionBytes: 0 } });
    await isServed();
    const stalled = session(await selfSigned(ED25519));
    const first = openRawCall(stalled);
    first.write(Buffer.alloc(59_000));
    const other = session(await selfSigned(ED25519));
    await expect
      .poll(async () => (await rawCall(other, Buffer.alloc(2_000))).status)
      .toBe(String(GrpcStatus.resourceExhausted));
    await isServed();
    first.destroy();
    await expect
      .poll(async () => (await rawCall(other, Buffer.alloc(2_000))).status)
      .toBe(String(GrpcStatus.internal));
  });

  test('cannot keep agents out, known or new, by filling their bound', async () => {
    const errorMax = 'x'.repeat(4096);
    await start({ limits: { strangerBytes: { all: 60_000, each: 60_000 } } });
    openRawCall(session(await selfSigned(ED25519))).write(Buffer.alloc(70_000));
    const other = session(await selfSigned(ED25519));
    await expect
      .poll(async () => (await rawCall(other, Buffer.alloc(30_000))).status)
      .toBe(String(GrpcStatus.resourceExhausted));
    honest.stored.request = {
      generation: 1n,
      raw: installationRequestCodec.encode({ generation: 1n }),
    };
    await honest.beat({ installationReport: { generation: 1n, error: { error: errorMax } } });
    expect(honest.stored.report).toMatchObject({ generation: 1n, result: 'Error' });
    await honest.beat({ hardwareReport: { report: {}, warning: ['x'.repeat(30_000)] } });
    expect(honest.stored.hardwareReport).not.toBeNull();
  });

  test('lose a connection on which nothing arrives, like real agents', async () => {
    await start({ limits: { idleMs: 1_500, strangerMs: 600_000 } });
    const own = session(await honest.identity());
    const whole = writeFrame(heartbeatRequestCodec.encode({ machineId: honest.machine }));
    expect(await rawCall(own, whole)).toMatchObject({ status: String(GrpcStatus.ok) });
    await closed(own);
    expect(defaultLimits.idleMs).toBe(600_000);
  });

  test('lose a connection whose half they leave open after goodbye', async () => {
    const idleMs = 500;
    await start({ limits: { idleMs } });
    const identity = await honest.identity();
    const peer = await rawHttp2(identity, { allowHalfOpen: true });
    const whole = writeFrame(heartbeatRequestCodec.encode({ machineId: honest.machine }));
    await peer.send(headers(1), data(1, whole, END_STREAM));
    await expect.poll(() => honest.stored.heartbeats, PATIENCE).toBe(1);
    const ended = once(peer.socket, 'end');
    await peer.send(goaway);
    await ended;
    // An error thrown by the look would fail this run.
    await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
    await isServed();
  });

  test('cannot harm the server with 10 000 calls on one connection', async () => {
    await start();
    const peer = await rawHttp2();
    const streams = Array.from({ length: 10_000 }, (_, index) => headers(odd(index)));
    await peer.send(...streams);
    await isServed();
    // Accepted connections are as idle as before, and refused ones cost nothing.
    peer.socket.destroy();
    await peer.closed;
    expect(store.batches).toEqual([1]);
  });

  test('lose their connection when they reset calls as fast as they make them', async () => {
    await start();
    const peer = await rawHttp2();
    for (let round = 0; round < 100 && !peer.socket.destroyed; round += 1) {
      const from = round * 100;
      const calls = Array.from({ length: 100 }, (_, index) => odd(from + index));
      await peer.send(...calls.flatMap((stream) => [headers(stream), reset(stream)]));
    }
    await peer.closed;
    await isServed();
  });

  test('cannot harm the server with endless headers', async () => {
    await start();
    const peer = await rawHttp2();
    const junk = literal('x-junk', 'x'.repeat(4_000));
    await peer.send(headers(1, callHeaders, 0));
    for (let count = 0; count < 10_000 && !peer.socket.destroyed; count += 1) {
      await peer.send(continuation(1, junk));
    }
    await peer.closed;
    expect(peer.socket.bytesWritten).toBeLessThan(8 * MIB);
    await isServed();
  });

  test('cannot harm the server with headers that grow in memory', async () => {
    await start();
    const peer = await rawHttp2();
    const block = Buffer.concat([
      callHeaders,
      remembered('x-bomb', 'x'.repeat(3_900)),
      // Each byte stands for four thousand.
      Buffer.alloc(8_000, LAST_REMEMBERED),
    ]);
    await peer.send(headers(1, block));
    await isServed();
    const { heapUsed, external } = process.memoryUsage();
    for (let index = 1; index < 50 && !peer.socket.destroyed; index += 1) {
      await peer.send(headers(odd(index), block));
    }
    await isServed();
    const after = process.memoryUsage();
    // This would be 1.5 GB.
    expect(after.heapUsed + after.external - heapUsed - external).toBeLessThan(200 * MIB);
  });

  test('cannot harm the server with bytes that are no HTTP/2', async () => {
    await start();
    const peer = await rawHttp2();
    await peer.send(Buffer.alloc(100_000, 0xff));
    await peer.closed;
    const torn = await rawHttp2();
    await torn.send(data(1, Buffer.from('before any call')));
    await torn.closed;
    await isServed();
  });

  test('are sent away when they say little or nothing, while agents stay', async () => {
    const clock = createSimulatedClock();
    const limits = { strangerMs: 300, callMs: 3_600_000 };
    await start({ clock, limits, batch: { gapMs: 0, enough: 1, max: 1 } });
    await isServed();
    const silent = connectTls({ host, port, ca: [trust], ALPNProtocols: ['h2'] });
    silent.on('error', () => undefined).resume();
    const peer = await rawHttp2();
    await peer.send(headers(1));
    const drip = session(await selfSigned(ED25519));
    const stream = openRawCall(drip);
    const drops = setInterval(() => stream.write(Buffer.alloc(1)), 10);
    onTestFinished(() => clearInterval(drops));
    let left = 3;
    for (const end of [closed(silent), peer.closed, closed(drip)]) void end.then(() => (left -= 1));
    const allLeft = () => {
      clock.increment(limits.strangerMs);
      return left === 0;
    };
    await vi.waitUntil(allLeft, PATIENCE);
    const client = await clients.of(honest.key);
    await isServed();
    expect(await clients.of(honest.key)).toBe(client);
    expect(defaultLimits.strangerMs).toBeGreaterThan(defaultLimits.callMs);
  });

  test('get only their share by a flood of connections', async () => {
    const [burst, count] = [20, 300];
    await start({ limits: { connects: { perSecond: 0.001, burst }, strangerMs: 3_600_000 } });
    await isServed();
    const flood = Array.from({ length: count }, () => connectTcp({ host, port }));
    let sentAway = 0;
    for (const socket of flood) {
      socket.on('error', () => undefined).resume();
      socket.once('close', () => (sentAway += 1));
      onTestFinished(() => void socket.destroy());
    }
    // The agent took one of the connections that are accepted at once. None of the others sends
    // anything, and a handshake may take 10 s, so every accepted connection is still open.
    const letIn = burst - 1;
    await expect.poll(() => sentAway, { interval: 5 }).toBeGreaterThanOrEqual(count - letIn);
    expect(flood.filter(({ destroyed }) => !destroyed)).toHaveLength(letIn);
    await isServed();
    // Another address has its own share.
    const options = { host, port, ca: [trust], localAddress: '127.0.0.2', ALPNProtocols: ['h2'] };
    const other = connectTls(options).on('error', () => undefined);
    onTestFinished(() => void other.destroy());
    await once(other, 'secureConnect');
  });
});
