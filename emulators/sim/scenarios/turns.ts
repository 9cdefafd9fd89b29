import { mayServe } from '../../../src/domain/balancing/members.ts';
import type { ServedRequest } from '../../hosts/options.ts';
import type { Membership } from './audit.ts';

/**
 * Requests that reached a machine while the database allowed no traffic: before its admission, or
 * after its release, which is when it may be interrupted. Both are recorded while they still hold,
 * so no tolerance is needed.
 */
export function servedOutOfTurn(
  requests: readonly ServedRequest[],
  memberships: ReadonlyMap<string, readonly Membership[]>,
): readonly ServedRequest[] {
  return requests.filter(({ deviceId, atMs }) => {
    const now = new Map<string, Membership>();
    for (const membership of memberships.get(deviceId) ?? []) {
      // The machines' clock has whole milliseconds.
      if (Math.floor(membership.atMs) <= atMs) {
        now.set(`${membership.balancer}/${membership.pool}`, membership);
      }
    }
    return ![...now.values()].some(
      ({ state }) => state !== null && mayServe({ state, waived: false }),
    );
  });
}
