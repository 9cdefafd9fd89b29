import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { constants, createSecureServer } from 'node:http2';
import type { Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import { heartbeatRequestCodec, heartbeatResponseCodec } from '../../../src/wire/codec.ts';
import type { HeartbeatRequest } from '../../../src/wire/codec.ts';
import { readFrame, statusTrailers, writeFrame } from '../../../src/wire/grpc.ts';

export const machineId = '6a2f41a3-c54c-fce8-32d2-0324e1c32e22';

/** A heartbeat as the server received it. */
interface Heard {
  readonly request: HeartbeatRequest;
  /** Raw key verified by TLS, hexadecimal. */
  readonly key: string;
}

/** An agent server that answers and records everything. */
export async function createListener(dir: string) {
  const { key, cert, caDer } = await createDevCertificates({ dir: `${dir}/tls`, names: [] });
  const heard: Heard[] = [];
  const sockets = new Set<TLSSocket>();
  const server: Http2SecureServer = createSecureServer({
    key,
    cert,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('stream', (stream) => {
    void readFrame(stream as AsyncIterable<Uint8Array>, 1e6).then((body) => {
      const socket = stream.session!.socket as TLSSocket;
      const certificate = socket.getPeerX509Certificate() as X509Certificate;
      const spki = certificate.publicKey.export({ type: 'spki', format: 'der' });
      heard.push({
        request: heartbeatRequestCodec.decode(body),
        key: spki.subarray(-32).toString('hex'),
      });
      stream.respond({ [constants.HTTP2_HEADER_STATUS]: 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(statusTrailers(0)));
      stream.end(writeFrame(heartbeatResponseCodec.encode({ heartbeatIntervalSeconds: 1n })));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    heard,
    connections: () => sockets.size,
    init: {
      machineId,
      bmaasEndpoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      caCertificate: caDer,
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
export type Listener = Awaited<ReturnType<typeof createListener>>;
