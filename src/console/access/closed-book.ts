import type { AccessBook } from '../../adapters/bmdb/port.ts';
import { Unreachable } from '../../domain/errors.ts';

const refuse = async () => {
  throw new Unreachable('there is no database in which anybody could be known');
};

/** Where there is no database: only tokens of the configuration are known. */
export const CLOSED_BOOK: AccessBook = {
  tokens: {
    add: refuse,
    find: async () => null,
    used: refuse,
    list: async () => [],
    revoke: refuse,
  },
  sessions: {
    open: refuse,
    find: async () => null,
    used: refuse,
    claimRenewal: refuse,
    list: async () => [],
    end: refuse,
  },
  codes: { add: refuse, redeem: async () => null },
};
