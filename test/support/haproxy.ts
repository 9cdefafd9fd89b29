import { onTestFinished } from 'vitest';
import {
  findHaproxy,
  type Haproxy,
  startHaproxy,
} from '../../emulators/haproxy/haproxy-process.ts';
import type { HaproxyOptions } from '../../emulators/haproxy/haproxy-process.ts';
import { isProvided } from './programs.ts';

/**
 * Tells whether HAProxy is installed, for `describe.runIf(hasHaproxyFor(…))`. Where `CI` is set, a missing
 * HAProxy fails the suite.
 * @param tested such as `the driver of HAProxy`
 */
export const hasHaproxyFor = (tested: string): boolean =>
  isProvided(findHaproxy(), { tested, by: 'haproxy' });

/** Starts an HAProxy that stops at the end of the test. */
export async function startTestHaproxy(options?: HaproxyOptions): Promise<Haproxy> {
  const started = await startHaproxy(options);
  onTestFinished(() => started.stop());
  return started;
}
