import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const FILES = [
  ['/login', 'login.html', 'text/html; charset=utf-8'],
  ['/login.js', 'login.js', 'text/javascript; charset=utf-8'],
  ['/login.css', 'login.css', 'text/css; charset=utf-8'],
] as const;

/** Where people log in, who are not known yet: with a token, or by a one-time link. */
export function addLoginPage(app: FastifyInstance, { hasIdentities }: { hasIdentities: boolean }) {
  for (const [path, name, type] of FILES) {
    const text = readFileSync(join(import.meta.dirname, 'page', name), 'utf8');
    const body = text.replace('data-identities=""', `data-identities="${hasIdentities}"`);
    app.get(path, { config: { right: 'open' } }, (_request, reply) => reply.type(type).send(body));
  }
}
