import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { writeFrame } from '../../../src/wire/grpc.ts';
import type { LoadRequest } from './heartbeats.ts';

/**
 * Callers in a process of their own, the same for every server: so many connections with TLS 1.3,
 * each with one unary call at a time. Counts the calls that were answered OK within the span.
 */
process.once('message', (request) => {
  void run(request as LoadRequest).then((answered) => {
    process.send!(answered);
    process.disconnect();
  });
});

async function run({ port, path, ca, callers, warmMs, spanMs }: LoadRequest): Promise<number> {
  const sessions = await Promise.all(
    callers.map(async (caller) => ({ caller, session: await open(port, ca, caller) })),
  );
  let answered = 0;
  let counts = false;
  let over = false;
  const loops = sessions.map(async ({ caller, session }) => {
    const frame = writeFrame(Buffer.from(caller.body, 'base64'));
    while (!over) {
      await call(session, path, frame);
      if (counts) answered += 1;
    }
  });
  const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await later(warmMs);
  counts = true;
  await later(spanMs);
  counts = false;
  over = true;
  await Promise.all(loops);
  for (const { session } of sessions) session.close();
  return answered;
}

function open(port: number, ca: string, { key, certificate }: LoadRequest['callers'][number]) {
  const createConnection = () => {
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      ca: [ca],
      key,
      cert: certificate,
      minVersion: 'TLSv1.3' as const,
      ALPNProtocols: ['h2'],
    });
    return socket.setNoDelay(true);
  };
  const session = connectHttp2(`https://127.0.0.1:${port}`, { createConnection });
  return new Promise<ClientHttp2Session>((resolve, reject) => {
    session.once('error', reject);
    session.once('connect', () => resolve(session));
  });
}

function call(session: ClientHttp2Session, path: string, frame: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { ':method': 'POST', ':path': path };
    const stream = session.request({
      ...headers,
      'content-type': 'application/grpc+proto',
      te: 'trailers',
    });
    let status: unknown;
    stream.on('response', (answer) => (status ??= answer['grpc-status']));
    stream.on('trailers', (trailers) => (status = trailers['grpc-status'] ?? status));
    stream.on('data', () => undefined);
    stream.on('error', reject);
    stream.on('close', () => {
      if (status === '0') resolve();
      else reject(new Error(`a call ended with status ${String(status)}`));
    });
    stream.end(frame);
  });
}
