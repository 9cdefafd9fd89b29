import type { Grant } from '../../domain/access.ts';

/** A program's API token, as stored: only its SHA-256 digest. Times: epoch ms. */
export interface ApiToken extends Grant {
  /** Public part of the token; may be shown. */
  readonly id: string;
  readonly name: string;
  /** Who created the token, as named in the audit log. */
  readonly owner: string;
  /** Identity of the owner; null if an older daemon or a command created the token. */
  readonly ownerIdentity: string | null;
  /** Identities of the owner, of the parent token's owner, and so on, in no particular order. */
  readonly origins: readonly string[];
  /** True if the token has expired, was revoked, or its parent token or login has ended. */
  readonly hasEnded: boolean;
  /** Secret of the parent login, sealed with the token; null if no login created the token. */
  readonly loginSeal: Uint8Array | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** Accurate to the minute; null if never used. */
  readonly lastUsedAtMs: number | null;
  readonly revokedAtMs: number | null;
  readonly revokedBy: string | null;
}

export interface NewToken extends Grant {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly name: string;
  readonly owner: string;
  /** When absent, only an admin sees and revokes the token. */
  readonly ownerIdentity?: string | null;
  /** Token of the `TokenRepository`, or login, that creates and ends the token. At most one is set. */
  readonly parentTokenId?: string | null;
  readonly parentSessionId?: string | null;
  readonly loginSeal?: Uint8Array | null;
  /** Lifetime from now (database clock), at most a year. It never outlives its parent. */
  readonly forMs: number;
}

/** API tokens of programs. Each call is one statement. */
export interface TokenRepository {
  /**
   * @returns the expiry in epoch ms, or null if an unrevoked token already has this name; then
   *   nothing was written.
   */
  add(token: NewToken): Promise<number | null>;
  /** Returns the token with this id and digest, or null if there is none or the token has ended. */
  find(id: string, digest: Uint8Array, signal: AbortSignal): Promise<ApiToken | null>;
  /** Records that the token was used now. */
  used(id: string): Promise<void>;
  /** Returns the newest 1 000 tokens, newest first. */
  list(signal: AbortSignal): Promise<readonly ApiToken[]>;
  /** @returns false if the token does not exist or was already revoked. */
  revoke(id: string, by: string): Promise<boolean>;
}

/** A person's login session at the console. Times: epoch ms of the database. */
export interface ConsoleSession extends Grant {
  /** Public name of the session; the cookie cannot be derived from it. */
  readonly id: string;
  /** Who logged in, as named in the audit log: `oidc:ann@example.org`. */
  readonly name: string;
  /** The caller's unique identity; null if an older daemon opened the session. */
  readonly identity: string | null;
  /** Identities of the session, of the owner of its token, and so on, in no particular order. */
  readonly origins: readonly string[];
  readonly proven: boolean;
  readonly openedAtMs: number;
  readonly lastUsedAtMs: number;
  /** Latest possible end of the session. */
  readonly endsAtMs: number;
  /** Age of the last check of role and providers with the provider of identities, in ms. */
  readonly grantAgeMs: number;
  /** Sealed data to repeat that check; readable only with the cookie. Null if not needed. */
  readonly renewal: Uint8Array | null;
  /**
   * SHA-256 of the secret that the page sends beside the cookie; null if an older daemon opened the
   * session.
   */
  readonly pageDigest: Uint8Array | null;
}

export interface NewConsoleSession extends Grant {
  readonly id: string;
  /** SHA-256 of the cookie's secret. */
  readonly digest: Uint8Array;
  readonly name: string;
  readonly identity: string | null;
  readonly proven: boolean;
  readonly renewal: Uint8Array | null;
  /**
   * SHA-256 of the secret that the page sends beside the cookie; if absent, the session cannot
   * change anything.
   */
  readonly pageDigest?: Uint8Array | null;
  /** Token of the `TokenRepository` that opens the session and ends it; null if none does. */
  readonly tokenId: string | null;
}

/** Sessions of the page, and the codes that open them. Each call is one statement. */
export interface ConsoleSessionRepository {
  /** Opens a session; also deletes ended sessions. */
  open(session: NewConsoleSession): Promise<void>;
  /**
   * Returns the session of this cookie, or null if the session or its token has ended, or the
   * session was idle for too long.
   */
  find(digest: Uint8Array, signal: AbortSignal): Promise<ConsoleSession | null>;
  /**
   * Records that the session was used now.
   * @param grant the role and providers just read from the provider of identities; absent if not
   *   read.
   */
  used(digest: Uint8Array, grant?: Grant & { readonly renewal: Uint8Array | null }): Promise<void>;
  /**
   * Claims the renewal of the session's role: of several daemons, only one gets the session.
   * @returns null if the role was checked within `GRANT_MS`, another daemon is checking it, or the
   *   session has ended.
   */
  claimRenewal(digest: Uint8Array): Promise<ConsoleSession | null>;
  /** Returns the sessions that have not ended, last used first; at most 1 000. */
  list(signal: AbortSignal): Promise<readonly ConsoleSession[]>;
  /** @returns the name of the session's user, or null if there is no such session. */
  end(id: string): Promise<string | null>;
}

export interface NewLoginCode extends Grant {
  readonly digest: Uint8Array;
  /** Who logs in with the code. */
  readonly name: string;
  readonly identity: string | null;
  /**
   * Token of the `TokenRepository` that creates the code; sessions opened by the code end with the token.
   * Null if no token creates it.
   */
  readonly tokenId: string | null;
}

/** User whom a one-time link logs in. */
export type LoginByCode = Omit<NewLoginCode, 'digest'>;

/** One-time links. Each call is one statement. */
export interface LoginCodeRepository {
  /** Adds a code that is valid once, for `LOGIN_CODE_MS`. Also deletes expired codes. */
  add(code: NewLoginCode): Promise<void>;
  /**
   * Returns the user to log in, or null if the code is unknown, used or expired. Only one of
   * several callers gets the user.
   */
  redeem(digest: Uint8Array): Promise<LoginByCode | null>;
}

/** A login of a command that a person has to confirm in a browser (RFC 8628). */
export interface NewDeviceLogin {
  /** SHA-256 of the code that the command keeps. */
  readonly deviceDigest: Uint8Array;
  /** SHA-256 of the short code that a person types. */
  readonly userDigest: Uint8Array;
  /** Host name of the machine of the command: a claim. */
  readonly host: string;
  readonly address: string;
  /** The token is encrypted for the holder of its private key. */
  readonly publicKey: Uint8Array;
}

/** What a person is shown before they decide. */
export type DeviceLogin = Pick<NewDeviceLogin, 'host' | 'address' | 'publicKey'> & {
  readonly createdAtMs: number;
};

export interface DevicePoll {
  /** `soon`: it is still waiting, and the command asked again before its interval was over. */
  readonly outcome: 'waiting' | 'soon' | 'granted' | 'refused' | 'expired';
  /** The token, encrypted; null: none was granted. */
  readonly sealed: Uint8Array | null;
}

/** Logins of commands. Each call is one statement. */
export interface DeviceLoginRepository {
  /** @returns false: the short code is taken, or too many logins wait. Also forgets old ones. */
  add(login: NewDeviceLogin): Promise<boolean>;
  /** The login of this short code, while it waits. */
  find(userDigest: Uint8Array, signal: AbortSignal): Promise<DeviceLogin | null>;
  /**
   * @param sealed the token, encrypted; null: the login is refused.
   * @returns false: it does not wait any more.
   */
  decide(userDigest: Uint8Array, sealed: Uint8Array | null): Promise<boolean>;
  /**
   * The result for the command. A granted, refused or expired login is deleted with this call.
   * @returns null: no login has this code, or the command has its result already.
   */
  poll(deviceDigest: Uint8Array): Promise<DevicePoll | null>;
}

/** Access to the console and the API: tokens, sessions and login codes. */
export interface AccessRepository {
  readonly tokens: TokenRepository;
  readonly sessions: ConsoleSessionRepository;
  readonly codes: LoginCodeRepository;
  readonly devices: DeviceLoginRepository;
}
