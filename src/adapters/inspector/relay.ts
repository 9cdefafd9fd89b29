import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { UsageError } from '../../domain/errors.ts';
import type { Slot } from '../../domain/ids.ts';
import type { Log } from '../log/port.ts';
import type { Inspector } from './port.ts';

export interface InspectorRelayOptions {
  /** Loopback only: nobody else may see actors. */
  readonly host: '127.0.0.1' | '::1';
  /** 0 takes a free port. */
  readonly port: number;
  readonly log: Log;
  /** Source of the actors. */
  readonly inspector: Inspector;
}

export interface InspectorRelay {
  /**
   * The page to open in a browser; as `ws:`, the address for `createWebSocketReceiver` of
   * `@statelyai/inspect`.
   */
  readonly url: string;
  close(): Promise<void>;
}

/** A reader that lags by more is disconnected. */
const LAG_MAX_BYTES = 4 * 1024 * 1024;
/** Status of the web socket protocol: try again later. */
const TRY_AGAIN_LATER = 1013;

/**
 * Sends actors over web sockets on loopback, in the protocol of `@statelyai/inspect`. `?slot=` in
 * the URL chooses a machine. Its page passes the messages to Stately's inspector in a frame. The
 * library's own server is not used, because it listens on all interfaces and accepts everybody's
 * messages.
 * @throws {UsageError} the address is taken or not loopback.
 */
export async function startInspectorRelay(options: InspectorRelayOptions): Promise<InspectorRelay> {
  const { host, log, inspector } = options;
  const page = await loadPage();
  const http = createServer({ requestTimeout: 10_000 }, (request, response) =>
    servePage(page, request, response),
  );
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024 });
  const welcome = (socket: WebSocket, request: IncomingMessage) => {
    const slot = (addressIn(request).searchParams.get('slot') || null) as Slot | null;
    const stop = inspector.watch(slot, (text) => sendText(socket, text));
    if (stop === null) {
      socket.close(TRY_AGAIN_LATER, 'As many look at actors as may: eight');
      return;
    }
    socket.on('error', (err) => log.debug({ err }, 'an inspector reader failed'));
    socket.on('close', stop);
  };
  http.on('upgrade', (request: IncomingMessage, socket, head) => {
    const refusal = refusalOf(request);
    if (refusal === null) {
      sockets.handleUpgrade(request, socket, head, (opened) => welcome(opened, request));
    } else {
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
  });
  await bind(http, options);
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/`,
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      const done = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await done;
    },
  };
}

/** The path and the query of a request. */
const addressIn = ({ url = '/' }: IncomingMessage): URL => new URL(`http://localhost${url}`);

/** Whether a Host header names this machine's loopback; other names may be DNS rebinding. */
const isOwnHost = (host: string | undefined): boolean =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host ?? '');

/**
 * A page of any origin can open web sockets to any address; the Origin header reveals it. Programs
 * on this machine send none.
 */
function refusalOf({ headers: { host, origin } }: IncomingMessage): string | null {
  if (!isOwnHost(host)) return '421 Misdirected Request';
  return origin === undefined || origin === `http://${host}` ? null : '403 Forbidden';
}

function sendText(socket: WebSocket, text: string): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > LAG_MAX_BYTES) socket.terminate();
  else socket.send(text);
}

/** Responses by path. */
type Page = ReadonlyMap<string, { readonly type: string; readonly body: Buffer }>;

async function loadPage(): Promise<Page> {
  const load = async (path: string, file: string, type: string) => {
    const body = await readFile(new URL(`./page/${file}`, import.meta.url));
    return [path, { type: `${type}; charset=utf-8`, body }] as const;
  };
  return new Map([
    await load('/', 'index.html', 'text/html'),
    await load('/bridge.js', 'bridge.js', 'text/javascript'),
  ]);
}

/** Only the Stately inspector may be framed; everything else comes from the relay itself. */
const headersFor = (host: string) => ({
  'content-security-policy':
    `default-src 'none'; script-src 'self'; connect-src ws://${host}; frame-src https://stately.ai; ` +
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
});

/** Answers GET requests for the page's files, under loopback names only. */
function servePage(page: Page, request: IncomingMessage, response: ServerResponse): void {
  const { host = '' } = request.headers;
  const file = page.get(addressIn(request).pathname);
  if (!isOwnHost(host)) response.writeHead(421).end();
  else if (request.method !== 'GET') response.writeHead(405).end();
  else if (!file) response.writeHead(404).end();
  else response.writeHead(200, { ...headersFor(host), 'content-type': file.type }).end(file.body);
}

const MISTAKES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
};

/** The type says loopback, but a value from a file or a flag may differ. */
async function bind(http: Server, { host, port }: InspectorRelayOptions): Promise<void> {
  const mistake = (text: string, options?: ErrorOptions) =>
    new UsageError(
      `inspector: ${host}:${port} ${text}; give another address with --inspect`,
      options,
    );
  if (!['127.0.0.1', '::1'].includes(host)) throw mistake('is not a loopback address');
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  }).catch((cause: NodeJS.ErrnoException) => {
    const text = MISTAKES[cause.code ?? ''];
    throw text ? mistake(text, { cause }) : cause;
  });
}
