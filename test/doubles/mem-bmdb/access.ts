import type {
  AccessRepository,
  ApiToken,
  ConsoleSession,
  NewConsoleSession,
  NewDeviceLogin,
  NewLoginCode,
  NewToken,
} from '../../../src/adapters/bmdb/access-port.ts';
import {
  DEVICE_INTERVAL_MS,
  DEVICE_LOGIN_MS,
  DEVICE_LOGINS_MAX,
  DEVICE_SLOWER_MS,
  GRANT_MAX_MS,
  GRANT_MS,
  GRANT_RETRY_MS,
  isWithin,
  LOGIN_CODE_MS,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
} from '../../../src/domain/access.ts';
import { tell } from './events.ts';
import type { Memory } from './tables.ts';

type MemSession = NewConsoleSession & {
  readonly openedAtMs: number;
  lastUsedAtMs: number;
  grantedAtMs: number;
  askedAtMs?: number;
};
type MemToken = Omit<ApiToken, 'origins' | 'hasEnded'> &
  Pick<NewToken, 'parentTokenId' | 'parentSessionId'> & { readonly digest: string };
interface Rows {
  readonly tokens: Map<string, MemToken>;
  /** By digest. */
  readonly sessions: Map<string, MemSession>;
  readonly codes: Map<string, NewLoginCode & { readonly expiresAtMs: number }>;
}

const hex = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');
const LISTED_MAX = 1_000;

/** See `AccessRepository`. */
export function createAccessRepository(memory: Memory): AccessRepository {
  const rows: Rows = { tokens: new Map(), sessions: new Map(), codes: new Map() };
  const around = { ...rows, memory };
  return {
    ...{
      tokens: createTokens(around),
      sessions: createSessions(around),
      codes: createCodes(around),
    },
    devices: createDevices(memory),
  };
}

interface Around extends Rows {
  readonly memory: Memory;
}

/** The ancestors of a token or session, itself included; undefined: its row is gone. */
function* lineage(
  { tokens, sessions }: Rows,
  leaf: MemToken | MemSession,
): Generator<MemToken | MemSession | undefined> {
  for (let at: MemToken | MemSession | undefined = leaf; at !== undefined;) {
    yield at;
    const from: MemToken | MemSession = at;
    const tokenId = 'expiresAtMs' in from ? from.parentTokenId : from.tokenId;
    const sessionId: string | null | undefined =
      'expiresAtMs' in from ? from.parentSessionId : null;
    if (tokenId) at = tokens.get(tokenId);
    else if (sessionId) at = [...sessions.values()].find(({ id }) => id === sessionId);
    else return;
  }
  yield undefined;
}

function lasts(around: Around, leaf: MemToken | MemSession): boolean {
  const nowMs = around.memory.now();
  return [...lineage(around, leaf)].every((each) => {
    if (each === undefined) return false;
    if ('expiresAtMs' in each) return each.revokedAtMs === null && each.expiresAtMs > nowMs;
    const isOther = !('expiresAtMs' in leaf) && each !== leaf && each.name.startsWith('oidc:');
    if (isOther && each.grantedAtMs + GRANT_MAX_MS <= nowMs) return false;
    const isUsed = each.lastUsedAtMs + SESSION_IDLE_MS > nowMs;
    return each.openedAtMs + SESSION_MAX_MS > nowMs && isUsed && isWithin(leaf, each);
  });
}

const originsOf = (rows: Rows, leaf: MemToken | MemSession): string[] =>
  [...lineage(rows, leaf)].flatMap(
    (each) => (each && 'expiresAtMs' in each ? each.ownerIdentity : each?.identity) ?? [],
  );

const endOf = (each: MemToken | MemSession | undefined): number =>
  each === undefined
    ? Number.POSITIVE_INFINITY
    : 'expiresAtMs' in each
      ? each.expiresAtMs
      : each.openedAtMs + SESSION_MAX_MS;

function shown(around: Around, row: MemToken): ApiToken {
  const { digest: _, parentTokenId: __, parentSessionId: ___, ...token } = row;
  return { ...token, origins: originsOf(around, row), hasEnded: !lasts(around, row) };
}

function createTokens(around: Around): AccessRepository['tokens'] {
  const { memory, tokens } = around;
  return {
    add: async ({ digest, forMs, ...token }) => {
      const isTaken = ({ name, revokedAtMs }: MemToken) =>
        name === token.name && revokedAtMs === null;
      if (tokens.has(token.id) || [...tokens.values()].some(isTaken)) return null;
      const createdAtMs = memory.now();
      const row = {
        ...{ ...token, digest: hex(digest), createdAtMs, expiresAtMs: createdAtMs + forMs },
        ...{ ownerIdentity: token.ownerIdentity ?? null, loginSeal: token.loginSeal ?? null },
        ...{ lastUsedAtMs: null, revokedAtMs: null, revokedBy: null },
      };
      const expiresAtMs = Math.min(...[...lineage(around, row)].map(endOf));
      tokens.set(token.id, { ...row, expiresAtMs });
      tellToken(memory, 'access.token_created', token.owner, token);
      return expiresAtMs;
    },
    find: async (id, digest) => {
      const found = tokens.get(id);
      if (!found || found.digest !== hex(digest)) return null;
      return lasts(around, found) ? shown(around, found) : null;
    },
    used: async (id) => {
      const found = tokens.get(id);
      if (found) tokens.set(id, { ...found, lastUsedAtMs: memory.now() });
    },
    list: async () =>
      [...tokens.values()]
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1))
        .slice(0, LISTED_MAX)
        .map((row) => shown(around, row)),
    revoke: async (id, by) => {
      const found = tokens.get(id);
      if (!found || found.revokedAtMs !== null) return false;
      tokens.set(id, { ...found, revokedAtMs: memory.now(), revokedBy: by });
      tellToken(memory, 'access.revoked', by, found);
      return true;
    },
  };
}

function tellToken(
  memory: Memory,
  type: 'access.token_created' | 'access.revoked',
  actor: string,
  { id: tokenId, name, role }: Pick<ApiToken, 'id' | 'name' | 'role'>,
): void {
  tell(memory, { type, actor, reason: '', details: { tokenId, name, role } });
}

function createSessions(around: Around): AccessRepository['sessions'] {
  const { memory, sessions } = around;
  const isGood = (session: MemSession) => lasts(around, session);
  const told = (row: MemSession): ConsoleSession => {
    const { digest: _, grantedAtMs, askedAtMs: __, tokenId: ___, ...session } = row;
    return {
      ...session,
      pageDigest: session.pageDigest ?? null,
      origins: originsOf(around, row),
      endsAtMs: session.openedAtMs + SESSION_MAX_MS,
      grantAgeMs: memory.now() - grantedAtMs,
    };
  };
  return {
    open: async (session) => {
      for (const [digest, each] of sessions) if (!isGood(each)) sessions.delete(digest);
      const nowMs = memory.now();
      const times = { openedAtMs: nowMs, lastUsedAtMs: nowMs, grantedAtMs: nowMs };
      sessions.set(hex(session.digest), { ...session, ...times });
      const { id: sessionId, name: actor, role } = session;
      tell(memory, { type: 'access.login', actor, reason: '', details: { sessionId, role } });
    },
    find: async (digest) => {
      const found = sessions.get(hex(digest));
      return found && isGood(found) ? told(found) : null;
    },
    used: async (digest, grant) => {
      const found = sessions.get(hex(digest));
      if (!found || !isGood(found)) return;
      const lastUsedAtMs = memory.now();
      const granted = grant && { ...grant, grantedAtMs: lastUsedAtMs };
      sessions.set(hex(digest), { ...found, ...granted, lastUsedAtMs });
    },
    claimRenewal: async (digest) => {
      const found = sessions.get(hex(digest));
      if (!found || !isGood(found) || found.grantedAtMs + GRANT_MS > memory.now()) return null;
      const { askedAtMs = Number.NEGATIVE_INFINITY } = found;
      if (askedAtMs + GRANT_RETRY_MS > memory.now()) return null;
      found.askedAtMs = memory.now();
      return told(found);
    },
    list: async () =>
      [...sessions.values()]
        .filter(isGood)
        .toSorted((a, b) => b.lastUsedAtMs - a.lastUsedAtMs || (a.id < b.id ? -1 : 1))
        .slice(0, LISTED_MAX)
        .map(told),
    end: async (id) => {
      const found = [...sessions].find(([, session]) => session.id === id);
      if (!found) return null;
      sessions.delete(found[0]);
      return found[1].name;
    },
  };
}

const createCodes = ({ memory, codes }: Around): AccessRepository['codes'] => ({
  add: async (code) => {
    codes.set(hex(code.digest), { ...code, expiresAtMs: memory.now() + LOGIN_CODE_MS });
  },
  redeem: async (digest) => {
    const found = codes.get(hex(digest));
    codes.delete(hex(digest));
    if (!found || found.expiresAtMs <= memory.now()) return null;
    const { digest: _, expiresAtMs: __, ...login } = found;
    return login;
  },
});

interface MemDevice extends NewDeviceLogin {
  readonly createdAtMs: number;
  polledAtMs: number | null;
  intervalMs: number;
  outcome: 'waiting' | 'granted' | 'refused';
  sealed: Uint8Array | null;
}

function createDevices(memory: Memory): AccessRepository['devices'] {
  /** By the digest of the code that the command keeps. */
  const devices = new Map<string, MemDevice>();
  const isOver = ({ createdAtMs }: MemDevice) => createdAtMs + DEVICE_LOGIN_MS <= memory.now();
  const waiting = (digest: Uint8Array) =>
    [...devices.values()].find(
      (each) => hex(each.userDigest) === hex(digest) && each.outcome === 'waiting' && !isOver(each),
    );
  return {
    add: async (login) => {
      const all = [...devices.values()];
      const isTaken = all.some(({ userDigest }) => hex(userDigest) === hex(login.userDigest));
      if (isTaken || all.filter((each) => !isOver(each)).length >= DEVICE_LOGINS_MAX) return false;
      const fresh = { polledAtMs: null, intervalMs: DEVICE_INTERVAL_MS, sealed: null };
      const row = { ...login, ...fresh, createdAtMs: memory.now(), outcome: 'waiting' } as const;
      devices.set(hex(login.deviceDigest), { ...row });
      return true;
    },
    find: async (digest) => {
      const found = waiting(digest);
      if (!found) return null;
      const { host, address, publicKey, createdAtMs } = found;
      return { host, address, publicKey, createdAtMs };
    },
    decide: async (digest, sealed) => {
      const found = waiting(digest);
      if (!found) return false;
      Object.assign(found, { sealed, outcome: sealed === null ? 'refused' : 'granted' });
      return true;
    },
    poll: async (digest) => {
      const found = devices.get(hex(digest));
      if (!found) return null;
      const { outcome, sealed, polledAtMs, intervalMs } = found;
      if (isOver(found) || outcome !== 'waiting') devices.delete(hex(digest));
      if (isOver(found)) return { outcome: 'expired', sealed: null };
      if (outcome !== 'waiting') return { outcome, sealed };
      const isSoon = polledAtMs !== null && polledAtMs + intervalMs > memory.now();
      found.polledAtMs = memory.now();
      if (isSoon) found.intervalMs += DEVICE_SLOWER_MS;
      return { outcome: isSoon ? 'soon' : 'waiting', sealed };
    },
  };
}
