import { describe } from 'vitest';
import { acceptanceContract } from './bmdb-acceptance.ts';
import { accessContract } from './bmdb-access.ts';
import { agentStartContract } from './bmdb-agent-start.ts';
import { backoffContract } from './bmdb-backoff.ts';
import { conditionsContract } from './bmdb-conditions.ts';
import { rollsContract } from './bmdb-rolls.ts';
import { decisionsContract } from './bmdb-decisions.ts';
import { deprovisionContract } from './bmdb-deprovision.ts';
import { casesContract } from './bmdb-cases.ts';
import { eligibilityContract } from './bmdb-eligibility.ts';
import { episodesContract } from './bmdb-episodes.ts';
import { eventsContract } from './bmdb-events.ts';
import { fleetEventsContract } from './bmdb-fleet-events.ts';
import { exclusionContract } from './bmdb-exclusion.ts';
import { changesContract } from './bmdb-changes.ts';
import { freezesContract } from './bmdb-freezes.ts';
import { guardContract } from './bmdb-guard.ts';
import { historyContract } from './bmdb-history.ts';
import { heartbeatsContract } from './bmdb-heartbeats.ts';
import { inspectionContract } from './bmdb-inspection.ts';
import { installsContract } from './bmdb-installs.ts';
import { intentsContract } from './bmdb-intents.ts';
import { ladderContract } from './bmdb-ladder.ts';
import { leasesContract } from './bmdb-leases.ts';
import { listingsContract } from './bmdb-listings.ts';
import { membersContract } from './bmdb-members.ts';
import { ordersContract } from './bmdb-orders.ts';
import { webhooksContract } from './bmdb-webhooks.ts';
import { withdrawalsContract } from './bmdb-withdrawals.ts';
import { permitsContract } from './bmdb-permits.ts';
import { poolsContract } from './bmdb-pools.ts';
import { providedContract } from './bmdb-provided.ts';
import { providerHoldsContract } from './bmdb-provider-holds.ts';
import { readingContract } from './bmdb-reading.ts';
import { recordsContract } from './bmdb-records.ts';
import { recoveryContract } from './bmdb-recovery.ts';
import { requestBatchesContract } from './bmdb-request-batches.ts';
import { requestsContract } from './bmdb-requests.ts';
import { retireContract } from './bmdb-retire.ts';
import { sessionsContract } from './bmdb-sessions.ts';
import { controllerResetsContract } from './bmdb-controller-resets.ts';
import { createStage } from './bmdb-stage.ts';
import type { MakeHarness } from './bmdb-stage.ts';
import { textsContract } from './bmdb-texts.ts';
import { workContract } from './bmdb-work.ts';

export type { BmdbHarness, MakeHarness } from './bmdb-stage.ts';

/**
 * The contract of every implementation of the BMDB. On PostgreSQL each area has its own test file,
 * `test/adapters/bmdb/pg/contract-AREA.test.ts`, so that workers share the areas.
 */
export const AREAS = {
  work: [sessionsContract, workContract, exclusionContract, backoffContract, leasesContract],
  reading: [readingContract, listingsContract, historyContract, eventsContract, textsContract],
  recovery: [
    ...[eligibilityContract, agentStartContract, recoveryContract, ladderContract],
    ...[controllerResetsContract, episodesContract],
    ...[intentsContract, heartbeatsContract],
  ],
  slots: [
    providedContract,
    providerHoldsContract,
    recordsContract,
    installsContract,
    inspectionContract,
    conditionsContract,
    acceptanceContract,
  ],
  requests: [
    ...[requestsContract, rollsContract, decisionsContract, ordersContract, withdrawalsContract],
    ...[deprovisionContract, requestBatchesContract, accessContract, retireContract],
  ],
  balancing: [membersContract, poolsContract],
  events: [changesContract, fleetEventsContract, webhooksContract, casesContract],
  guard: [freezesContract, guardContract, permitsContract],
};

export type Area = keyof typeof AREAS;

/** Runs all areas, or one. */
export function bmdbContract(name: string, make: MakeHarness, area?: Area): void {
  describe(`BMDB ${name}`, () => {
    const stage = createStage(make);
    const contracts = area ? AREAS[area] : Object.values(AREAS).flat();
    for (const contract of contracts) contract(stage);
  });
}
