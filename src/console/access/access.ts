import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type {
  AccessRepository,
  ApiToken,
  ConsoleSession,
  EventRepository,
} from '../../adapters/bmdb/port.ts';
import type { Clock, Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { explain } from '../../domain/errors.ts';
import { isWithin, PAGE_SECRET, type Grant } from '../../domain/access.ts';
import { networkOf } from '../../lib/network.ts';
import { Problem } from '../api/problem.ts';
import { createGuesses } from '../guesses.ts';
import { certificateName, cookieOf, sessionCookie, type CookieRules } from './credentials.ts';
import { createLookups } from './lookups.ts';
import { ANONYMOUS, type Person } from './port.ts';
import { createRenewals, type IdentityMeans } from './renewal.ts';
import { unseal, digestOf, idOfToken } from './secrets.ts';

/** A token from the configuration. */
export interface ConfiguredToken extends Grant {
  readonly name: string;
  /** Read again at each use, so that a replaced token takes effect. */
  readonly read: () => string;
}

export interface AccessOptions {
  readonly repository: AccessRepository;
  readonly tokens: readonly ConfiguredToken[];
  /** Token for `/metrics` alone; null: none. */
  readonly metricsToken: (() => string) | null;
  /** Whether a caller without credentials may look. */
  readonly isOpen: boolean;
  readonly cookies: CookieRules;
  /** Grants by the common name of a client certificate. */
  readonly clients: ReadonlyMap<string, Grant>;
  /** Identity provider of the organisation; null: none. */
  readonly identities: IdentityMeans | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Receives refused logins. */
  readonly events: Pick<EventRepository, 'append'>;
}

/** Why a caller is no longer known: the session ended, or the token or certificate was revoked. */
export type Ending = 'signed-out' | 'revoked';

/** Who asks. */
export interface Access {
  /** @throws {Problem} the caller is not known. */
  find(request: FastifyRequest, demands?: { readonly isMetrics: boolean }): Promise<Person>;
  /** The page's session, found by the request's cookie. */
  session(request: FastifyRequest): Promise<ConsoleSession | null>;
  /**
   * The cookie secret of the login behind a request: used directly, or by a token made in that
   * login. Null: the request comes from no login.
   */
  loginSecret(request: Pick<FastifyRequest, 'person' | 'headers'>): Promise<string | null>;
  /** @throws {Problem} the cookie came without the secret that the page keeps beside it. */
  requireOwnPage(request: FastifyRequest): Promise<void>;
  /** The person whom a token logs in. Counts wrong tokens. @throws {Problem} */
  personOfToken(token: string, address: string): Promise<Person>;
  /** Counts a login. @throws {Problem} too many logins from this address. */
  admitLogin(request: Pick<FastifyRequest, 'ip'>): void;
  /** Ends the page's session, found by the request's cookie; returns the name of its person. */
  logOut(request: FastifyRequest): Promise<string | null>;
  /**
   * Checks every other second, and reports once when the caller is no longer known.
   * @returns stops checking.
   */
  follow(request: FastifyRequest, onGone: (reason: Ending) => void): () => void;
  readonly options: AccessOptions;
}

const FOLLOW_MS = 2_000;
const LOGINS_MAX = 5;
/** Maximum events about refused callers per minute, from all addresses together. */
const REFUSED_TOLD_MAX = 60;
/** Precision of the time of last use. */
const NOTED_EVERY_MS = 60_000;
const UNKNOWN = 'The token is unknown or wrong, has expired or was revoked';

export function createAccess(options: AccessOptions): Access {
  const { clock, log, repository, cookies, isOpen } = options;
  const guesses = createGuesses(clock);
  const tokens = createLookups<ApiToken>(clock);
  const sessions = createLookups<ConsoleSession>(clock);
  const note = noting(options);
  const tellRefused = tellingRefused(options);
  const renewed = createRenewals(options);
  const stillGranted = granting(options);
  const attempts = createGuesses(clock, LOGINS_MAX);
  let count = 0;

  /** A token made in a login is valid while the login is, and has at most the login's rights. */
  const loginAllows = async (row: ApiToken, token: string): Promise<boolean> => {
    if (row.loginSeal === null) return true;
    const secret = unseal(row.loginSeal, token);
    const login = secret === null ? null : await sessionOf(secret);
    return login !== null && isWithin(row, login);
  };
  const storedRow = async (token: string): Promise<ApiToken | null> => {
    const id = idOfToken(token);
    if (id === null) return null;
    const digest = digestOf(token);
    const look = async () => {
      const row = await repository.tokens.find(id, digest, neverAborted());
      return row && stillGranted(row) && (await loginAllows(row, token)) ? row : null;
    };
    return tokens.get(digest.toString('hex'), look);
  };
  const storedToken = async (token: string): Promise<Person | null> => {
    const found = await storedRow(token);
    if (!found) return null;
    const { id } = found;
    note(`token ${id}`, found.lastUsedAtMs, () => repository.tokens.used(id));
    const known = { name: `token:${found.name}`, identity: `token:${id}` };
    const generation = found.origins.length;
    return { ...personOf(known, found, 'token'), tokenId: id, generation };
  };
  const configuredToken = (token: string): Person | null => {
    // Compares all tokens, so that the time reveals nothing about a near match.
    const matching = options.tokens.filter(({ read }) => isSame(token, read()));
    const [found] = matching;
    return found ? personOf(configuredAs(found.name, token), found, 'token') : null;
  };
  const personOfToken = async (token: string, address: string): Promise<Person> => {
    const seconds = guesses.waitSeconds(address);
    // The right token is not checked either: the answer would reveal that it is right.
    if (seconds > 0) throw tooMany('wrong tokens from this address', seconds, 'check the token');
    const found = configuredToken(token) ?? (await storedToken(token));
    if (found) return found;
    tellRefused(address);
    if (guesses.wrong(address, digestOf(token).toString('hex'))) {
      log.warn(
        { address },
        'many wrong tokens from this address; the console rejects all its tokens for a while',
      );
    }
    throw new Problem('not-signed-in', UNKNOWN);
  };

  const sessionOf = async (secret: string): Promise<ConsoleSession | null> => {
    const digest = digestOf(secret);
    const look = async () => {
      const found = await repository.sessions.find(digest, neverAborted());
      return found && stillGranted(found) ? renewed(found, { digest, secret }) : null;
    };
    const found = await sessions.get(digest.toString('hex'), look);
    if (found) {
      note(`session ${found.id}`, found.lastUsedAtMs, () => repository.sessions.used(digest));
    }
    return found;
  };
  const session: Access['session'] = async (request) => {
    const secret = cookieOf(request, sessionCookie(cookies));
    return secret === null ? null : sessionOf(secret);
  };
  const requireOwnPage: Access['requireOwnPage'] = async (request) => {
    const shown = request.headers[PAGE_SECRET];
    const digest = (await session(request))?.pageDigest ?? null;
    if (typeof shown === 'string' && digest && timingSafeEqual(digestOf(shown), digest)) return;
    throw new Problem(
      'not-allowed',
      'This tab of the browser can only look, because it has only the cookie of the login. To act, log in again at /login',
    );
  };
  const loginSecret: Access['loginSecret'] = async ({ person, headers }) => {
    if (person.via === 'cookie') return cookieOf({ headers }, sessionCookie(cookies));
    if (person.tokenId === undefined) return null;
    const token = presented(headers.authorization ?? '');
    const seal = (await storedRow(token))?.loginSeal ?? null;
    return seal && unseal(seal, token);
  };

  const find: Access['find'] = async (request, demands) => {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      const token = presented(authorization);
      if (demands?.isMetrics && options.metricsToken && isSame(token, options.metricsToken())) {
        const grant = { role: 'viewer', providers: null } as const;
        return personOf(configuredAs('console.metricsToken', token), grant, 'token');
      }
      return personOfToken(token, request.ip);
    }
    const certificate = certificateName(request.raw);
    const client = certificate === null ? undefined : options.clients.get(certificate);
    if (client) return personOf(certifiedAs(certificate!), client, 'certificate');
    if (demands?.isMetrics && cookieOf(request, sessionCookie(cookies)) !== null) {
      throw new Problem(
        'not-signed-in',
        'The cookie of the page does not allow reading metrics: use a token',
      );
    }
    const found = await session(request);
    if (found) {
      const known = { name: found.name, identity: identityOf(found) };
      const { proven, id: sessionId } = found;
      const generation = found.origins.length;
      return { ...personOf(known, found, 'cookie'), proven, sessionId, generation };
    }
    if (isOpen) return ANONYMOUS;
    throw new Problem(
      'not-signed-in',
      'This console needs a login or a token: open /login, or send a token',
    );
  };
  const logOut: Access['logOut'] = async (request) => {
    const secret = cookieOf(request, sessionCookie(cookies));
    const found = await session(request);
    if (secret === null || !found) return null;
    await repository.sessions.end(found.id);
    sessions.forget(digestOf(secret).toString('hex'));
    return found.name;
  };
  const admitLogin: Access['admitLogin'] = ({ ip }) => {
    const seconds = attempts.waitSeconds(ip);
    const what = 'logins from this address within a minute';
    if (seconds > 0) throw tooMany(what, seconds, 'log in again');
    // Each attempt counts, also with the same token.
    count += 1;
    attempts.wrong(ip, `${count}`);
  };
  const follow = following(find, clock);
  return {
    ...{ find, session, loginSecret, requireOwnPage, logOut },
    ...{ personOfToken, admitLogin, follow, options },
  };
}

type KnownPerson = Pick<Person, 'name' | 'identity'>;
const personOf = (known: KnownPerson, { role, providers }: Grant, via: Person['via']): Person => ({
  ...{ ...known, role, providers, via, proven: true },
});

/** A token that replaces another in the configuration is a new caller with the same name. */
const configuredAs = (name: string, token: string): KnownPerson => ({
  name: `config:${name}`,
  identity: `config:${name}#${digestOf(token).toString('hex', 0, 4)}`,
});
const certifiedAs = (commonName: string): KnownPerson => ({
  name: `mtls:CN=${commonName}`,
  identity: `mtls:CN=${commonName}`,
});

/**
 * Tells whether the configuration still grants the rights of a login or token that comes from a
 * configured token or certificate.
 */
function granting({ tokens, clients }: AccessOptions) {
  const isConfigured = (identity: string) => /^(config|mtls):/.test(identity);
  const grantOf = (identity: string): Grant | undefined =>
    tokens.find(({ name, read }) => configuredAs(name, read()).identity === identity) ??
    [...clients].find(([name]) => certifiedAs(name).identity === identity)?.[1];
  return ({ origins, ...grant }: Grant & Pick<ApiToken, 'origins'>): boolean =>
    origins.filter(isConfigured).every((identity) => {
      const now = grantOf(identity);
      return now !== undefined && isWithin(grant, now);
    });
}

/** Identity of a session's caller; a session from an older daemon has only its id. */
export const identityOf = ({ id, identity }: ConsoleSession): string => identity ?? `login:${id}`;

const isSame = (shown: string, expected: string): boolean =>
  timingSafeEqual(digestOf(shown), digestOf(expected));

/** A look-up is one short statement with its own limit. */
const neverAborted = () => new AbortController().signal;

/** `what` is limited; `remedy` says what to do after the wait. */
export const tooMany = (what: string, seconds: number, remedy: string) =>
  new Problem('limited', `Too many ${what}: wait ${seconds} s, and ${remedy}`, {
    retryAfterSeconds: seconds,
  });

/** The token in an Authorization header: a bearer token, or the password of basic credentials. */
function presented(header: string): string {
  const [, scheme = '', value = ''] = /^(\S*) ?(.*)$/s.exec(header) ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return '';
  const pair = Buffer.from(value, 'base64').toString('utf8');
  return pair.slice(pair.indexOf(':') + 1);
}

/** Whether this name was not seen within the last minute. */
function onceAMinute({ monotonic }: Clock) {
  const atMs = new Map<string, number>();
  return (name: string): boolean => {
    const nowMs = monotonic();
    if (nowMs - (atMs.get(name) ?? Number.NEGATIVE_INFINITY) < NOTED_EVERY_MS) return false;
    if (atMs.size > 10_000) atMs.clear();
    atMs.set(name, nowMs);
    return true;
  };
}

/**
 * Reports refused callers without making anybody wait: once a minute per network, and a limited
 * number in all.
 */
function tellingRefused({ clock, log, events }: AccessOptions) {
  const isNew = onceAMinute(clock);
  /** Start of this minute, events reported in it, events left out since the last one. */
  let [sinceMs, told, untold] = [Number.NEGATIVE_INFINITY, 0, 0];
  return (address: string) => {
    if (!isNew(networkOf(address))) return;
    const nowMs = clock.monotonic();
    if (nowMs - sinceMs >= NOTED_EVERY_MS) [sinceMs, told] = [nowMs, 0];
    if (told >= REFUSED_TOLD_MAX) return void (untold += 1);
    told += 1;
    const details = { address, ...(untold > 0 && { untold }) };
    untold = 0;
    const reason = 'the token is unknown or wrong, has expired or was revoked';
    events
      .append({ type: 'access.refused', actor: 'unknown', reason, details })
      .catch((error: unknown) =>
        log.warn({ cause: explain(error) }, 'the event access.refused could not be written'),
      );
  };
}

/** Records uses without making anybody wait, each at most once a minute. */
function noting({ clock, log }: AccessOptions) {
  const isNew = onceAMinute(clock);
  return (what: string, lastUsedAtMs: number | null, write: () => Promise<void>) => {
    if (lastUsedAtMs !== null && clock.now() - lastUsedAtMs < NOTED_EVERY_MS) return;
    if (!isNew(what)) return;
    write().catch((error: unknown) =>
      log.warn({ cause: explain(error) }, `the last use of ${what} could not be recorded`),
    );
  };
}

const following =
  (find: Access['find'], clock: Clock): Access['follow'] =>
  (request, onGone) => {
    let isOver = false;
    let timer: unknown = null;
    const stop = () => {
      isOver = true;
      clock.clearTimeout(timer);
    };
    const again = () => (timer = clock.setTimeout(() => void look(), FOLLOW_MS));
    const look = async () => {
      const isGone = await find(request).then(
        // On an open console a caller whose login ended becomes anonymous.
        ({ identity }) => identity !== request.person.identity,
        (error: unknown) => error instanceof Problem && error.code === 'not-signed-in',
      );
      if (isOver) return;
      if (!isGone) return void again();
      stop();
      onGone(request.person.via === 'cookie' ? 'signed-out' : 'revoked');
    };
    again();
    return stop;
  };
