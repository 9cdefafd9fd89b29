import type { Lacks } from './vectors.ts';

/** The specification's vectors, by number. */
export const NUMBERS: readonly number[] = Array.from({ length: 26 }, (_, at) => at + 1);
/** Vectors that must hold for the real program as well as for an emulator. */
export const ON_HAPROXY: readonly number[] = [1, 2, 3, 4, 13, 14, 15, 19, 20, 21, 22, 23, 24];

export const ENGINE: Lacks = {
  means: ['spoil', 'restart', 'clients', 'sessions', 'makeWell'],
  numbers: NUMBERS,
};
/** List rows matter only to readers. */
export const ENGINE_WITH_SHORT_ROWS: Lacks = { ...ENGINE, numbers: [1, 2, 3, 8, 15, 17, 24] };
export const HAPROXY: Lacks = {
  means: ['twin', 'untag', 'foreign', 'fail', 'holdBack', 'throttle', 'openOther'],
  numbers: ON_HAPROXY,
};

const ANEXIA = 'test/adapters/balancer/anexia/vectors.test.ts';
/** Vectors that a running pool need not show: each with a test file of its number. */
export const BY_DRIVER: Readonly<Record<number, string>> = { 10: ANEXIA, 18: ANEXIA };
/** The Engine has no file that an operator could break, and no reload. */
export const NOT_OF_THE_ENGINE: readonly number[] = [23];
