import type { FleetView } from '../port.ts';
import { Problem } from './problem.ts';

const FILLING = 'The daemon has just started and does not know all machines yet';

/** Callers would treat machines that are not known yet as gone. @throws {Problem} try again. */
export function requireWhole({ isWhole }: Pick<FleetView, 'isWhole'>): void {
  if (isWhole?.() === false) throw new Problem('unavailable', FILLING, { retryAfterSeconds: 1 });
}
