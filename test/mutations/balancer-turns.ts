import { mutationsOf } from './mutation.ts';

/** What is begun together at a balancer, and what then is not. */
export const mutations = mutationsOf`
src/actors/balancing/carry-out.ts test/actors/balancing/at-once.test.ts
  balancing-makes-what-is-not-wanted-any-more: isWanted: [-() => isStillWanted(service, desired)-]{+always+},
  balancing-goes-on-after-a-failure:
    [-if (end.status === 'rejected' && codeOf(end.reason) !== 'remote-failure') throw end.reason;-]
  balancing-begins-more-than-is-taken: [-last.length < sizeMax && -]
  balancing-begins-what-is-not-alike: [- && isAlike(last[0]!, action)-]
`;
