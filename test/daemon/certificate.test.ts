import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createTakeoverProtocol } from '../../src/adapters/agents/takeover-protocol.ts';
import { createDevCertificates } from '../../src/adapters/agents/tls-material.ts';
import type { TlsMaterial } from '../../src/adapters/agents/tls-material.ts';
import { createSimulatedClock } from '../doubles/simulated-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { createMemMetrics } from '../doubles/mem-metrics.ts';
import { parseConfig } from '../../src/config.ts';
import { openAgentServer } from '../../src/daemon/real-ports.ts';
import { createCloser } from '../../src/daemon/closer.ts';
import { TUNING } from '../../src/daemon/tuning.ts';
import { machineId } from '../../src/domain/ids.ts';
import { takeoverInitCodec } from '../../src/wire/codec.ts';
import { createMemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';
import { env, minimal } from '../config/examples.ts';

/** The agent-serving part of a daemon, with its certificate in files. */
async function openWithFiles() {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-certificate-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const put = ({ key, cert, caDer }: TlsMaterial) => {
    writeFileSync(join(directory, 'key.pem'), key);
    writeFileSync(join(directory, 'cert.pem'), cert);
    writeFileSync(join(directory, 'ca.pem'), new X509Certificate(caDer).toString());
  };
  const first = await createDevCertificates({ names: [] });
  put(first);
  const config = parseConfig(
    {
      ...minimal(),
      agent: { endpoint: 'localhost:1', endpointCaCertificatePath: 'ca.pem' },
      agentServer: { listen: '127.0.0.1:0', keyPath: 'key.pem', certificatePath: 'cert.pem' },
    },
    { env, baseDirectory: directory },
  );
  const clock = createSimulatedClock();
  const closer = createCloser(silentLog);
  onTestFinished(() => closer.close());
  const means = {
    config,
    clock,
    closer,
    log: silentLog,
    metrics: createMemMetrics(),
    tuning: { ...TUNING, agentServerGraceMs: 0 },
    version: '0',
    random: { next: () => 0.5, uuid: () => '' },
  };
  const fleet = { store: createMemHeartbeatStore(), isReady: () => true };
  const opened = await openAgentServer(means, fleet);
  onTestFinished(() => opened.server.close(0));
  return { ...opened, put, clock };
}

/** Whether the server presents a certificate of this authority. */
async function isTrusted(address: string, { caDer }: TlsMaterial): Promise<boolean> {
  const [host, port] = address.split(':');
  const ca = [new X509Certificate(caDer).toString()];
  const target = { host: host!, port: Number(port), ca, ALPNProtocols: ['h2'] };
  const socket = connect(target).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return once(socket, 'secureConnect').then(
    () => true,
    () => false,
  );
}

test('serves a replaced certificate without a restart, and tells agents', async () => {
  const { server, caCertificate, renewCertificate, put, clock } = await openWithFiles();
  const id = machineId('00000000-0000-4000-8000-000000000001');
  const protocol = createTakeoverProtocol({ endpoint: server.address, caCertificate });
  const told = () => Buffer.from(takeoverInitCodec.decode(protocol.request(id)).caCertificate!);
  for (const look of [renewCertificate, () => Promise.resolve(clock.increment(30_000))]) {
    const fresh = await createDevCertificates({ names: [] });
    expect(await isTrusted(server.address, fresh)).toBe(false);
    put(fresh);
    await look();
    await expect.poll(() => isTrusted(server.address, fresh)).toBe(true);
    expect(told().equals(fresh.caDer)).toBe(true);
  }
});

test('stops looking for a new certificate from the beginning of its close', async () => {
  const { server, clock } = await openWithFiles();
  expect(clock.pending).toBeGreaterThan(0);
  const closed = server.close(0);
  expect(clock.pending).toBe(0);
  await closed;
});
