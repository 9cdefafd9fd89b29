import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { UsageError } from '../../domain/errors.ts';
import type { Slot } from '../../domain/ids.ts';
import type { Log } from '../log/port.ts';
import type { Inspector } from './port.ts';
import { addressIn, isOwnHost, isOwnOrigin, loadPage, servePage } from './page.ts';

export interface InspectorRelayOptions {
  /** Loopback only: what actors know is for nobody else. */
  readonly host: '127.0.0.1' | '::1';
  /** 0 takes a free one. */
  readonly port: number;
  readonly log: Log;
  /** Whose actors are shown. */
  readonly inspector: Pick<Inspector, 'watch'>;
}

export interface InspectorRelay {
  /** The page to open in a browser. */
  readonly url: string;
  close(): Promise<void>;
}

/** A page that lags by more is cut off; it comes back and starts over. */
const LAG_MAX_BYTES = 4 * 1024 * 1024;
const SOCKET_PATH = '/events';
/** Of the protocol of web sockets: try again later. */
const TRY_AGAIN_LATER = 1013;

/**
 * Lets a person watch actors in the Stately inspector: a page on loopback that lists them, and that
 * hands the same events to the inspector in a frame, if they want it. `?slot=` in the address chooses
 * a machine. The library's own server is not used, because it listens on all interfaces and lets
 * anybody send.
 * @throws {UsageError} when the address is taken or not loopback.
 */
export async function startInspectorRelay(options: InspectorRelayOptions): Promise<InspectorRelay> {
  const { log } = options;
  const page = await loadPage();
  const http = createServer({ requestTimeout: 10_000 }, (request, response) =>
    servePage(page, request, response),
  );
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024 });
  const viewers = new Set<WebSocket>();
  const welcome = (socket: WebSocket, request: IncomingMessage) => {
    const stop = options.inspector.watch(subjectOf(request), {
      wantsCharts: true,
      message: (text) => sendText(socket, text),
      dropped: (count) => sendText(socket, JSON.stringify({ type: 'shepherd.dropped', count })),
    });
    if (stop === null) {
      socket.close(TRY_AGAIN_LATER, 'As many look at actors as may: eight');
      return;
    }
    viewers.add(socket);
    socket.on('error', (err) => log.debug({ err }, 'inspector page failed'));
    socket.on('close', () => {
      viewers.delete(socket);
      stop();
    });
  };
  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refusal = refusalOf(request);
    if (refusal === null) {
      sockets.handleUpgrade(request, socket, head, (opened) => welcome(opened, request));
    } else {
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
  });
  await bind(http, options);
  return {
    url: urlOf(http, options.host),
    async close() {
      for (const socket of viewers) socket.terminate();
      sockets.close();
      await closed(http);
    },
  };
}

/**
 * Browsers open web sockets to any address for any page; the Origin tells them apart. Programs on
 * this machine send none.
 */
function refusalOf({ headers, url }: IncomingMessage): string | null {
  if (!isOwnHost(headers.host)) return '421 Misdirected Request';
  if (!isOwnOrigin(headers.origin, headers.host)) return '403 Forbidden';
  return addressIn(url).pathname === SOCKET_PATH ? null : '404 Not Found';
}

/** The machine that the address names; null: the supervisor and its first machines. */
const subjectOf = ({ url }: IncomingMessage) =>
  (addressIn(url).searchParams.get('slot') || null) as Slot | null;

function sendText(socket: WebSocket, text: string): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > LAG_MAX_BYTES) socket.terminate();
  else socket.send(text);
}

const MISTAKES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
};

/** The type says loopback already; a value from a file or a flag may still be another. */
async function bind(http: Server, { host, port }: InspectorRelayOptions): Promise<void> {
  const mistake = (text: string, options?: ErrorOptions) =>
    new UsageError(`inspector: ${host}:${port} ${text}; choose another with --inspect`, options);
  if (!['127.0.0.1', '::1'].includes(host)) throw mistake('is not a loopback address');
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  }).catch((cause: NodeJS.ErrnoException) => {
    const text = MISTAKES[cause.code ?? ''];
    throw text ? mistake(text, { cause }) : cause;
  });
}

function urlOf(http: Server, host: string): string {
  const { port } = http.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}

async function closed(http: Server): Promise<void> {
  const done = new Promise<void>((resolve, reject) => {
    http.close((error) => (error ? reject(error) : resolve()));
  });
  http.closeAllConnections();
  await done;
}
