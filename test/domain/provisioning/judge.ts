import { reconcile, type ReconcileInput } from '../../../src/domain/provisioning/reconcile.ts';
import { NOW_MS, PROVIDER } from '../../support/facts.ts';

/** What is to be done for a provider of which nothing is known but what the test says. */
export const judge = (change: Partial<ReconcileInput>) =>
  reconcile({
    provider: PROVIDER,
    listed: [],
    listingComplete: true,
    machines: [],
    intents: [],
    holds: [],
    penalties: [],
    nowMs: NOW_MS,
    machinesMax: 0,
    chunkSize: 20,
    ...change,
  });
