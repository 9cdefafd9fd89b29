import { randomUUID } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished, test } from 'vitest';
import { generateRawKeyPair } from '../../../src/agent/keys.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { createMemHeartbeatStore } from '../../doubles/mem-heartbeat-store.ts';
import { createClients, startTestServer } from './test-server.ts';

const GRACE_BEYOND_ANY_TEST_MS = 3_600_000;

/** A cable to `target`. Once it is pulled, nothing passes, not even the end of a connection. */
async function layCable(target: string) {
  const ends: Socket[] = [];
  let pulled = false;
  const [host, port] = target.split(':');
  const entrance = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host: host!, port: Number(port), allowHalfOpen: true });
    ends.push(near, far);
    for (const end of [near, far]) end.on('error', () => undefined);
    near.on('data', (bytes) => pulled || far.write(bytes));
    far.on('data', (bytes) => pulled || near.write(bytes));
  });
  await new Promise<void>((resolve) => entrance.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const end of ends) end.destroy();
    entrance.close();
  });
  const { port: ours } = entrance.address() as AddressInfo;
  return { address: `127.0.0.1:${ours}`, pull: () => void (pulled = true) };
}

test.for([{ inThread: false }, { inThread: true }])(
  'C3: stops without waiting for agents whose cable was pulled (in a thread: $inThread)',
  async ({ inThread }) => {
    const store = createMemHeartbeatStore();
    const [key, machine] = [generateRawKeyPair(), machineId(randomUUID())];
    store.start(machine, key.publicKey);
    const { server, trust } = await startTestServer({ store }, undefined, inThread);
    const cable = await layCable(server.address);
    const clients = createClients(cable.address, trust);
    onTestFinished(clients.close);
    const client = await clients.of(key);
    await client.heartbeat({ machineId: machine }, AbortSignal.timeout(240_000));

    cable.pull();

    await server.close(GRACE_BEYOND_ANY_TEST_MS);
  },
);
