import type { AgentServerOptions } from '../../support/agent-server.ts';
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { TlsMaterial } from '../../../src/adapters/agents/tls-material.ts';
import { createClientIdentity, generateRawKeyPair } from '../../../src/agent/keys.ts';
import { machineId } from '../../../src/domain/ids.ts';
import type { HeartbeatRequest } from '../../../src/wire/codec.ts';
import { createMemHeartbeatStore } from '../../doubles/mem-heartbeat-store.ts';
import type { MemHeartbeatStore } from '../../doubles/mem-heartbeat-store.ts';
import { ED25519, openRawClient, selfSigned, type RawIdentity } from './raw-client.ts';
import { openRawHttp2 } from './raw-http2.ts';
import { createClients, startTestServer } from './test-server.ts';

export type AgentStand = Awaited<ReturnType<typeof startAgentStand>>;
export type StandAgent = ReturnType<AgentStand['agent']>;

export interface AgentStandOptions extends Partial<AgentServerOptions> {
  readonly store?: MemHeartbeatStore;
}

/** A real server with known and unknown agents. All of them end with the test. */
export async function startAgentStand(
  { store = createMemHeartbeatStore(), ...options }: AgentStandOptions = {},
  { tls, inThread = false }: { tls?: TlsMaterial; inThread?: boolean } = {},
) {
  const { server, trust } = await startTestServer({ store, ...options }, tls, inThread);
  onTestFinished(() => server.close(200));
  const { address } = server;
  const [host = '', port = ''] = address.split(':');
  const clients = createClients(address, trust);
  onTestFinished(clients.close);
  return {
    server,
    store,
    trust,
    address,
    host,
    port: Number(port),
    clients,
    /** A machine that the database knows. */
    agent() {
      const [key, machine] = [generateRawKeyPair(), machineId(randomUUID())];
      return {
        key,
        machine,
        stored: store.start(machine, key.publicKey),
        beat: async (request: Partial<HeartbeatRequest> = {}) => {
          const client = await clients.of(key);
          return client.heartbeat({ machineId: machine, ...request }, AbortSignal.timeout(240_000));
        },
        identity: async (): Promise<RawIdentity> => {
          const { key: privateKey, certificate } = await createClientIdentity(key);
          return { key: privateKey, cert: certificate };
        },
      };
    },
    /** A client that can break every rule. */
    session(identity: RawIdentity | null) {
      const session = openRawClient({ address, trust, identity });
      onTestFinished(() => session.destroy());
      return session;
    },
    /** A client, by default unknown, that can break the rules of HTTP/2. */
    async rawHttp2(identity?: RawIdentity, how: { allowHalfOpen?: boolean } = {}) {
      const own = identity ?? (await selfSigned(ED25519));
      const peer = await openRawHttp2(address, trust, own, how);
      onTestFinished(() => void peer.socket.destroy());
      return peer;
    },
  };
}
