import { afterEach } from 'vitest';
import {
  findHaproxy,
  type Haproxy,
  startHaproxy,
} from '../../src/simulator/haproxy/haproxy-process.ts';
import type { HaproxyOptions } from '../../src/simulator/haproxy/haproxy-process.ts';
import { isProvided } from './programs.ts';

/**
 * Tells whether HAProxy is installed, for `describe.runIf(hasHaproxyFor(…))`. Where `CI` is set, a missing
 * HAProxy fails the suite.
 * @param tested such as `the driver of HAProxy`
 */
export const hasHaproxyFor = (tested: string): boolean =>
  isProvided(findHaproxy(), { tested, by: 'haproxy' });

/** Starts an HAProxy for one test of the suite it is called in; it is stopped after the test. */
export function useHaproxy(): (options?: HaproxyOptions) => Promise<Haproxy> {
  const running: Haproxy[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop()));
  });
  return async (options) => {
    const started = await startHaproxy(options);
    running.push(started);
    return started;
  };
}
