import { z } from 'zod';
import type { AccessRepository, ConsoleSession } from '../../adapters/bmdb/port.ts';
import type { Random } from '../../adapters/clock/port.ts';
import type { Identities, Identity } from '../../adapters/identities/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { GRANT_MAX_MS, GRANT_MS, grantOfGroups, type Grant } from '../../domain/access.ts';
import { Denied, explain, Unreachable } from '../../domain/errors.ts';
import { Problem } from '../api/problem.ts';
import { seal, unseal } from './secrets.ts';

/** The organisation's identity provider, and the rights of its groups. */
export interface IdentityMeans {
  readonly provider: Identities;
  readonly groups: ReadonlyMap<string, Grant>;
}

/** Name in the audit, such as `oidc:ann@example.org`. */
export const identityName = ({ name }: Pick<Identity, 'name'>): string => `oidc:${name}`;
const isIdentity = ({ name }: ConsoleSession): boolean => name.startsWith('oidc:');

const KnownSchema = z.object({ subject: z.string(), refreshToken: z.string() });
type SealedSession = z.infer<typeof KnownSchema>;
/** Size limit of the column in a session's row. */
const SEALED_MAX_BYTES = 8_192;

/** Seals for the cookie's holder what a renewal needs; null: none is possible. */
export function sealIdentity(
  { subject, refreshToken }: Pick<Identity, 'subject' | 'refreshToken'>,
  secret: string,
  random: Random,
): Uint8Array | null {
  if (refreshToken === null) return null;
  const sealed = seal(
    JSON.stringify({ subject, refreshToken } satisfies SealedSession),
    secret,
    random,
  );
  return sealed.length > SEALED_MAX_BYTES ? null : sealed;
}

interface RenewalDeps {
  readonly repository: AccessRepository;
  readonly identities: IdentityMeans | null;
  readonly random: Random;
  readonly log: Log;
}
interface SessionSecret {
  readonly digest: Uint8Array;
  /** The value of the cookie. */
  readonly secret: string;
}

/**
 * Keeps a session's rights as its groups are now: asks the provider every quarter of an hour, and
 * continues for an hour without an answer.
 * @returns the session with its person's rights; null: it is over.
 */
export function createRenewals({ repository, identities, random, log }: RenewalDeps) {
  const over = async ({ id, name }: ConsoleSession, why: string) => {
    await repository.sessions.end(id);
    log.info({ person: name, why }, 'a login ended because its role could not be renewed');
    return null;
  };
  const renew = async (session: ConsoleSession, { digest, secret }: SessionSecret) => {
    const known = knownOf(session, secret);
    if (!identities) return over(session, 'console.oidc is not configured any more');
    if (!known) return over(session, 'the provider of identities gave no refresh token');
    const identity = await identities.provider.renew(known);
    if (!identity) return over(session, 'the provider of identities lets them in no more');
    const grant = grantOfGroups(identity.groups, identities.groups);
    if (!grant) return over(session, 'their groups allow nothing any more');
    const renewal = sealIdentity(identity, secret, random);
    await repository.sessions.used(digest, { ...grant, renewal });
    return { ...session, ...grant, renewal, grantAgeMs: 0 };
  };
  return async (session: ConsoleSession, held: SessionSecret): Promise<ConsoleSession | null> => {
    if (!isIdentity(session) || session.grantAgeMs < GRANT_MS) return session;
    const claimed = await repository.sessions.claimRenewal(held.digest);
    const isTooOld = session.grantAgeMs >= GRANT_MAX_MS;
    if (!claimed && isTooOld) throw notAskedYet();
    if (!claimed) return session;
    try {
      return await renew(claimed, held);
    } catch (error) {
      if (!(error instanceof Unreachable || error instanceof Denied)) throw error;
      log.warn({ cause: explain(error) }, 'the identity provider could not renew a role');
      if (isTooOld) throw notAskedYet();
      return session;
    }
  };
}

function knownOf({ renewal }: ConsoleSession, secret: string): SealedSession | null {
  const text = renewal && unseal(renewal, secret);
  return text === null ? null : KnownSchema.parse(JSON.parse(text));
}

const notAskedYet = () =>
  new Problem(
    'unavailable',
    'The provider of identities has not answered for an hour, so nobody knows what you may do; ' +
      'wait until it does, or log in with a token',
    { retryAfterSeconds: 5 },
  );
