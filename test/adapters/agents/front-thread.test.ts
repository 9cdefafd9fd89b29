import { X509Certificate, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { runFrontThread } from '../../../src/adapters/agents/front-thread.ts';
import type { FromThread, ToThread } from '../../../src/adapters/agents/front-thread.ts';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { generateRawKeyPair } from '../../../src/agent/keys.ts';
import { createClients } from './test-server.ts';

/** The thread's side without the thread, and a daemon that accepts every report. */
async function startFront() {
  const { port1: daemon, port2: thread } = new MessageChannel();
  onTestFinished(() => daemon.close());
  const clock = createSimulatedClock();
  const told: FromThread[] = [];
  daemon.on('message', (message: FromThread) => {
    told.push(message);
    if (message.kind !== 'record') return;
    const { id, batch } = message;
    const outcome = { kind: 'accepted', atMs: 1, installationRequest: null } as const;
    const answer: ToThread = { kind: 'recorded', id, outcomes: batch.map(() => outcome) };
    daemon.postMessage(answer);
  });
  const { key, cert, caDer } = await createDevCertificates({ names: [] });
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
  const close = async () => {
    daemon.postMessage({ kind: 'close', graceMs: 0 } satisfies ToThread);
    await expect.poll(() => told.at(-1)?.kind).toBe('closed');
  };
  return { clock, told, address, trust: new X509Certificate(caDer).toString(), close };
}

test('B2: limits debug lines about strangers and passes all other lines', async () => {
  // Time stands still: the allowance for log lines does not grow.
  const { told, address, close } = await startFront();
  const [host, port] = address.split(':');
  const STRANGERS = 150;
  for (let at = 0; at < STRANGERS; at += 1) {
    const socket = connectTcp({ host: host!, port: Number(port) });
    socket.on('error', () => undefined).resume();
    const over = once(socket, 'close');
    socket.write('no handshake at all');
    await over;
  }
  await close();
  const lines = told.filter((each) => each.kind === 'log');
  expect(new Set(lines.map(({ level }) => level))).toEqual(new Set(['debug']));
  expect(lines).toHaveLength(100);
});

test('sends heartbeats that arrive close together as one message each way', async () => {
  const { clock, told, address, trust, close } = await startFront();
  const records = () => told.flatMap((each) => (each.kind === 'record' ? [each.batch.length] : []));
  const clients = createClients(address, trust);
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
  // From now on all agents are known and connected, and time stands still except between batches.
  clock.increment(5);
  told.length = 0;
  await beat(agents[0]!);
  const together = agents.slice(1).map(beat);
  // Nothing shows that a call has arrived and waits, so every call gets a moment without time
  // passing.
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(records()).toEqual([1]);
  clock.increment(5);
  await Promise.all(together);
  expect(records()).toEqual([1, agents.length - 1]);
  expect(told.filter(({ kind }) => kind !== 'record' && kind !== 'calls')).toEqual([]);
  await close();
});
