import grpc from '@grpc/grpc-js';
import { startAgentServer } from '../../../src/adapters/agents/http2-agent-server.ts';
import { createPgBmdb } from '../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { ECHO_PATH, type ServeRequest } from './heartbeats.ts';

/** One of the servers that are compared, in a process of its own; it ends with its parent. */
process.once('message', (request) => {
  void serve(request as ServeRequest).then((port) => process.send!(port));
});
process.once('disconnect', () => process.exit());

const NO_LIMIT = { perSecond: 1e9, burst: 1e9 };

const serve = (request: ServeRequest): Promise<number> =>
  request.url === null ? serveEcho(request) : serveAgents(request, request.url);

/** Ours: mutual TLS, and answered after the commit. */
async function serveAgents({ tls }: ServeRequest, url: string): Promise<number> {
  const bmdb = createPgBmdb({
    url,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    poolMax: 10,
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
  });
  const { address } = await startAgentServer({
    listen: { host: '127.0.0.1', port: 0 },
    tls,
    store: bmdb.heartbeats,
    clock: systemClock,
    log: silentLog,
    heartbeatIntervalSeconds: 30,
    batch: { maxMs: 20, max: 500 },
    // The callers here call as fast as they can, which no agent may.
    limits: { connects: NO_LIMIT, callsPerKey: NO_LIMIT },
  });
  return Number(address.split(':').at(-1));
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
