import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listenAt, type Network } from '../../../../src/simulator/listen.ts';

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

/** Closes itself when the test has ended. @param network where it listens; TCP if absent. */
export async function startScriptedApi(script: Script, network?: Network): Promise<ScriptedApi> {
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
  const { port, close } = await listenAt(server, {
    ...{ host: '127.0.0.1', port: 0 },
    ...(network && { network }),
  });
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}/some/prefix`,
    seen,
    inFlightMax: () => inFlightMax,
    abandoned: () => abandoned,
    close,
  };
}

export function answer(res: ServerResponse, status: number, body: unknown, headers = {}): void {
  res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
}
