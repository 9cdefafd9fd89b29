import { createHash } from 'node:crypto';

type Part = string | number;

const digestOf = (parts: readonly Part[]): Buffer =>
  createHash('sha256').update(parts.join('\0')).digest();

/**
 * A number in [0, 1) that follows from the seed and what it is for, whatever else was asked before:
 * so a run replays even where calls overlap in another order.
 */
export const chanceOf = (seed: number, ...purpose: readonly Part[]): number =>
  digestOf([seed, ...purpose]).readUInt32BE(0) / 2 ** 32;

/** A UUID that follows from the seed and what it names. */
export function uuidOf(seed: number, ...purpose: readonly Part[]): string {
  const hex = digestOf([seed, ...purpose]).toString('hex');
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) % 4];
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ];
  return parts.join('-');
}

/** The items in an order that follows from the seed and the purpose. */
export const shuffled = <T>(items: readonly T[], seed: number, ...purpose: readonly Part[]): T[] =>
  items
    .map((item, at) => ({ item, rank: chanceOf(seed, ...purpose, at) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
