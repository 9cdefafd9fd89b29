import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { LiveMachine } from '../../src/console/views.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** As strict as the policy of the console. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";

/** Draws the charts of the served machine. The clock starts at the time of the server. */
const ENTRY = `
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { MachineCharts } from './chart/machine-charts.tsx';
import { setClock, startTicking } from './live/clock.ts';
const read = async (path, signal) => {
  const answer = await fetch('/' + path.join('/'), { signal });
  if (!answer.ok) throw new Error(String(answer.status));
  const told = await answer.json();
  if (told.atMs) setClock(told.atMs);
  return told;
};
startTicking();
createRoot(document.getElementById('charts')).render(
  createElement(QueryClientProvider, { client: new QueryClient() },
    createElement(MachineCharts, {
      slot: ['stub', 'rack-1'], read })));
`;

export interface ChartPage {
  readonly url: string;
  /** Sets the answer of the API. Null: no answer. */
  tell(live: LiveMachine | null): void;
  close(): Promise<void>;
}

/** A page with only the charts of a machine. */
export async function serveChartPage(): Promise<ChartPage> {
  const [script, style] = await Promise.all([
    bundleOf({ contents: ENTRY, loader: 'tsx' }),
    styleOf(),
  ]);
  const charts = (id: string) => join(ROOT, `generated/charts/${id}.json`);
  const { readFile } = await import('node:fs/promises');
  let live: LiveMachine | null = null;
  let toldAtMs = 0;
  /** The answer, with the time that passed since it was set. */
  const liveNow = (told: LiveMachine) => ({ ...told, atMs: told.atMs + Date.now() - toldAtMs });
  const page = () =>
    '<!doctype html><html lang="en"><title>Charts</title><link rel="stylesheet" href="/style.css">' +
    `<body><main id="charts"></main><script type="module" src="/page.js"></script>`;
  const bodyOf = async (path: string): Promise<readonly [type: string, body: string] | null> => {
    if (path === '/') return ['text/html', page()];
    if (path === '/page.js') return ['text/javascript', script];
    if (path === '/style.css') return ['text/css', style];
    if (path.endsWith('/live') && live) return ['application/json', JSON.stringify(liveNow(live))];
    const [, id] = /^\/charts\/([\w-]+)$/.exec(path) ?? [];
    return id ? ['application/json', await readFile(charts(id), 'utf8')] : null;
  };
  const server = createServer((request, response) => {
    void bodyOf(request.url ?? '').then((found) => {
      const headers = {
        'content-security-policy': POLICY,
        'content-type': found?.[0] ?? 'text/plain',
      };
      response.writeHead(found ? 200 : 204, headers).end(found?.[1] ?? '');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    tell(told) {
      [live, toldAtMs] = [told, Date.now()];
    },
    close: () => closed(server),
  };
}

async function bundleOf(stdin: { contents: string; loader: 'tsx' | 'css' }): Promise<string> {
  const { outputFiles } = await build({
    stdin: { ...stdin, resolveDir: join(ROOT, 'web') },
    bundle: true,
    write: false,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  });
  return outputFiles[0]!.text;
}
const styleOf = () => bundleOf({ contents: "@import './style/index.css';", loader: 'css' });

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
}
