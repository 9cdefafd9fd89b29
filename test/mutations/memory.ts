import { mutationsOf } from './mutation.ts';

/** What the database in memory does instead of statements. */
export const mutations = mutationsOf`
test/doubles/mem-bmdb/intents.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t intents
  mem-no-allocate-with-an-end-is-none:
    [-isInForce(each, memory.now())-]{+each.untilMs === null+}
  mem-no-allocate-never-ends: [-isInForce(each, memory.now())-]{+true+}
  mem-hold-of-another-provider-bars:
    [-slot(each.provider, each.slotId) === name-]{+name.endsWith(each.slotId)+} &&
  mem-any-hold-bars-creation: [-BARRING_CREATION.includes(each.kind) &&-]
  mem-attempt-on-a-slot-with-a-machine: if ([-hasMachine(memory, name)-]{+false+}) throw new NothingToDo
  mem-intent-of-the-living-is-resumed: || [-!isAlive(memory, intent)-]{+true+}
  mem-adoption-forgives-no-penalty: [-memory.penalties.delete(slot(intent.provider, intent.slotId));-]
test/doubles/mem-bmdb/leases.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t recovery
  mem-used-permit-is-given-back: [-(recovery?.askedAtMs ?? -Infinity) >= permitGrantedAtMs-]{+false+}
test/doubles/mem-bmdb/heartbeats.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t heartbeats|an installation
  mem-handed-out-twice: [-if (handedOutAtMs === null) -]{
  mem-report-of-an-earlier-generation-counts: report.generation [-=== asked-]{+<= asked!+}
  mem-error-after-a-success-counts: [-if (installState(machine.row) === 'DONE') return;-]
test/doubles/mem-bmdb/apply.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t quarantine|release|clearing|hold|give a machine back
  mem-release-takes-the-permit-of-work: [-if (!isNeeded) -]dropPermit
  mem-unhold-of-every-kind: [- || each.kind !== kind-]
  mem-release-forgets-that-power-is-owed: [-if (powerOffAskedAtMs === null) -]return
test/doubles/mem-bmdb/provided.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t provided
  mem-missing-keeps-its-permit: [-if (told.status === 'Missing') dropPermit(memory, machine);-]
test/doubles/mem-bmdb/snapshot.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t changes
  mem-feed-forgets-that-it-was-trimmed: [-if (last) memory.trimmedTo = last.seq;-]
  mem-feed-is-trimmed-at-once: memory.now() [-- KEPT_MS-]{++ 1+}
test/doubles/mem-bmdb/listings.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t listing|listed
  mem-listing-forgets-since-when: [-Math.min(memory.now(), ...dead-]{+memory.now(+})
  mem-dead-daemons-fail-to-list: .filter(([-{ sessionId }) => isAlive(sessionId)-]{+) => true+})
test/doubles/mem-bmdb/permits.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t permits
  mem-permits-of-a-location-count-where-the-machine-is: [-permitScope?.location ?? -]row.provided?.location
  mem-budget-of-locations-is-none: (location [-=== null-]{+!== ""+} ?
test/doubles/mem-bmdb/retiring.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t retiring
  mem-a-preserved-machine-is-given-back: [-if (isHeld(-]{+if (false && isHeld(+}machine.row, 'preserve'
`;
