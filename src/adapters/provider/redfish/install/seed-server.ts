import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { explain } from '../../../../domain/errors.ts';
import type { Clock } from '../../../clock/port.ts';
import type { Address, Listening, Network } from '../../../network/port.ts';
import type { Log } from '../../../log/port.ts';
import { TOKEN } from './claims.ts';
import { rangeOf, type InstallerContent, type InstallerFile } from './installer-files.ts';
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
const REASON_LENGTH_MAX = 500;
const SEED = /^\/s\/([a-z2-7]{52})\/(user-data|meta-data|install|ipxe|done|failed)$/;
const FILE = /^\/s\/([a-z2-7]{52})\/(installer\.iso|linux|initrd)$/;
const MAC = /^\/m\/((?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2})\/ipxe$/i;

/**
 * Serves seeds over plain HTTP on the provisioning network, from the first use of its URL. If
 * another daemon of this computer has the port, that daemon serves, and this one takes over when
 * the port becomes free.
 */
export function createSeedServer(options: SeedServerOptions) {
  const { at, service, clock, log, network } = options;
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    void serve(request, response).catch((error: unknown) => {
      log.warn({ cause: explain(error) }, 'a seed could not be served');
      if (response.headersSent) response.destroy();
      else send(response, 503, '');
    });
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

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const from = request.socket.remoteAddress ?? '';
    const [, token = '', name] = FILE.exec(url) ?? [];
    const isRead = method === 'GET' || method === 'HEAD';
    const file =
      name !== undefined && isRead && (await service.file(token, name as InstallerFile, from));
    if (file) return sendFile(request, response, file);
    const text = await answer(method, url, from, request);
    return text === null ? send(response, 404, 'not found\n') : send(response, 200, text);
  }

  async function answer(method: string, path: string, from: string, request: IncomingMessage) {
    const [, token = '', what = ''] = SEED.exec(path) ?? [];
    const isReport = what === 'done' || what === 'failed';
    if (TOKEN.test(token) && isReport && method === 'POST') {
      const said = await reasonIn(request);
      const reason = what === 'failed' ? said : null;
      return (await service.ended(token, { end: what, reason }, from)) ? '' : null;
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

function send(response: ServerResponse, status: number, text: string): void {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, { ...headers, connection: 'close' }).end(text);
}

async function sendFile(
  { method, headers: { range } }: IncomingMessage,
  response: ServerResponse,
  { sizeBytes, read }: InstallerContent,
): Promise<void> {
  const part = rangeOf(range, sizeBytes);
  const headers = { 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' };
  if (part === 'none') {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${sizeBytes}` }).end();
    return;
  }
  const { first, last } = part ?? { first: 0, last: sizeBytes - 1 };
  response.writeHead(part ? 206 : 200, {
    ...headers,
    'content-length': last - first + 1,
    ...(part && { 'content-range': `bytes ${first}-${last}/${sizeBytes}` }),
  });
  if (method === 'HEAD') response.end();
  else await pipeline(read(first, last), response);
}

/**
 * Why an installation failed, of our installer, which reports plain text. Bodies of others are
 * discarded: they may contain a secret.
 */
async function reasonIn(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > BYTES_MAX) throw new Error(`a report is longer than ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  if (request.headers['content-type'] !== 'text/plain') return null;
  const text = Buffer.concat(chunks)
    .toString('utf8')
    .replaceAll(/[^\x20-\x7e]+/g, ' ');
  return text.trim().slice(0, REASON_LENGTH_MAX);
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
