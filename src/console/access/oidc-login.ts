import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Clock, Random } from '../../adapters/clock/port.ts';
import type { Journey } from '../../adapters/identities/port.ts';
import { grantOfGroups } from '../../domain/access.ts';
import { Denied, explain, Unreachable } from '../../domain/errors.ts';
import type { Access } from './access.ts';
import { cookieOf, journeyCookie, setCookie } from './credentials.ts';
import { openSession } from './login.ts';
import { identityName, sealIdentity } from './renewal.ts';
import { digestOf, makeSecret } from './secrets.ts';

/** Time from the redirect to the provider until the return. */
const JOURNEY_MS = 10 * 60_000;
/** Above this number the oldest return is forgotten; after `JOURNEY_MS` none is valid anyway. */
const RETURNED_MAX = 10_000;

/**
 * Redirects the browser from our own page, because a redirect from elsewhere sends no cookie. The
 * base64url secret is in no address: otherwise a crafted link could give tabs another secret.
 */
const welcome = (secret: string): string =>
  '<!doctype html><html lang="en"><title>Shepherd</title>' +
  '<script type="module" src="/login.js"></script>' +
  `<main data-secret="${secret}"><p>Logged in: <a href="/">go on</a>.</p></main></html>`;

/** Why the login failed; the login page has a sentence for each. */
type LoginRefusal = 'away' | 'refused' | 'group' | 'again';
const tell = (reply: FastifyReply, told: LoginRefusal) => reply.redirect(`/login?told=${told}`);

/** `login/oidc` and `login/oidc/callback`: the redirect to the identity provider and the return. */
export function addOidcLogin(app: FastifyInstance, access: Access): void {
  const { cookies, random, clock, log, identities } = access.options;
  if (!identities) return;
  const { provider, groups } = identities;
  const isFirst = createReturns(clock);
  const keep = (reply: FastifyReply, value: string | null) =>
    setCookie(reply, cookies, {
      ...{ name: journeyCookie(cookies), value, sameSite: 'Lax', forMs: JOURNEY_MS },
    });

  app.get('/login/oidc', { config: { right: 'open' } }, async (_request, reply) => {
    const kept = beginJourney(random, clock);
    try {
      const url = await provider.begin(journeyOf(kept));
      keep(reply, kept);
      return await reply.redirect(url.href);
    } catch (error) {
      return tell(reply, failure(error));
    }
  });

  app.get('/login/oidc/callback', { config: { right: 'open' } }, async (request, reply) => {
    access.admitLogin(request);
    const kept = cookieOf(request, journeyCookie(cookies));
    keep(reply, null);
    const query = new URL(request.url, 'http://console').searchParams;
    if (kept === null || !lasts(kept, clock)) return tell(reply, 'again');
    const journey = journeyOf(kept);
    if (query.get('state') !== journey.state || !isFirst(journey.state)) {
      return tell(reply, 'again');
    }
    try {
      const identity = await provider.complete(query, journey);
      const grant = grantOfGroups(identity.groups, groups);
      const name = identityName(identity);
      if (!grant) {
        log.info({ person: name }, 'a login was refused: the groups of the person give no role');
        return await tell(reply, 'group');
      }
      const renewalFor = (secret: string) => sealIdentity(identity, secret, random);
      const login = { ...grant, name, identity: `oidc:${identity.subject}`, proven: true };
      const secret = await openSession(access, reply, { ...login, renewalFor });
      return await reply.type('text/html; charset=utf-8').send(welcome(secret));
    } catch (error) {
      return tell(reply, failure(error));
    }
  });

  /** @throws errors that do not come from the provider. */
  const failure = (error: unknown): LoginRefusal => {
    if (!(error instanceof Unreachable || error instanceof Denied)) throw error;
    log.warn({ cause: explain(error) }, 'a login at the identity provider failed');
    return error instanceof Unreachable ? 'away' : 'refused';
  };
}

/** What the browser keeps until the return: a secret, and its time. */
const beginJourney = (random: Random, { now }: Pick<Clock, 'now'>): string =>
  `${makeSecret(random)}.${Math.floor(now()).toString(36)}`;

const lasts = (kept: string, { now }: Pick<Clock, 'now'>): boolean => {
  const [, madeAt = ''] = kept.split('.');
  const ageMs = now() - Number.parseInt(madeAt, 36);
  return ageMs > -JOURNEY_MS && ageMs < JOURNEY_MS;
};

/** Everything derives from the browser's value, so that any daemon can check the return. */
function journeyOf(kept: string): Journey {
  const derived = (what: string) => digestOf(`${what} ${kept}`).toString('base64url');
  return { state: derived('state'), nonce: derived('nonce'), verifier: derived('verifier') };
}

/** Detects a second return with the same state. */
function createReturns({ monotonic }: Pick<Clock, 'monotonic'>) {
  /** Time of each return, oldest first. */
  const returned = new Map<string, number>();
  return (state: string): boolean => {
    for (const [each, atMs] of returned) {
      if (returned.size < RETURNED_MAX && monotonic() - atMs < JOURNEY_MS) break;
      returned.delete(each);
    }
    if (returned.has(state)) return false;
    returned.set(state, monotonic());
    return true;
  };
}
