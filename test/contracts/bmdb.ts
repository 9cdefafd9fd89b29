import { describe } from 'vitest';
import { agentStartContract } from './bmdb-agent-start.ts';
import { backoffContract } from './bmdb-backoff.ts';
import { decisionsContract } from './bmdb-decisions.ts';
import { deprovisionContract } from './bmdb-deprovision.ts';
import { eligibilityContract } from './bmdb-eligibility.ts';
import { eventsContract } from './bmdb-events.ts';
import { exclusionContract } from './bmdb-exclusion.ts';
import { changesContract } from './bmdb-changes.ts';
import { freezesContract } from './bmdb-freezes.ts';
import { guardContract } from './bmdb-guard.ts';
import { smallGuardContract } from './bmdb-small-guard.ts';
import { historyContract } from './bmdb-history.ts';
import { heartbeatsContract } from './bmdb-heartbeats.ts';
import { inspectionContract } from './bmdb-inspection.ts';
import { installsContract } from './bmdb-installs.ts';
import { intentsContract } from './bmdb-intents.ts';
import { ladderContract } from './bmdb-ladder.ts';
import { leasesContract } from './bmdb-leases.ts';
import { listingsContract } from './bmdb-listings.ts';
import { ordersContract } from './bmdb-orders.ts';
import { withdrawalsContract } from './bmdb-withdrawals.ts';
import { providedContract } from './bmdb-provided.ts';
import { providerHoldsContract } from './bmdb-provider-holds.ts';
import { readingContract } from './bmdb-reading.ts';
import { recoveryContract } from './bmdb-recovery.ts';
import { requestsContract } from './bmdb-requests.ts';
import { sessionsContract } from './bmdb-sessions.ts';
import { createStage } from './bmdb-stage.ts';
import type { MakeHarness } from './bmdb-stage.ts';
import { textsContract } from './bmdb-texts.ts';
import { workContract } from './bmdb-work.ts';

export type { BmdbHarness, MakeHarness } from './bmdb-stage.ts';

/** What every implementation of the BMDB owes, by area. */
const AREAS = [
  sessionsContract,
  workContract,
  exclusionContract,
  backoffContract,
  eligibilityContract,
  agentStartContract,
  recoveryContract,
  ladderContract,
  intentsContract,
  leasesContract,
  heartbeatsContract,
  providedContract,
  providerHoldsContract,
  listingsContract,
  requestsContract,
  decisionsContract,
  installsContract,
  freezesContract,
  guardContract,
  smallGuardContract,
  ordersContract,
  withdrawalsContract,
  deprovisionContract,
  readingContract,
  changesContract,
  historyContract,
  eventsContract,
  textsContract,
  inspectionContract,
];

export function bmdbContract(name: string, make: MakeHarness): void {
  describe(`BMDB ${name}`, () => {
    const stage = createStage(make);
    for (const contract of AREAS) contract(stage);
  });
}
