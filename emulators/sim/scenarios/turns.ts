import { mayServe } from '../../../src/domain/balancing/members.ts';
import type { ServedRequest } from '../../hosts/options.ts';
import type { Membership } from './audit.ts';

/**
 * Requests that reached a machine while the database said that no balancer might send it any: before
 * it was let in, or after it was let go, which is when it may be interrupted. Both are written while
 * they are still true, so nothing has to be allowed for.
 */
export function servedOutOfTurn(
  requests: readonly ServedRequest[],
  memberships: ReadonlyMap<string, readonly Membership[]>,
): readonly ServedRequest[] {
  return requests.filter(({ deviceId, atMs }) => {
    const now = new Map<string, Membership>();
    for (const membership of memberships.get(deviceId) ?? []) {
      // The clock of machines has whole milliseconds.
      if (Math.floor(membership.atMs) <= atMs) {
        now.set(`${membership.balancer}/${membership.pool}`, membership);
      }
    }
    return ![...now.values()].some(
      ({ state }) => state !== null && mayServe({ state, waived: false }),
    );
  });
}
