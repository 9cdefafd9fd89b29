import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createInspector } from '@statelyai/inspect';
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { ActorRefLike, InspectionEvent } from 'xstate';
import { UsageError } from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { createFeed } from './feed.ts';
import { textOf } from './messages.ts';
import { isOwnHost, isOwnOrigin, loadPage, servePage } from './page.ts';

export interface InspectorRelayOptions {
  /** Loopback only: what actors know is for nobody else. */
  readonly host: '127.0.0.1' | '::1';
  /** 0 takes a free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Which actors are shown; asked once per actor, by its ref. */
  readonly select: (actor: ActorRefLike) => boolean;
}

export interface InspectorRelay {
  /** The page to open in a browser. */
  readonly url: string;
  /** For `createActor(…, { inspect })` of every root that has actors to show. */
  readonly inspect: (event: InspectionEvent) => void;
  close(): Promise<void>;
}

/** Statecharts are nested more deeply than the library's default of 10. */
const DEPTH_MAX = 40;
/** A page that lags by more is cut off; it comes back and starts over. */
const LAG_MAX_BYTES = 4 * 1024 * 1024;
const VIEWERS_MAX = 8;
const SOCKET_PATH = '/events';

/**
 * Lets a person watch actors in the Stately inspector: a page on loopback that lists them, and that
 * hands the same events to the inspector in a frame, if they want it. The library's own server is
 * not used, because it listens on all interfaces and lets anybody send.
 * @throws {UsageError} when the address is taken or not loopback.
 */
export async function startInspectorRelay(options: InspectorRelayOptions): Promise<InspectorRelay> {
  const { log } = options;
  const page = await loadPage();
  const http = createServer({ requestTimeout: 10_000 }, (request, response) =>
    servePage(page, request, response),
  );
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024 });
  const viewers = new Map<WebSocket, (event: InspectionEvent) => void>();
  const feed = createFeed({
    clock: options.clock,
    select: options.select,
    emit: (event) => viewers.forEach((show) => show(event)),
    dropped: (count) => viewers.forEach((_, socket) => sendText(socket, droppedMessage(count))),
  });
  const welcome = (socket: WebSocket) => {
    const show = translator(socket);
    socket.on('error', (err) => log.debug({ err }, 'inspector page failed'));
    socket.on('close', () => {
      viewers.delete(socket);
      feed.watch(viewers.size > 0);
    });
    feed.replay().forEach(show);
    viewers.set(socket, show);
    feed.watch(true);
  };
  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const refusal = refusalOf(request, viewers.size);
    if (refusal === null) sockets.handleUpgrade(request, socket, head, welcome);
    else socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  });
  await bind(http, options);
  return {
    url: urlOf(http, options.host),
    inspect: feed.inspect,
    async close() {
      feed.close();
      for (const socket of viewers.keys()) socket.terminate();
      sockets.close();
      await closed(http);
    },
  };
}

/**
 * Browsers open web sockets to any address for any page; the Origin tells them apart. Programs on
 * this machine send none.
 */
function refusalOf(request: IncomingMessage, viewers: number): string | null {
  if (!isOwnHost(request.headers.host)) return '421 Misdirected Request';
  if (!isOwnOrigin(request.headers.origin, request.headers.host)) return '403 Forbidden';
  if (request.url !== SOCKET_PATH) return '404 Not Found';
  return viewers < VIEWERS_MAX ? null : '503 Service Unavailable';
}

/** The library's translation into the inspector's wire form, with a socket at its end. */
function translator(socket: WebSocket): (event: InspectionEvent) => void {
  const send = (event: StatelyInspectionEvent) => sendText(socket, textOf(event));
  const inspector = createInspector({ send }, { serializationDepthLimit: DEPTH_MAX });
  return (event) => inspector.inspect.next?.(event);
}

const droppedMessage = (count: number) => JSON.stringify({ type: 'shepherd.dropped', count });

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
