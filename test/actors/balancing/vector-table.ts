import type { Lacks } from './vectors.ts';

/** The vectors of the specification, by number. */
export const NUMBERS: readonly number[] = Array.from({ length: 26 }, (_, at) => at + 1);
/** Of these what is true of an emulator has to be true of the real program, too. */
export const ON_HAPROXY: readonly number[] = [1, 2, 3, 4, 13, 14, 15, 19, 20, 21, 22, 23, 24];

export const ENGINE: Lacks = {
  means: ['spoil', 'restart', 'clients', 'sessions', 'makeWell'],
  numbers: NUMBERS,
};
/** What rows of lists hold matters only to who reads them. */
export const ENGINE_WITH_SHORT_ROWS: Lacks = { ...ENGINE, numbers: [1, 2, 3, 8, 15, 17, 24] };
export const HAPROXY: Lacks = {
  means: ['twin', 'untag', 'foreign', 'fail', 'holdBack', 'throttle', 'openOther'],
  numbers: ON_HAPROXY,
};

const ANEXIA = 'test/adapters/balancer/anexia/vectors.test.ts';
/** What shows a vector that no running pool has to show: a file with a test of its number. */
export const BY_DRIVER: Readonly<Record<number, string>> = { 10: ANEXIA, 18: ANEXIA };
/** The Engine has no file that an operator could break, and is not reloaded. */
export const NOT_OF_THE_ENGINE: readonly number[] = [23];
