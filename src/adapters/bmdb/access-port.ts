import type { Grant } from '../../domain/access.ts';

/** A token for programs, as it is stored: only the SHA-256 of it, never itself. Times: epoch ms. */
export interface ApiToken extends Grant {
  /** The part of the token that may be shown. */
  readonly id: string;
  readonly name: string;
  /** Who made it, as in the audit. */
  readonly owner: string;
  /** Identity of its owner; null: an older daemon or a command made it. */
  readonly ownerIdentity: string | null;
  /** Identities of its owner, of the owner of the token that made it, and so on; in no order. */
  readonly origins: readonly string[];
  /** It has expired, was revoked, or ended with the token or login that it comes from. */
  readonly hasEnded: boolean;
  /** Secret of the login that it comes from, sealed with the token; null: it comes from none. */
  readonly loginSeal: Uint8Array | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** To the minute; null: never. */
  readonly lastUsedAtMs: number | null;
  readonly revokedAtMs: number | null;
  readonly revokedBy: string | null;
}

export interface NewToken extends Grant {
  readonly id: string;
  readonly digest: Uint8Array;
  readonly name: string;
  readonly owner: string;
  /** Absent: nobody but an admin sees and revokes it. */
  readonly ownerIdentity?: string | null;
  /** What makes it, and ends it: a token of the `TokenBook`, or a login. Both absent: neither. */
  readonly parentTokenId?: string | null;
  readonly parentSessionId?: string | null;
  readonly loginSeal?: Uint8Array | null;
  /** From now on, database clock; a year at most. It never outlives what makes it. */
  readonly forMs: number;
}

/** Tokens of programs. Each call is one statement. */
export interface TokenBook {
  /**
   * @returns when it expires, epoch ms; null: a token that is not revoked has this name already, and
   * nothing was written.
   */
  add(token: NewToken): Promise<number | null>;
  /** The token with this id and digest, unless it has ended. */
  find(id: string, digest: Uint8Array, signal: AbortSignal): Promise<ApiToken | null>;
  /** Notes that it was used now. */
  used(id: string): Promise<void>;
  /** All of them, the newest first; 1 000 at most. */
  list(signal: AbortSignal): Promise<readonly ApiToken[]>;
  /** @returns false: there is none, or it was revoked before. */
  revoke(id: string, by: string): Promise<boolean>;
}

/** A login of a person, as long as it lasts. Times: epoch ms of the database. */
export interface ConsoleSession extends Grant {
  /** What it is called among people; the cookie cannot be made of it. */
  readonly id: string;
  /** Who logged in, as in the audit: `oidc:ann@example.org`. */
  readonly name: string;
  /** Never that of another caller, even if the names are equal; null: an older daemon opened it. */
  readonly identity: string | null;
  /** Its identity, that of the owner of the token that opened it, and so on; in no order. */
  readonly origins: readonly string[];
  readonly proven: boolean;
  readonly openedAtMs: number;
  readonly lastUsedAtMs: number;
  /** When it ends in any case. */
  readonly endsAtMs: number;
  /** How long ago role and providers were last asked of whoever knows; ms. */
  readonly grantAgeMs: number;
  /** What is needed to ask again, which only the holder of the cookie can read; null: nothing. */
  readonly renewal: Uint8Array | null;
  /** SHA-256 of what the page shows beside the cookie; null: an older daemon opened it. */
  readonly pageDigest: Uint8Array | null;
}

export interface NewConsoleSession extends Grant {
  readonly id: string;
  /** SHA-256 of what the cookie holds. */
  readonly digest: Uint8Array;
  readonly name: string;
  readonly identity: string | null;
  readonly proven: boolean;
  readonly renewal: Uint8Array | null;
  /** SHA-256 of what the page shows beside the cookie; absent: nothing is changed in it. */
  readonly pageDigest?: Uint8Array | null;
  /** Token of the `TokenBook` that opens it: the session ends with it; null: none does. */
  readonly tokenId: string | null;
}

/** Sessions of the page, and what opens them. Each call is one statement. */
export interface ConsoleSessionBook {
  /** Also forgets sessions that have ended. */
  open(session: NewConsoleSession): Promise<void>;
  /** The session of this cookie, unless it or its token has ended, or it was not used for too long. */
  find(digest: Uint8Array, signal: AbortSignal): Promise<ConsoleSession | null>;
  /**
   * Notes that it was used now.
   * @param grant what was found when role and providers were asked again; absent: they were not.
   */
  used(digest: Uint8Array, grant?: Grant & { readonly renewal: Uint8Array | null }): Promise<void>;
  /**
   * Takes it on to ask its role again: of several daemons one gets it.
   * @returns null: its role was asked within `GRANT_MS`, somebody is asking, or it has ended.
   */
  claimRenewal(digest: Uint8Array): Promise<ConsoleSession | null>;
  /** All that have not ended, the last used first; 1 000 at most. */
  list(signal: AbortSignal): Promise<readonly ConsoleSession[]>;
  /** @returns who it was; null: there is no such session. */
  end(id: string): Promise<string | null>;
}

export interface NewLoginCode extends Grant {
  readonly digest: Uint8Array;
  /** Who logs in with it. */
  readonly name: string;
  readonly identity: string | null;
  /** Token of the `TokenBook` that makes it: what it opens ends with it; null: none does. */
  readonly tokenId: string | null;
}

/** Whom a link logs in. */
export type LoginByCode = Omit<NewLoginCode, 'digest'>;

/** One-time links. Each call is one statement. */
export interface LoginCodeBook {
  /** Good for `LOGIN_CODE_MS`, once. Also forgets those that were not used in time. */
  add(code: NewLoginCode): Promise<void>;
  /** Whom it logs in; null: unknown, used or too old. Only one of several callers gets it. */
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
export interface DeviceLoginBook {
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
   * What the command is told. A login that is granted, refused or expired is forgotten with that.
   * @returns null: no login has this code, or the command was told before.
   */
  poll(deviceDigest: Uint8Array): Promise<DevicePoll | null>;
}

/** Who may use console and API. */
export interface AccessBook {
  readonly tokens: TokenBook;
  readonly sessions: ConsoleSessionBook;
  readonly codes: LoginCodeBook;
  readonly devices: DeviceLoginBook;
}
