import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createApi, type Api } from '../../../src/adapters/driver-kit/api.ts';
import type { AnswerForm } from '../../../src/adapters/driver-kit/outcome.ts';
import type { ApiDeps, ApiTerms } from '../../../src/adapters/driver-kit/terms.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';

export interface ScriptedResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const PLAIN: AnswerForm = {
  errorsIn: (json) =>
    json !== null && typeof json === 'object' && 'error' in json ? ['no'] : null,
  tellsAbsence: new Set([404]),
};

/** A server with prescribed answers, and an API in virtual time that calls the server. */
export async function createApiStand(
  answer: (request: Heard, n: number) => ScriptedResponse,
  terms: Partial<ApiTerms> = {},
  deps: Partial<ApiDeps> = {},
) {
  const clock = createSimulatedClock();
  const heard: Heard[] = [];
  const server = createServer(listener(answer, heard)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const log = recordingLog();
  const api: Api = createApi(
    {
      name: 'test',
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: () => 'a-token',
      headersFor: (token) => ({ Authorization: `Bearer ${token}` }),
      endpointName: (method, path) => `${method} ${path}`,
      form: PLAIN,
      limits: { maxConcurrency: 9, gapMs: 0 },
      timings: {
        connectTimeoutMs: 10_000,
        attemptTimeoutMs: 60_000,
        listPageTimeoutMs: 60_000,
        operationTimeoutMs: 600_000,
        backoffInitialMs: 500,
        backoffMaximumMs: 5_000,
        pauseMaxMs: 30_000,
        authPauseMs: 600_000,
      },
      ...terms,
    },
    { clock, random: createSeededRandom(1), log, ...deps },
  );
  onTestFinished(async () => {
    api.stop();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { api, clock, heard, lines: log.lines };
}

const listener =
  (answer: (request: Heard, n: number) => ScriptedResponse, heard: Heard[]): RequestListener =>
  (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, text: Buffer.concat(chunks).toString() };
      heard.push(one);
      const { status, body, headers: extra = {} } = answer(one, heard.length);
      response.writeHead(status, { 'Content-Type': 'application/json', ...extra });
      response.end(body === undefined ? '' : JSON.stringify(body));
    });
  };
