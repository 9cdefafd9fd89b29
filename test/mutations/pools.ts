import { mutationsOf } from './mutation.ts';

/** Pools as they are configured, shown and counted. */
export const mutations = mutationsOf`
src/config/pool-faults.ts test/config/refused.test.ts
  pools-may-share-an-address:
    \_\_\_\_const other = before.addresses.find(([-each) => meets(address, each)-]{+) => false+});
  pools-of-other-balancers-collide: [-  if (balancer === undefined) return [];\n-]
  every-address-is-one-address-only: [-  one === '::' ||\n-]
  uids-differ-by-their-case: pool.uid[-.toLowerCase()-] ===
src/domain/balancing/pools.ts test/domain/balancing/pools.test.ts
  unlisted-machines-are-deselected:
    listed [-=== null ? null :-]{+!== null &&+} Object.hasOwn(listed.tags, label)
  what-is-not-known-selects: [-answers.includes(null) ? null : -]true
  one-balancer-is-enough-for-a-port: others.[-every-]{+some+}(
src/actors/balancing/balancers.ts test/actors/balancing/crash.test.ts
  a-pool-that-was-left-is-frozen-for-ever: [-  'shepherd_lb_frozen',\n-]
src/commands/lb/verbs.ts test/commands/lb/pools.test.ts
  a-teardown-needs-no-consent: \_\_\_\_if ([-!yes-]{+yes && !yes+}) return wouldTearDown(
  a-teardown-is-over-when-its-members-are: [-state === GONE && -]
src/commands/lb/drain-progress.ts test/commands/lb/pools.test.ts
  a-drain-is-over-when-its-hold-is-set: progress !== '[-waits-]{+never+}')
  what-was-said-of-an-earlier-order-counts: isOver: isSame [-&&-]{+||+} isDecided(seen)
src/conformance/balancer/clean-up.ts test/conformance/balancer-clean-up.test.ts
  the-test-of-a-balancer-leaves-what-is-not-marked: each.ref.kind === kind{+ && each.tagged+})) {
  the-test-of-a-balancer-removes-once: const FRUITLESS_MAX = [-5-]{+1+};
src/commands/lb/forget.ts test/commands/lb/pools.test.ts
  a-pool-is-forgotten-that-is-configured: \_\_if (ours.length > [-0-]{+99+}) {
  a-pool-is-forgotten-without-consent:
    const told = [-yes ? -]await forgetAll(options, places, means)[- : places.map(wouldForget)-];
src/actors/balancing/services.ts test/actors/balancing/daemons.test.ts
  a-pool-is-tended-while-it-is-forgotten: [-  await leases.take(poolJob(service.name), ends);\n-]
src/daemon/views/pool-summaries.ts test/daemon/views/strange-pools.test.ts
  a-strange-pool-is-told-of-again-and-again: [-      told.add(key);\n-]
`;
