import type { IncomingHttpHeaders } from 'node:http';
import { isSameSecret } from '../../kit/same-secret.ts';
import type { Credentials } from '../core.ts';

const WRONG_MAX = 3;
export const BLOCKED_MS = 10 * 60_000;

/** Who may ask, and for how long nobody may. */
export interface Logins {
  isRight(headers: IncomingHttpHeaders): boolean;
  /** A wrong login. Answers whether it was one too many: the address is blocked then. */
  fail(nowMs: number): boolean;
}

/** The third wrong login within ten minutes is one too many, whatever came in between. */
export function createLogins(credentials: () => Credentials): Logins {
  let wrong: number[] = [];
  return {
    isRight({ authorization = '' }) {
      if (!/^basic /i.test(authorization)) return false;
      const { user, password } = credentials();
      const encoded = authorization.slice('basic '.length).trim();
      return isSameSecret(Buffer.from(encoded, 'base64').toString(), `${user}:${password}`);
    },
    fail(nowMs) {
      wrong = [...wrong.filter((atMs) => atMs > nowMs - BLOCKED_MS), nowMs];
      if (wrong.length < WRONG_MAX) return false;
      wrong = [];
      return true;
    },
  };
}
