import type { StateCounts } from '../console/port.ts';
import { STATES } from '../domain/states.ts';

/** `12 machines: 3 Provisioned · 9 Running`, empty states left out. */
export function countsLine(counts: StateCounts): string {
  const total = STATES.reduce((sum, state) => sum + counts[state], 0);
  const parts = STATES.filter((state) => counts[state] > 0).map((s) => `${counts[s]} ${s}`);
  return `${total} machines${parts.length > 0 ? `: ${parts.join(' · ')}` : ''}`;
}
