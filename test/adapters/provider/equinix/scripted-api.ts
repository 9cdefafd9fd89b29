import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** A loopback server that answers as a test says, for what an honest emulator never answers. */
export interface ScriptedApi {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  inFlightMax(): number;
  /** Sockets that a client left before the answer. */
  abandoned(): number;
  close(): Promise<void>;
}

export type Script = (
  request: SeenRequest,
  response: ServerResponse,
  count: number,
) => void | Promise<void>;

export async function startScriptedApi(script: Script): Promise<ScriptedApi> {
  const seen: SeenRequest[] = [];
  let inFlight = 0;
  let inFlightMax = 0;
  let abandoned = 0;
  const server = createServer((req, res) => {
    inFlightMax = Math.max(inFlightMax, ++inFlight);
    res.on('close', () => {
      inFlight--;
      if (!res.writableFinished) abandoned++;
    });
    void text(req).then((content) => {
      const url = new URL(req.url ?? '/', 'http://127.0.0.1');
      const request: SeenRequest = {
        method: req.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: req.headers,
        body: content === '' ? undefined : (JSON.parse(content) as unknown),
      };
      seen.push(request);
      return script(request, res, seen.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/some/prefix`,
    seen,
    inFlightMax: () => inFlightMax,
    abandoned: () => abandoned,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answer(res: ServerResponse, status: number, body: unknown, headers = {}): void {
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
}
