import type { Generator } from '../../kit/random.ts';

export const SERVER_ID = /^sv_[A-Za-z0-9]+$/;
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz0123456789';
const LENGTH = 13;

/** An id such as `sv_3xMV0xMXpNmQp`. */
export const newId = (prefix: string, ids: Generator): string =>
  `${prefix}_${Array.from({ length: LENGTH }, () => LETTERS[Math.floor(ids.next() * LETTERS.length)]).join('')}`;
