import { z } from 'zod';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { PAGE_SECRET, type Grant } from '../../domain/access.ts';
import { act, described, type Api } from '../api/kit.ts';
import { Problem } from '../api/problem.ts';
import type { Access } from './access.ts';
import { sessionCookie, setCookie } from './credentials.ts';
import { digestOf, makeSecret } from './secrets.ts';

const LoginSchema = z.union([
  z.strictObject({ token: z.string().min(1).max(500) }).describe('Log in with a token.'),
  z
    .strictObject({ code: z.string().min(1).max(100) })
    .describe('Log in with the code of a one-time link.'),
]);
/** Holds the longest token, and any link with much room. */
const BODY_BYTES_MAX = 4_096;
const LoggedInSchema = z.object({
  name: z.string(),
  role: z.string(),
  secret: z
    .string()
    .describe(
      `Value of the header ${PAGE_SECRET}, which changing requests with the cookie need. Shown only once.`,
    ),
});

const CodeSchema = z.object({
  code: z.string().describe('Code of the one-time link `/login#<code>`.'),
});

/** A new login, and what is needed to ask the provider for the role again. */
export interface NewLogin extends Grant {
  readonly name: string;
  readonly identity: string | null;
  readonly proven: boolean;
  /** Token of the database with which the session ends. */
  readonly tokenId?: string | null;
  /** Makes the renewal for the cookie's secret. */
  readonly renewalFor?: (secret: string) => Uint8Array | null;
}

/**
 * Opens a session and sets its cookie. The cookie's value is stored nowhere.
 * @returns the secret that the page must show beside the cookie; neither follows from the other.
 */
export async function openSession(access: Access, reply: FastifyReply, login: NewLogin) {
  const { repository, cookies, random, log } = access.options;
  const [secret, pageSecret] = [makeSecret(random), makeSecret(random)];
  const { name, identity, role, providers, proven, tokenId = null } = login;
  await repository.sessions.open({
    ...{ id: random.uuid(), digest: digestOf(secret) },
    ...{ name, identity, role, providers, proven, tokenId },
    renewal: login.renewalFor?.(secret) ?? null,
    pageDigest: digestOf(pageSecret),
  });
  const sameSite = cookies.isSecure ? 'Lax' : 'Strict';
  setCookie(reply, cookies, { name: sessionCookie(cookies), value: secret, sameSite });
  log.info({ person: name, role, proven }, 'somebody logged in');
  return pageSecret;
}

/** `login`, `logout`, and people's sessions. */
export function addLogin(api: Api, access: Access): void {
  const { repository, cookies, log, random } = access.options;
  api.post(
    '/login',
    {
      // The sender is unknown yet, and parsing a long text of brackets would block everybody else.
      bodyLimit: BODY_BYTES_MAX,
      ...described(
        'open',
        ['console', 'Log in to the page. A cookie holds the session'],
        { 200: LoggedInSchema },
        { body: LoginSchema },
      ),
    },
    async (request, reply) => {
      access.admitLogin(request);
      const { body } = request;
      const login =
        'token' in body
          ? await access.personOfToken(body.token, request.ip)
          : await byCode(body.code);
      const pageSecret = await openSession(access, reply, login);
      return { name: login.name, role: login.role, secret: pageSecret };
    },
  );
  const byCode = async (code: string): Promise<NewLogin> => {
    const found = await repository.codes.redeem(digestOf(code));
    if (found) return { ...found, proven: false };
    throw new Problem(
      'not-signed-in',
      'The link is wrong, was used already, or is older than ten minutes: make a new one',
    );
  };
  api.post(
    '/login-codes',
    described(
      'see',
      ['console', 'Create a one-time link that logs in to the page. It is valid for ten minutes'],
      { 201: CodeSchema },
      {},
    ),
    async ({ person }, reply) => {
      if (person.via === 'none') {
        throw new Problem('not-signed-in', 'Nobody is logged in');
      }
      // Otherwise a page login could be extended for ever, link by link.
      if (person.via === 'cookie') {
        throw new Problem(
          'not-allowed',
          'A login of the page cannot create links: use a token or certificate',
        );
      }
      const { name, identity, role, providers, tokenId = null } = person;
      const code = makeSecret(random);
      await repository.codes.add({
        digest: digestOf(code),
        name,
        identity,
        role,
        providers,
        tokenId,
      });
      log.info({ person: name }, 'a login link was created');
      return reply.code(201).send({ code });
    },
  );
  api.post(
    '/logout',
    {
      ...act('see', 'console', 'Log out of the page', {}),
      config: { right: 'see', isByCookieAlone: true },
    },
    async (request, reply) => {
      const person = await access.logOut(request);
      if (person !== null) log.info({ person }, 'somebody logged out');
      const sameSite = cookies.isSecure ? 'Lax' : 'Strict';
      setCookie(reply, cookies, { name: sessionCookie(cookies), value: null, sameSite });
      return reply.code(204).send(null);
    },
  );
}

const FILES = [
  ['/login', 'login.html', 'text/html; charset=utf-8'],
  ['/login.js', 'login.js', 'text/javascript; charset=utf-8'],
  ['/login.css', 'login.css', 'text/css; charset=utf-8'],
] as const;

export interface LoginPageOptions {
  readonly hasIdentities: boolean;
  /** Whether visitors without a login may look. */
  readonly isOpen: boolean;
}

/** Explains how people log in: through an organisation, by a one-time link, or with a token. */
export function addLoginPage(app: FastifyInstance, { hasIdentities, isOpen }: LoginPageOptions) {
  for (const [path, name, type] of FILES) {
    const text = readFileSync(join(import.meta.dirname, 'page', name), 'utf8');
    const body = text
      .replace('data-identities=""', `data-identities="${hasIdentities}"`)
      .replace('data-open=""', `data-open="${isOpen}"`);
    app.get(path, { config: { right: 'open' } }, (_request, reply) => reply.type(type).send(body));
  }
}
