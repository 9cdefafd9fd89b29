import type { Mutation } from './mutation.ts';

/** Decisions as pure functions. */
export const mutations: readonly Mutation[] = [
  {
    id: 'backoff-never-grows-past-its-start',
    file: 'src/domain/backoff.ts',
    find: 'Math.trunc(last * descriptor.exponent)',
    replace: 'last',
    tests: ['test/domain/backoff.test.ts'],
  },
  {
    id: 'backoff-maximum-below-the-start',
    file: 'src/domain/backoff.ts',
    find: 'Math.max(initial, Math.floor(descriptor.maximumMs / 1000) * SECOND_NS)',
    replace: 'Math.floor(descriptor.maximumMs / 1000) * SECOND_NS',
    tests: ['test/domain/backoff.test.ts'],
  },
];
