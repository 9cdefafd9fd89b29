import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { explain } from '../../../../domain/errors.ts';
import type { Clock } from '../../../clock/port.ts';
import type { Address, Listening, Network } from '../../../network/port.ts';
import type { Log } from '../../../log/port.ts';
import { TOKEN } from './claims.ts';
import type { Document, SeedService } from './seed-service.ts';

export interface SeedServerOptions {
  readonly at: { readonly host: string; readonly port: number };
  readonly service: SeedService;
  readonly clock: Clock;
  readonly log: Log;
  /** TCP if absent. */
  readonly network?: Network | undefined;
}

const RETRY_MS = 10_000;
const REQUEST_MS = 30_000;
const BYTES_MAX = 64 * 1024;
const SEED = /^\/s\/([a-z2-7]{52})\/(user-data|meta-data|ipxe|done|failed)$/;
const MAC = /^\/m\/((?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2})\/ipxe$/i;

/**
 * Serves seeds over plain HTTP on the provisioning network, from the first use of its URL. If
 * another daemon of this computer has the port, that daemon serves, and this one takes over when
 * the port becomes free.
 */
export function createSeedServer(options: SeedServerOptions) {
  const { at, service, clock, log, network } = options;
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    void serve(request)
      .catch((error: unknown) => {
        log.warn({ cause: explain(error) }, 'a seed could not be served');
        return { status: 503, text: '' };
      })
      .then(({ status, text }) => send(response, status, text));
  });
  let isClosed = false;
  let timer: unknown;
  let listening: Promise<Listening> | null = null;

  function listen(): Promise<Listening> {
    const tried = listenOn(server, at, network);
    tried.catch((error: unknown) => {
      if (isClosed) return;
      const fields = { host: at.host, port: at.port, cause: explain(error) };
      log.warn(fields, 'the seed server cannot listen; it will retry');
      timer = clock.setTimeout(() => {
        listening = listen();
      }, RETRY_MS);
    });
    return tried;
  }

  async function serve(request: IncomingMessage): Promise<{ status: number; text: string }> {
    const { method = '', url = '' } = request;
    const from = request.socket.remoteAddress ?? '';
    const text = await answer(method, url, from, request);
    return text === null ? NOT_FOUND : { status: 200, text };
  }

  async function answer(method: string, path: string, from: string, request: IncomingMessage) {
    const [, token = '', what = ''] = SEED.exec(path) ?? [];
    const isReport = what === 'done' || what === 'failed';
    if (TOKEN.test(token) && isReport && method === 'POST') {
      await discard(request);
      return (await service.ended(token, what, from)) ? '' : null;
    }
    if (method !== 'GET') return null;
    if (TOKEN.test(token) && !isReport) return service.document(token, what as Document, from);
    const [, mac] = MAC.exec(path) ?? [];
    return mac === undefined ? null : service.byMac(mac.toLowerCase().replaceAll('-', ':'), from);
  }

  return {
    /**
     * Its URL, without a trailing slash. The first call starts the server. @throws {Error} it
     * cannot listen.
     */
    async url(): Promise<string> {
      const { host, port } = await (listening ??= listen());
      return `http://${host}:${port}`;
    },
    async close(): Promise<void> {
      isClosed = true;
      clock.clearTimeout(timer);
      const open = await listening?.catch(() => null);
      await open?.close();
    },
  };
}
const NOT_FOUND = { status: 404, text: 'not found\n' };

function send(response: ServerResponse, status: number, text: string): void {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, { ...headers, connection: 'close' }).end(text);
}

/** The installer's body is discarded: it may contain a secret. */
async function discard(request: IncomingMessage): Promise<void> {
  let sizeBytes = 0;
  for await (const chunk of request) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > BYTES_MAX) throw new Error(`a report is longer than ${BYTES_MAX} bytes`);
  }
}

/** @throws {Error} the address cannot be bound. */
async function listenOn(
  server: Server,
  { host, port }: Address,
  network?: Network,
): Promise<Listening> {
  if (network) return network.listen(server, { host, port });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host === '' ? undefined : host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    host: family === 'IPv6' ? `[${address}]` : address,
    port: taken,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
