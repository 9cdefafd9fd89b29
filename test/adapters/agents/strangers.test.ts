import type { AgentServerOptions } from '../../support/agent-server.ts';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Http2SecureServer } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { watchConnections, defaultLimits } from '../../../src/adapters/agents/limits.ts';
import { networkOf } from '../../../src/lib/network.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { heartbeatRequestCodec } from '../../../src/wire/codec.ts';
import { GrpcStatus, writeFrame } from '../../../src/wire/grpc.ts';
import { feed } from '../../support/feed.ts';
import { ED25519, rawCall, selfSigned } from './raw-client.ts';
import { startAgentStand } from './agent-stand.ts';

const closed = (emitter: NodeJS.EventEmitter) =>
  new Promise<void>((resolve) => emitter.once('close', () => resolve()));

/** One unknown agent costs less than the listener can bear. */
describe('B3: strangers at the agent server', () => {
  const start = async (limits: AgentServerOptions['limits'], inThread = false) => {
    const stand = await startAgentStand(limits ? { limits } : {}, { inThread });
    const { host, port, trust } = stand;
    const stranger = async () => {
      const identity = await selfSigned(ED25519);
      const target = { host, port, ca: [trust], ...identity, ALPNProtocols: ['h2'] };
      const socket = connectTls(target).on('error', () => undefined);
      socket.resume();
      onTestFinished(() => void socket.destroy());
      return socket;
    };
    const connected = async () => {
      const socket = await stranger();
      await once(socket, 'secureConnect');
      return socket;
    };
    return { ...stand, stranger, connected };
  };

  test('have a limited number of connections per address; agents do not count', async () => {
    const { agent, stranger, connected } = await start({ strangersPerAddress: 3 });
    const agents = Array.from({ length: 6 }, agent);
    // Each agent counts as unknown until its first heartbeat.
    for (const { beat } of agents) await beat();
    const waiting = await Promise.all([connected(), connected(), connected()]);
    await closed(await stranger());
    for (const { beat } of agents) await beat();
    expect(agents.map(({ stored }) => stored.heartbeats)).toEqual(agents.map(() => 2));
    waiting[0].destroy();
    const late = agent();
    await expect
      .poll(() =>
        late.beat().then(
          () => 'heard',
          () => 'refused',
        ),
      )
      .toBe('heard');
  });

  test('have a limited number of connections over all addresses', async () => {
    const { stranger, connected } = await start({ strangersMax: 2 });
    const waiting = await Promise.all([connected(), connected()]);
    await closed(await stranger());
    expect(waiting.some(({ destroyed }) => destroyed)).toBe(false);
  });

  test('from few networks keep no other out: the largest network makes room', async () => {
    const { host, port, agent } = await start({ strangersMax: 4, strangersPerAddress: 2 });
    const idle = async (localAddress: string) => {
      const socket = connectTcp({ host, port, localAddress }).on('error', () => undefined);
      socket.resume();
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      return socket;
    };
    const first = await idle('127.0.0.2');
    const others = [await idle('127.0.0.2'), await idle('127.0.0.3'), await idle('127.0.0.3')];
    const made = closed(first);
    const { stored, beat } = agent();
    await beat();
    await made;
    expect(stored.heartbeats).toBe(1);
    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  test('count once when they return by the same port, in any order of events', () => {
    const server = new EventEmitter();
    const limits = { ...defaultLimits, strangersPerAddress: 1 };
    watchConnections(server as Http2SecureServer, limits, systemClock);
    const arrive = (remotePort: number) => {
      const made = { remoteAddress: '192.0.2.7', remotePort, destroy: vi.fn<() => void>() };
      const socket = Object.assign(new EventEmitter(), made);
      server.emit('connection', socket);
      return socket;
    };
    const old = arrive(1);
    const again = arrive(1);
    expect(again.destroy).not.toHaveBeenCalled();
    old.emit('close');
    const late = arrive(2);
    expect(late.destroy).toHaveBeenCalled();
    late.emit('close');
    again.emit('close');
    expect(arrive(3).destroy).not.toHaveBeenCalled();
  });

  test('lose their connection after repeated refusals', async () => {
    const stand = await start({
      refusedCallsMax: 5,
      refusalMs: 60_000,
      // The connection does not end for lack of a heartbeat.
      strangerMs: 3_600_000,
    });
    const session = stand.session(await selfSigned(ED25519));
    const over = closed(session);
    const body = writeFrame(heartbeatRequestCodec.encode({ machineId: randomUUID() }));
    const statuses = [];
    for (let call = 0; call < 5; call += 1) statuses.push((await rawCall(session, body)).status);
    expect(new Set(statuses)).toEqual(new Set([String(GrpcStatus.unauthenticated)]));
    await rawCall(session, body);
    await over;
    expect(stand.store.batches).toEqual([1]);
  });

  test('B2: are not charged for refusals before an agent was heard', async () => {
    const stand = await start({ refusedCallsMax: 5 });
    const { machine, identity } = stand.agent();
    const session = stand.session(await identity());
    const statuses: unknown[] = [];
    const call = async (of: string) => {
      const body = writeFrame(heartbeatRequestCodec.encode({ machineId: of }));
      statuses.push((await rawCall(session, body)).status);
    };
    for (let round = 0; round < 3; round += 1) {
      for (let refused = 0; refused < 5; refused += 1) await call(randomUUID());
      await call(machine);
    }
    const refused = Array.from({ length: 5 }, () => String(GrpcStatus.unauthenticated));
    const once = [...refused, String(GrpcStatus.ok)];
    expect(statuses).toEqual([...once, ...once, ...once]);
    expect(session.destroyed).toBe(false);
  });

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ])('%s counts as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  test('default limits for strangers', () => {
    expect(defaultLimits).toMatchObject({
      connects: { perSecond: 50 },
      resets: { perSecond: 5, burst: 50 },
    });
    const { strangersPerAddress, strangersMax, connectionsMax } = defaultLimits;
    expect(strangersPerAddress).toBeLessThan(strangersMax);
    expect(strangersMax).toBeLessThan(connectionsMax);
  });

  test.each(['handshake', 'tcp', 'call', 'report', 'reset', 'bomb', 'ping', 'settings'])(
    'keep no agent out and the daemon responsive under ten fast connections (%s)',
    async (kind) => {
      const { agent, address, trust } = await start(undefined, true);
      const agents = Array.from({ length: 10 }, agent);
      for (const { beat } of agents) await beat();
      const script = join(import.meta.dirname, 'flood.ts');
      const flood = spawn(process.execPath, [script, address, kind], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      feed(flood, trust);
      await once(flood.stdout, 'data');
      const delay = monitorEventLoopDelay({ resolution: 5 });
      delay.enable();
      let oldestMs = 0;
      for (let round = 0; round < 5; round += 1) {
        const sentMs = performance.now();
        await Promise.all(agents.map(({ beat }) => beat()));
        oldestMs = Math.max(oldestMs, performance.now() - sentMs);
      }
      delay.disable();
      const ended = once(flood, 'exit');
      flood.kill();
      await ended;
      const loopMs = Math.round(delay.max / 1e6);
      console.log(
        `${kind}: slowest heartbeat ${Math.round(oldestMs)} ms, loop at most ${loopMs} ms`,
      );
      expect(agents.map(({ stored }) => stored.heartbeats)).toEqual(agents.map(() => 6));
    },
  );
});
