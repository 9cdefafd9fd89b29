import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export type ImageHandler = (request: IncomingMessage, response: ServerResponse) => void;

export interface ImageServer {
  readonly url: string;
  /** Headers of the received requests, oldest first. */
  readonly requests: IncomingHttpHeaders[];
  /** Answers to the next requests, one each; then `otherwise` again. */
  readonly script: ImageHandler[];
  otherwise: ImageHandler;
}

/** On a free loopback port until the test ends. */
export async function startImageServer(otherwise: ImageHandler): Promise<ImageServer> {
  const server = createServer((request, response) => {
    images.requests.push(request.headers);
    (images.script.shift() ?? images.otherwise)(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise((resolve) => void server.close(() => resolve()));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/image`;
  const images: ImageServer = { url, requests: [], script: [], otherwise };
  return images;
}

/** Sends the content, or the requested range, like a server that can resume. */
export const serve =
  (content: Uint8Array, etag: string | null = '"v1"'): ImageHandler =>
  ({ headers }, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
    const isPart = from > 0 && headers['if-range'] === etag;
    const part = isPart ? content.subarray(from) : content;
    response.writeHead(isPart ? 206 : 200, {
      ...(etag && { etag }),
      'content-length': part.length,
      ...(isPart && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
    });
    response.end(part);
  };

/** Sends the beginning of the content, then breaks the connection. */
export const breakOffAfter =
  (sentBytes: number, content: Uint8Array, etag: string | null = '"v1"'): ImageHandler =>
  ({ headers }, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, {
      ...(etag && { etag }),
      'content-length': content.length - from,
      'content-range': `bytes ${from}-${content.length - 1}/${content.length}`,
    });
    response.write(content.subarray(from, from + sentBytes), () => response.destroy());
  };

export const status =
  (code: number, headers: Record<string, string> = {}): ImageHandler =>
  (_request, response) => {
    response.writeHead(code, headers).end('no image');
  };
