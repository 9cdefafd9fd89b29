import { startAgentServer } from '../../support/agent-server.ts';
import { createServer, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import grpc from '@grpc/grpc-js';
import { startAgentServerThread } from '../../../src/adapters/agents/agent-server-thread.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { TUNING } from '../../../src/daemon/tuning.ts';
import type { HeartbeatStore } from '../../../src/domain/heartbeat.ts';
import { openBmdb } from '../bmdb/world.ts';
import { ECHO_PATH, type ServeRequest, type Spent } from './heartbeats.ts';

/**
 * One of the servers that are compared, in a process of its own; it ends with its parent. Told what
 * to be it answers its port, and to anything else what it spent so far.
 */
process.once('message', (request) => {
  void serve(request as ServeRequest).then((port) => {
    process.send!(port);
    process.on('message', () => process.send!(spent()));
  });
});
process.once('disconnect', () => process.exit());

function spent(): Spent {
  const { user, system } = process.cpuUsage();
  return { cpuUs: user + system, memoryKb: process.memoryUsage.rss() / 1024 };
}

const NO_LIMIT = { perSecond: 1e9, burst: 1e9 };

function serve(request: ServeRequest): Promise<number> {
  const { tls, behind } = request;
  if (behind === 'echo') return serveEcho(request);
  if (behind === 'nothing') return serveBare(createSecureServer({ ...tls, ...MUTUAL }));
  if (behind === 'nothing, in the clear') return serveBare(createServer());
  return serveAgents(request);
}

const MUTUAL = { minVersion: 'TLSv1.3', requestCert: true, rejectUnauthorized: false } as const;

/** Ours, as a daemon serves it: in a thread of its own, answered after the commit. */
async function serveAgents({ tls, behind, url }: ServeRequest): Promise<number> {
  const options = {
    listen: { host: '127.0.0.1', port: 0 },
    tls,
    clock: systemClock,
    log: silentLog,
    heartbeatIntervalSeconds: 30,
    batch: TUNING.heartbeatBatch,
    // The callers here come all at once from one address, and call as fast as they can.
    limits: {
      connects: NO_LIMIT,
      callsPerKey: NO_LIMIT,
      strangersMax: 1e9,
      strangersPerAddress: 1e9,
    },
  };
  const module = new URL('../../../src/daemon/agent-thread.ts', import.meta.url);
  const { address } =
    behind === 'memory'
      ? await startAgentServer({ ...options, store: MEMORY })
      : await startAgentServerThread({ ...options, module, store: openBmdb(url).heartbeats });
  return Number(address.split(':').at(-1));
}

const MEMORY: HeartbeatStore = {
  recordHeartbeats: (batch) => {
    const atMs = Date.now();
    return Promise.resolve(
      batch.map(() => ({ kind: 'accepted', atMs, installationRequest: null })),
    );
  },
};

/** The least that answers a unary call with `node:http2`. */
async function serveBare(server: ReturnType<typeof createServer>): Promise<number> {
  server.on('stream', (stream: ServerHttp2Stream) => {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.on('end', () => {
      const head = { ':status': 200, 'content-type': 'application/grpc+proto' };
      stream.respond(head, { waitForTrailers: true });
      stream.end(Buffer.concat(pieces));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** The library, with nothing behind it: the message comes back as it is. */
function serveEcho({ tls }: ServeRequest): Promise<number> {
  const server = new grpc.Server();
  const same = (message: Buffer) => message;
  const method = {
    path: ECHO_PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  } as const;
  server.addService(
    { echo: method },
    {
      echo: (call: grpc.ServerUnaryCall<Buffer, Buffer>, answer: grpc.sendUnaryData<Buffer>) =>
        answer(null, call.request),
    },
  );
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) };
  const credentials = grpc.ServerCredentials.createSsl(null, [pair]);
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}
