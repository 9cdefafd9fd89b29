import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

/** The whole page: four files and an icon, served as they are written. */
const FILES = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/assets/style.css', file: 'style.css', type: 'text/css; charset=utf-8' },
  { path: '/assets/app.js', file: 'app.js', type: 'text/javascript; charset=utf-8' },
  { path: '/assets/pools.js', file: 'pools.js', type: 'text/javascript; charset=utf-8' },
  { path: '/assets/icon.svg', file: 'icon.svg', type: 'image/svg+xml' },
] as const;

/** Reads the page's files once and serves them from memory. */
export async function addPage(app: FastifyInstance): Promise<void> {
  for (const { path, file, type } of FILES) {
    const body = await readFile(new URL(`./page/${file}`, import.meta.url));
    app.get(path, async (_request, reply) => reply.type(type).send(body));
  }
}
