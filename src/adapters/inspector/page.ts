import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';

interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** Paths of the relay's page and what they answer. */
export type InspectorPage = ReadonlyMap<string, PageFile>;

const FILES = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/inspector.css', file: 'inspector.css', type: 'text/css; charset=utf-8' },
  { path: '/inspector.js', file: 'inspector.js', type: 'text/javascript; charset=utf-8' },
] as const;

/** Reads the page's files once. */
export async function loadPage(): Promise<InspectorPage> {
  const load = async ({ path, file, type }: (typeof FILES)[number]) => {
    const body = await readFile(new URL(`./page/${file}`, import.meta.url));
    return [path, { type, body }] as const;
  };
  return new Map(await Promise.all(FILES.map(load)));
}

/** The path and the query of a request. */
export const addressIn = (url = '/'): URL => new URL(`http://localhost${url}`);

/** Whether a Host header names this machine's loopback; another name may be a rebound one. */
export const isOwnHost = (host: string | undefined): boolean =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host ?? '');

/** Whether a request comes from our own page, or from no page at all. */
export const isOwnOrigin = (origin: string | undefined, host: string | undefined): boolean =>
  origin === undefined || origin === `http://${host}`;

/** The Stately inspector is framed, and only it; everything else comes from the relay itself. */
const headersFor = (host: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src ws://${host}`,
    'frame-src https://stately.ai',
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
});

/** Answers GET for the page's files, under loopback names only. */
export function servePage(
  page: InspectorPage,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { host = '' } = request.headers;
  const file = page.get(addressIn(request.url).pathname);
  if (!isOwnHost(host)) respond(response, 421);
  else if (request.method !== 'GET') respond(response, 405);
  else if (!file) respond(response, 404);
  else response.writeHead(200, { ...headersFor(host), 'content-type': file.type }).end(file.body);
}

const respond = (response: ServerResponse, status: number) => response.writeHead(status).end();
