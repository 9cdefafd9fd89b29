import { z } from 'zod';
import { isAtLeast, ROLES, TOKEN_MAX_MS, TOKEN_NAME, type Grant } from '../../domain/access.ts';
import { act, described, read, type Api } from '../api/kit.ts';
import { Problem } from '../api/problem.ts';
import { listOf, Milliseconds, text } from '../api/schemas.ts';
import { identityOf, type Access } from './access.ts';
import type { Person } from './port.ts';
import { mayTouch } from './rights.ts';
import { digestOf, makeToken, seal } from './secrets.ts';

export const TokenSchema = z.object({
  id: text,
  name: text,
  owner: text,
  role: z.enum(ROLES),
  providers: listOf(text).nullable().describe('Null: all providers.'),
  createdAtMs: z.number().int(),
  expiresAtMs: z.number().int(),
  hasEnded: z
    .boolean()
    .describe(
      'Whether the token has expired, was revoked, or ended with the token or login that created it.',
    ),
  lastUsedAtMs: z.number().int().nullable(),
  revokedAtMs: z.number().int().nullable(),
  revokedBy: text.nullable(),
});

export const NewTokenSchema = z.strictObject({
  name: text.regex(TOKEN_NAME, 'give 1 to 64 letters, digits, dots, dashes'),
  role: z.enum(ROLES),
  providers: z.array(text.min(1).max(64)).min(1).max(100).nullable().default(null),
  forMs: z.number().int().min(60_000).max(TOKEN_MAX_MS).default(TOKEN_MAX_MS),
});

export const TokensSchema = z.object({ tokens: z.array(TokenSchema) });
export const MadeSchema = z.object({
  id: text,
  token: text.describe('The token. It is shown only once.'),
  expiresAtMs: z
    .number()
    .int()
    .describe('Not later than the end of the token or login that created it.'),
});

export const LoginSchema = z.object({
  id: text,
  name: text.describe('Name of the user, as in the audit.'),
  proven: z.boolean().describe('False: the name is a claim.'),
  role: z.enum(ROLES),
  providers: listOf(text).nullable().describe('Null: all providers.'),
  openedAtMs: Milliseconds,
  lastUsedAtMs: Milliseconds.describe('Precise to a minute.'),
  endsAtMs: Milliseconds.describe('The login ends at this time at the latest.'),
  isThis: z.boolean().describe('Whether this call uses the login.'),
});

const neverAborted = () => new AbortController().signal;

/** `tokens`: tokens of programs. An operator manages their own, an admin all. */
export function addTokens(api: Api, access: Access): void {
  const { repository, log, random } = access.options;
  api.get(
    '/tokens',
    described('operate', ['console', 'Tokens for programs: your own, or all if you are an admin'], {
      200: TokensSchema,
    }),
    async ({ person }) => {
      const all = await repository.tokens.list(neverAborted());
      return { tokens: all.filter(({ ownerIdentity }) => mayTouch(person, ownerIdentity)) };
    },
  );
  api.post(
    '/tokens',
    described(
      'operate',
      [
        'console',
        "Create a token. It has at most its creator's rights, and ends with the token or login that created it",
      ],
      { 201: MadeSchema },
      { body: NewTokenSchema },
    ),
    async (request, reply) => {
      const { person, body } = request;
      requireWithin(person, body);
      const { id, token } = makeToken(random);
      const secret = await access.loginSecret(request);
      const expiresAtMs = await repository.tokens.add({
        ...body,
        ...{ id, digest: digestOf(token) },
        ...{ owner: person.name, ownerIdentity: person.identity },
        parentTokenId: person.tokenId ?? null,
        parentSessionId: person.sessionId ?? null,
        loginSeal: secret === null ? null : seal(secret, token, random),
      });
      if (expiresAtMs === null)
        throw new Problem(
          'refused',
          `A token ${body.name} exists already: revoke it first, or choose another name`,
        );
      log.info({ person: person.name, token: id, role: body.role }, 'a token was created');
      return reply.code(201).send({ id, token, expiresAtMs });
    },
  );
  api.delete(
    '/tokens/:id',
    act('operate', 'console', 'Revoke a token: the console refuses it within seconds', {
      params: z.object({ id: text.max(40) }),
    }),
    async ({ person, params: { id } }, reply) => {
      // The list is limited, and tokens are quickly made: an admin needs no list to revoke one.
      const isRevoked = mayTouch(person, null) && (await repository.tokens.revoke(id, person.name));
      if (!isRevoked) {
        const all = await repository.tokens.list(neverAborted());
        const found = all.find((each) => each.id === id && mayTouch(person, each.ownerIdentity));
        if (!found) throw new Problem('not-found', 'You have no token with this id');
        await repository.tokens.revoke(id, person.name);
      }
      log.info({ person: person.name, token: id }, 'a token was revoked');
      return reply.code(204).send(null);
    },
  );
}

/** `logins`: page sessions of people. Everybody manages their own, an admin all. */
export function addLogins(api: Api, access: Access): void {
  const { repository, log } = access.options;
  api.get(
    '/logins',
    read(
      'console',
      'Logins in the page: your own, or all if you are an admin',
      z.object({ logins: z.array(LoginSchema) }),
    ),
    async (request) => {
      const own = await access.session(request);
      const all = await repository.sessions.list(neverAborted());
      const shown = all.filter((each) => mayTouch(request.person, identityOf(each)));
      return { logins: shown.map((each) => ({ ...each, isThis: each.id === own?.id })) };
    },
  );
  api.delete(
    '/logins/:id',
    act(
      'see',
      'console',
      'End a login: within seconds, its cookie is refused and its streams end',
      { params: z.object({ id: z.uuid() }) },
    ),
    async ({ person, params: { id } }, reply) => {
      // The list is limited: an admin does not need it.
      const isOwn = async () =>
        (await repository.sessions.list(neverAborted())).some(
          (each) => each.id === id && mayTouch(person, identityOf(each)),
        );
      const login =
        mayTouch(person, null) || (await isOwn()) ? await repository.sessions.end(id) : null;
      if (login === null) throw new Problem('not-found', 'You have no login with this id');
      log.info({ person: person.name, login }, 'a session was ended');
      return reply.code(204).send(null);
    },
  );
}

/** Limits the chain of tokens, because each use of a token checks all its ancestors. */
const GENERATIONS_MAX = 16;

/** @throws {Problem} the token would have more rights than its maker, or the chain is too long. */
export function requireWithin(person: Person, { role, providers }: Grant): void {
  if ((person.generation ?? 0) >= GENERATIONS_MAX) {
    throw new Problem(
      'refused',
      `${person.name} is a token at the end of a chain of ${GENERATIONS_MAX} tokens: create the new token with an earlier token`,
    );
  }
  if (!isAtLeast(person.role, role)) {
    throw new Problem(
      'not-allowed',
      `${person.name} has the role ${person.role} and may not give the role ${role}`,
    );
  }
  const own = person.providers;
  if (own === null || providers?.every((name) => own.includes(name))) return;
  throw new Problem('not-allowed', `${person.name} may give rights for ${own.join(', ')} only`);
}
