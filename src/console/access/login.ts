import { z } from 'zod';
import type { FastifyReply } from 'fastify';
import { PAGE_SECRET, type Grant } from '../../domain/access.ts';
import type { Api } from '../api/kit.ts';
import { Problem } from '../api/problem.ts';
import type { Access } from './access.ts';
import { sessionCookie, setCookie } from './cookies.ts';
import { digestOf, makeSecret } from './secrets.ts';

const LoginSchema = z.union([
  z.strictObject({ token: z.string().min(1).max(500) }).describe('A token for programs.'),
  z.strictObject({ code: z.string().min(1).max(100) }).describe('What a one-time link holds.'),
]);
/** The longest token, and much more than any link. */
const BODY_BYTES_MAX = 4_096;
const LoggedInSchema = z.object({
  name: z.string(),
  role: z.string(),
  secret: z
    .string()
    .describe(`Header ${PAGE_SECRET} of what is changed with the cookie; shown this once.`),
});

/** Who logs in, and with what their role can be asked again. */
export interface NewLogin extends Grant {
  readonly name: string;
  readonly identity: string | null;
  readonly proven: boolean;
  /** Token of the database with which the session ends. */
  readonly tokenId?: string | null;
  /** Made for the secret of the cookie. */
  readonly renewalFor?: (secret: string) => Uint8Array | null;
}

/**
 * Opens a session and hands its cookie out. What the cookie holds is stored nowhere.
 * @returns what the page has to show beside the cookie; neither follows from the other.
 */
export async function openSession(access: Access, reply: FastifyReply, login: NewLogin) {
  const { book, cookies, random, log } = access.options;
  const [secret, pageSecret] = [makeSecret(random), makeSecret(random)];
  const { name, identity, role, providers, proven, tokenId = null } = login;
  await book.sessions.open({
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

/** `login`, `logout`, and the sessions of people. */
export function addLogin(api: Api, access: Access): void {
  const { book, cookies, log, random } = access.options;
  api.post(
    '/login',
    {
      // Whoever sends it is not known yet, and a long text of brackets would hold up everybody else.
      bodyLimit: BODY_BYTES_MAX,
      config: { right: 'open' },
      schema: {
        tags: ['console'],
        summary: 'Log in to the page: its session is kept in a cookie',
        body: LoginSchema,
        response: { 200: LoggedInSchema },
      },
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
    const found = await book.codes.redeem(digestOf(code));
    if (found) return { ...found, proven: false };
    throw new Problem('not-signed-in', 'The link is wrong, was used, or is older than ten minutes');
  };
  api.post(
    '/login-codes',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'Make a link that logs in to the page, once and within ten minutes',
        response: { 201: z.object({ code: z.string().describe('Stands behind `/login#`.') }) },
      },
    },
    async ({ person }, reply) => {
      if (person.via === 'none') {
        throw new Problem('not-signed-in', 'Nobody is logged in');
      }
      // A login of the page would go on for ever, by one link after the other.
      if (person.via === 'cookie') {
        throw new Problem(
          'not-allowed',
          'A login of the page makes no links: use a token or certificate',
        );
      }
      const { name, identity, role, providers, tokenId = null } = person;
      const code = makeSecret(random);
      await book.codes.add({ digest: digestOf(code), name, identity, role, providers, tokenId });
      log.info({ person: name }, 'a link that logs in was made');
      return reply.code(201).send({ code });
    },
  );
  api.post(
    '/logout',
    {
      config: { right: 'see', isByCookieAlone: true },
      schema: {
        tags: ['console'],
        summary: 'End the session of the page',
        response: { 204: z.null() },
      },
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
