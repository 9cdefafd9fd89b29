export type Generator = ReturnType<typeof createGenerator>;

/**
 * Seeded random source (mulberry32). `position` is its whole state: a stored position continues the
 * sequence, and equal seeds give equal runs everywhere.
 */
export function createGenerator(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const hex = (digits: number) =>
    Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join('');
  const uuid = () =>
    `${hex(8)}-${hex(4)}-4${hex(3)}-${'89ab'[Math.floor(next() * 4)]}${hex(3)}-${hex(12)}`;
  return {
    /** Uniform in [0, 1). */
    next,
    /** Lower-case hexadecimal digits. */
    hex,
    /** UUID v4, lower case. */
    uuid,
    /** A copy in random order. */
    shuffle: <T>(items: readonly T[]): T[] =>
      items
        .map((item) => ({ item, rank: next() }))
        .toSorted((a, b) => a.rank - b.rank)
        .map(({ item }) => item),
    position: (): number => state,
    seek: (position: number) => {
      state = position >>> 0;
    },
  };
}
