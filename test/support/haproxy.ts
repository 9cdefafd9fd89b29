import { afterEach } from 'vitest';
import {
  findHaproxy,
  type Haproxy,
  startHaproxy,
} from '../../src/simulator/haproxy/haproxy-process.ts';
import type { HaproxyOptions } from '../../src/simulator/haproxy/haproxy-process.ts';

/**
 * Whether the real program is there for a suite, which is `describe.runIf(hasHaproxyFor(…))`. Where it
 * is not, the run says what is not tested; where `CI` is set, which installs it, that is a failure.
 * @param what would be tested, such as `the driver of HAProxy`
 */
export function hasHaproxyFor(what: string): boolean {
  if (findHaproxy() !== null) return true;
  const message = `${what} cannot be tested without haproxy: apt-get install haproxy`;
  if (process.env['CI']) throw new Error(message);
  process.stderr.write(`NOT TESTED: ${message}\n`);
  return false;
}

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
