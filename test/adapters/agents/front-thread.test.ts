import { X509Certificate } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runFrontThread } from '../../../src/adapters/agents/front-thread.ts';
import type { FromThread, ToThread } from '../../../src/adapters/agents/thread-messages.ts';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import type { TlsMaterial } from '../../../src/adapters/agents/tls-material.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import { createMemHeartbeatStore } from '../../doubles/mem-heartbeat-store.ts';
import { generateRawKeyPair } from '../../../src/agent/keys.ts';
import { createClients, startTestServer } from './test-server.ts';

const material = () => createDevCertificates({ names: [] });

describe('keys of an agent server in a thread of its own', () => {
  const fingerprint = ({ cert }: TlsMaterial) => new X509Certificate(cert).fingerprint256;
  const shownAt = async (address: string): Promise<string> => {
    const [host, port] = address.split(':');
    const target = { host: host!, port: Number(port), ALPNProtocols: ['h2'] };
    // Which authority it is of does not matter here: its fingerprint is compared.
    const socket = connectTls({ ...target, rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };
  const start = async () => {
    const [old, fresh] = await Promise.all([material(), material()]);
    const { server } = await startTestServer({ store: createMemHeartbeatStore() }, old, true);
    onTestFinished(() => server.close(100));
    return { old, fresh, server };
  };

  test('B2: new ones are what new connections are shown', async () => {
    const { old, fresh, server } = await start();
    expect(await shownAt(server.address)).toBe(fingerprint(old));
    server.present(fresh);
    await expect.poll(() => shownAt(server.address)).toBe(fingerprint(fresh));
  });

  test('B2: those that cannot be used are refused before the thread hears of them', async () => {
    const { old, fresh, server } = await start();
    for (const wrong of [
      { ...fresh, key: old.key },
      { key: 'x', cert: 'y' },
    ]) {
      expect(() => server.present(wrong)).toThrow(UsageError);
    }
    expect(await shownAt(server.address)).toBe(fingerprint(old));
  });
});

test('B2: strangers cause only so many lines for debugging, and the others come through', async () => {
  const { port1: daemon, port2: thread } = new MessageChannel();
  onTestFinished(() => daemon.close());
  const told: FromThread[] = [];
  daemon.on('message', (message: FromThread) => void told.push(message));
  const { key, cert } = await material();
  await runFrontThread({
    port: thread,
    // Time stands still: nothing is added to what may be told at once.
    clock: createSimulatedClock(),
    start: {
      listen: { host: '127.0.0.1', port: 0 },
      tls: { key, cert },
      knowsHardware: false,
      heartbeatIntervalSeconds: 30,
      batch: { gapMs: 5, enough: 100, max: 500 },
    },
  });
  await expect.poll(() => told.map(({ kind }) => kind)).toEqual(['listening']);
  const [listening] = told;
  const [host, port] = (listening as { readonly address: string }).address.split(':');
  const STRANGERS = 150;
  for (let at = 0; at < STRANGERS; at += 1) {
    const socket = connectTcp({ host: host!, port: Number(port) });
    socket.on('error', () => undefined).resume();
    const over = once(socket, 'close');
    socket.write('no handshake at all');
    await over;
  }
  daemon.postMessage({ kind: 'close', graceMs: 0 } satisfies ToThread);
  await expect.poll(() => told.at(-1)?.kind).toBe('closed');
  const lines = told.filter((each) => each.kind === 'log');
  expect(new Set(lines.map(({ level }) => level))).toEqual(new Set(['debug']));
  expect(lines).toHaveLength(100);
});

test('heartbeats that come soon after each other are one message to the daemon, and one back', async () => {
  const { port1: daemon, port2: thread } = new MessageChannel();
  onTestFinished(() => daemon.close());
  const clock = createSimulatedClock();
  const told: FromThread[] = [];
  const records = () => told.flatMap((each) => (each.kind === 'record' ? [each.batch.length] : []));
  daemon.on('message', (message: FromThread) => {
    told.push(message);
    if (message.kind !== 'record') return;
    const { id, batch } = message;
    const outcome = { kind: 'accepted', atMs: 1, installationRequest: null } as const;
    const answer: ToThread = { kind: 'recorded', id, outcomes: batch.map(() => outcome) };
    daemon.postMessage(answer);
  });
  const { key, cert, caDer } = await material();
  await runFrontThread({
    port: thread,
    clock,
    start: {
      listen: { host: '127.0.0.1', port: 0 },
      tls: { key, cert },
      knowsHardware: false,
      heartbeatIntervalSeconds: 30,
      batch: { gapMs: 5, enough: 100, max: 500 },
    },
  });
  await expect.poll(() => told.map(({ kind }) => kind)).toEqual(['listening']);
  const { address } = told[0] as Extract<FromThread, { kind: 'listening' }>;
  const clients = createClients(address, new X509Certificate(caDer).toString());
  onTestFinished(clients.close);
  const agents = Array.from({ length: 20 }, () => ({
    key: generateRawKeyPair(),
    machine: randomUUID(),
  }));
  let answered = 0;
  const beat = async ({ key, machine }: (typeof agents)[number]) => {
    const client = await clients.of(key);
    await client.heartbeat({ machineId: machine }, AbortSignal.timeout(240_000));
    answered += 1;
  };
  const all = agents.map(beat);
  await expect
    .poll(() => {
      clock.increment(5);
      return answered;
    })
    .toBe(agents.length);
  await Promise.all(all);
  // From now on all are known and connected, and time stands still but for the gap between batches.
  clock.increment(5);
  told.length = 0;
  await beat(agents[0]!);
  const together = agents.slice(1).map(beat);
  // Nothing shows that a call has arrived and waits, so all get a moment in which no time passes.
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(records()).toEqual([1]);
  clock.increment(5);
  await Promise.all(together);
  expect(records()).toEqual([1, agents.length - 1]);
  expect(told.filter(({ kind }) => kind !== 'record' && kind !== 'calls')).toEqual([]);
  daemon.postMessage({ kind: 'close', graceMs: 0 } satisfies ToThread);
  await expect.poll(() => told.at(-1)?.kind).toBe('closed');
});
