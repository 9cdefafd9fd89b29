import { startAgentServer, type AgentServerOptions } from '../../support/agent-server.ts';
import { X509Certificate } from 'node:crypto';
import { startAgentServerThread } from '../../../src/adapters/agents/agent-server-thread.ts';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import type { TlsMaterial } from '../../../src/adapters/agents/tls-material.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import {
  createCallbackClient,
  type CallbackClient,
  parseEndpoint,
} from '../../../src/agent/callback-client.ts';
import { createClientIdentity, type RawKeyPair } from '../../../src/agent/keys.ts';

/**
 * A real server on a free loopback port, in its own thread on request. `trust` is its authority,
 * PEM.
 */
export async function startTestServer(
  options: Pick<AgentServerOptions, 'store'> & Partial<AgentServerOptions>,
  tls?: TlsMaterial,
  inThread = false,
) {
  const material = tls ?? (await createDevCertificates({ names: [] }));
  const server = await (inThread ? startAgentServerThread : startAgentServer)({
    module: new URL('../../../src/daemon/agent-thread.ts', import.meta.url),
    listen: { host: '127.0.0.1', port: 0 },
    tls: material,
    log: silentLog,
    clock: systemClock,
    heartbeatIntervalSeconds: 30,
    batch: { gapMs: 5, enough: 100, max: 500 },
    ...options,
  });
  return { server, tls: material, trust: new X509Certificate(material.caDer).toString() };
}

/** Agents' clients, one per key. */
export function createClients(address: string, trust: string) {
  const clients = new Map<RawKeyPair, Promise<CallbackClient>>();
  const open: CallbackClient[] = [];
  const connect = async (key: RawKeyPair) => {
    const client = createCallbackClient({
      endpoint: parseEndpoint(address),
      identity: await createClientIdentity(key),
      trust,
      callTimeoutMs: 60_000,
    });
    open.push(client);
    return client;
  };
  return {
    of(key: RawKeyPair): Promise<CallbackClient> {
      const client = clients.get(key) ?? connect(key);
      clients.set(key, client);
      return client;
    },
    close: () => open.forEach((client) => client.close()),
  };
}
