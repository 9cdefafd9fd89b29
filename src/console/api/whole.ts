import type { FleetView } from '../port.ts';
import { Problem } from './problem.ts';

const FILLING = 'The daemon was just started, and does not know all machines yet';

/** Who asks for what is there would take what is not known yet for gone. @throws {Problem} try again. */
export function requireWhole({ isWhole }: Pick<FleetView, 'isWhole'>): void {
  if (isWhole?.() === false) throw new Problem('unavailable', FILLING, { retryAfterSeconds: 1 });
}
