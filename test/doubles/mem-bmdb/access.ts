import type {
  AccessBook,
  ApiToken,
  ConsoleSession,
  NewConsoleSession,
  NewLoginCode,
} from '../../../src/adapters/bmdb/access-port.ts';
import {
  GRANT_MS,
  GRANT_RETRY_MS,
  LOGIN_CODE_MS,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
} from '../../../src/domain/access.ts';
import { tell } from './events.ts';
import { requireReachable } from './tables.ts';
import type { Memory } from './tables.ts';

type MemSession = NewConsoleSession & {
  readonly openedAtMs: number;
  lastUsedAtMs: number;
  grantedAtMs: number;
  askedAtMs?: number;
};
interface Rows {
  readonly tokens: Map<string, ApiToken & { readonly digest: string }>;
  /** By digest. */
  readonly sessions: Map<string, MemSession>;
  readonly codes: Map<string, NewLoginCode & { readonly expiresAtMs: number }>;
}

const hex = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');
const LISTED_MAX = 1_000;

/** See `AccessBook`. */
export function createAccessBook(
  memory: Memory,
  beginRead: (signal: AbortSignal) => void,
): AccessBook {
  const rows: Rows = { tokens: new Map(), sessions: new Map(), codes: new Map() };
  const around = { ...rows, memory, beginRead };
  return { tokens: tokenBook(around), sessions: sessionBook(around), codes: codeBook(around) };
}

interface Around extends Rows {
  readonly memory: Memory;
  readonly beginRead: (signal: AbortSignal) => void;
}

const tokenBook = ({ memory, beginRead, tokens }: Around): AccessBook['tokens'] => ({
  add: async ({ digest, forMs, ...token }) => {
    requireReachable(memory);
    const isTaken = ({ name, revokedAtMs }: ApiToken) =>
      name === token.name && revokedAtMs === null;
    if (tokens.has(token.id) || [...tokens.values()].some(isTaken)) return false;
    const createdAtMs = memory.now();
    tokens.set(token.id, {
      ...{ ...token, digest: hex(digest), createdAtMs, expiresAtMs: createdAtMs + forMs },
      ...{ ownerIdentity: token.ownerIdentity ?? null },
      ...{ lastUsedAtMs: null, revokedAtMs: null, revokedBy: null },
    });
    tellToken(memory, 'access.token_created', token.owner, token);
    return true;
  },
  find: async (id, digest, signal) => {
    beginRead(signal);
    const found = tokens.get(id);
    if (!found || found.digest !== hex(digest)) return null;
    if (found.revokedAtMs !== null || found.expiresAtMs <= memory.now()) return null;
    return shown(found);
  },
  used: async (id) => {
    requireReachable(memory);
    const found = tokens.get(id);
    if (found) tokens.set(id, { ...found, lastUsedAtMs: memory.now() });
  },
  list: async (signal) => {
    beginRead(signal);
    return [...tokens.values()]
      .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1))
      .slice(0, LISTED_MAX)
      .map(shown);
  },
  revoke: async (id, by) => {
    requireReachable(memory);
    const found = tokens.get(id);
    if (!found || found.revokedAtMs !== null) return false;
    tokens.set(id, { ...found, revokedAtMs: memory.now(), revokedBy: by });
    tellToken(memory, 'access.revoked', by, found);
    return true;
  },
});

function tellToken(
  memory: Memory,
  type: 'access.token_created' | 'access.revoked',
  actor: string,
  { id: tokenId, name, role }: Pick<ApiToken, 'id' | 'name' | 'role'>,
): void {
  tell(memory, { type, actor, reason: '', details: { tokenId, name, role } });
}

const shown = ({ digest: _, ...token }: ApiToken & { readonly digest: string }): ApiToken => token;

function sessionBook({ memory, beginRead, sessions, tokens }: Around): AccessBook['sessions'] {
  const lasts = ({ openedAtMs, lastUsedAtMs, tokenId }: MemSession) => {
    const nowMs = memory.now();
    if (openedAtMs + SESSION_MAX_MS <= nowMs || lastUsedAtMs + SESSION_IDLE_MS <= nowMs)
      return false;
    const token = tokenId === null ? null : tokens.get(tokenId);
    if (token === null) return true;
    return token !== undefined && token.revokedAtMs === null && token.expiresAtMs > nowMs;
  };
  const told = ({
    digest: _,
    grantedAtMs,
    askedAtMs: __,
    tokenId: ___,
    ...session
  }: MemSession): ConsoleSession => ({
    ...session,
    endsAtMs: session.openedAtMs + SESSION_MAX_MS,
    grantAgeMs: memory.now() - grantedAtMs,
  });
  return {
    open: async (session) => {
      requireReachable(memory);
      for (const [digest, each] of sessions) if (!lasts(each)) sessions.delete(digest);
      const nowMs = memory.now();
      const times = { openedAtMs: nowMs, lastUsedAtMs: nowMs, grantedAtMs: nowMs };
      sessions.set(hex(session.digest), { ...session, ...times });
      const { id: sessionId, name: actor, role } = session;
      tell(memory, { type: 'access.login', actor, reason: '', details: { sessionId, role } });
    },
    find: async (digest, signal) => {
      beginRead(signal);
      const found = sessions.get(hex(digest));
      return found && lasts(found) ? told(found) : null;
    },
    used: async (digest, grant) => {
      requireReachable(memory);
      const found = sessions.get(hex(digest));
      if (!found || !lasts(found)) return;
      const lastUsedAtMs = memory.now();
      const granted = grant && { ...grant, grantedAtMs: lastUsedAtMs };
      sessions.set(hex(digest), { ...found, ...granted, lastUsedAtMs });
    },
    claimRenewal: async (digest) => {
      requireReachable(memory);
      const found = sessions.get(hex(digest));
      if (!found || !lasts(found) || found.grantedAtMs + GRANT_MS > memory.now()) return null;
      const { askedAtMs = Number.NEGATIVE_INFINITY } = found;
      if (askedAtMs + GRANT_RETRY_MS > memory.now()) return null;
      found.askedAtMs = memory.now();
      return told(found);
    },
    list: async (signal) => {
      beginRead(signal);
      return [...sessions.values()]
        .filter(lasts)
        .toSorted((a, b) => b.lastUsedAtMs - a.lastUsedAtMs || (a.id < b.id ? -1 : 1))
        .slice(0, LISTED_MAX)
        .map(told);
    },
    end: async (id) => {
      requireReachable(memory);
      const found = [...sessions].find(([, session]) => session.id === id);
      if (!found) return null;
      sessions.delete(found[0]);
      return found[1].name;
    },
  };
}

const codeBook = ({ memory, codes }: Around): AccessBook['codes'] => ({
  add: async (code) => {
    requireReachable(memory);
    codes.set(hex(code.digest), { ...code, expiresAtMs: memory.now() + LOGIN_CODE_MS });
  },
  redeem: async (digest) => {
    requireReachable(memory);
    const found = codes.get(hex(digest));
    codes.delete(hex(digest));
    if (!found || found.expiresAtMs <= memory.now()) return null;
    const { digest: _, expiresAtMs: __, ...login } = found;
    return login;
  },
});
