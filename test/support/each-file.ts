import { relative } from 'node:path';
import { configureGlobal } from 'fast-check';
import { afterAll, expect } from 'vitest';
import { root } from '../repo/sources.ts';
import { cpuSeconds, leaveCost } from './costs.ts';
import { testSeed } from './seeds.ts';

/*
 * Runs before every test file. The run decides the seed of properties, and the file leaves a line that
 * says what it cost. The cost of a file begins where the file before it in this process ended, so that
 * the time for loading its modules counts too.
 */
const ENDED = Symbol.for('shepherd:test-file-ended');
const shared = globalThis as { [ENDED]?: number };
const cpuBefore = shared[ENDED] ?? 0;
const startedAtMs = performance.now();

configureGlobal({ seed: testSeed() });

afterAll(() => {
  const cpu = cpuSeconds();
  shared[ENDED] = cpu;
  const wall = (performance.now() - startedAtMs) / 1_000;
  const path = relative(root, expect.getState().testPath!);
  leaveCost({ cpu: cpu - cpuBefore, wall, of: path });
});
