import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';

const FILES = [
  ['/login', 'login.html', 'text/html; charset=utf-8'],
  ['/login.js', 'login.js', 'text/javascript; charset=utf-8'],
  ['/login.css', 'login.css', 'text/css; charset=utf-8'],
] as const;

export interface LoginPageOptions {
  readonly hasIdentities: boolean;
  /** Whoever is not logged in may look, too. */
  readonly isOpen: boolean;
}

/** Says how people log in: by an organisation, by a one-time link, or with a token. */
export function addLoginPage(app: FastifyInstance, { hasIdentities, isOpen }: LoginPageOptions) {
  for (const [path, name, type] of FILES) {
    const text = readFileSync(join(import.meta.dirname, 'page', name), 'utf8');
    const body = text
      .replace('data-identities=""', `data-identities="${hasIdentities}"`)
      .replace('data-open=""', `data-open="${isOpen}"`);
    app.get(path, { config: { right: 'open' } }, (_request, reply) => reply.type(type).send(body));
  }
}
