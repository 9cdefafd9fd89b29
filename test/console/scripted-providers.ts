import type { ProvidersView, ProviderSummary } from '../../src/console/views.ts';
import { machineId, providerName, sessionId, witness } from '../../src/domain/ids.ts';
import { AT_MS } from './scripted-fleet.ts';

const EQUINIX = providerName('equinix');
const SESSION = sessionId('5e551000-0000-4000-8000-000000000001');

/** A healthy provider. */
export const providerSummary = (change: Partial<ProviderSummary> = {}): ProviderSummary => ({
  provider: EQUINIX,
  driver: 'equinix',
  isInventory: false,
  can: ['create', 'reboot'],
  callsMax: 4,
  machinesMax: 20,
  target: null,
  mayEraseDisks: false,
  provisioner: { sessionId: SESSION, isHere: true },
  listing: { atMs: AT_MS - 12_000.4, complete: true, entries: 9, unreadable: 0 },
  unlisted: null,
  breaker: { reason: null, atMs: AT_MS - 12_000 },
  classes: [{ plan: 'm3.large', location: 'am6', free: 4, used: 3, foreign: 1, unclear: 1 }],
  holds: [],
  shelf: [],
  unsettled: [],
  calls: [
    { operation: 'List', calls: 40, failed: 2, p50Ms: 310, p95Ms: 1_240, lastAtMs: AT_MS - 9_000 },
  ],
  ...change,
});

/** A provider with every fault. */
export const troubled = (): ProviderSummary =>
  providerSummary({
    mayEraseDisks: true,
    provisioner: null,
    unlisted: { sinceMs: AT_MS - 90_000.5, cause: 'connect <b>ECONNREFUSED</b>' },
    breaker: { reason: '7 of 20 machines disagree (0 orphans, 7 missing)', atMs: AT_MS - 8_000 },
    holds: [
      {
        ...{ provider: EQUINIX, kind: 'quota', key: 'machines', amount: 20, level: 2 },
        ...{ untilMs: AT_MS + 600_000.5, cause: 'the project has no more' },
      },
    ],
    shelf: [
      {
        ...{ provider: EQUINIX, slotId: 'a', untilMs: AT_MS + 60_000.5 },
        cause: 'no capacity for this plan',
      },
    ],
    unsettled: [
      {
        ...{ provider: EQUINIX, slotId: 'b', hostname: 'b.example', state: 'unresolved' },
        ...{ machineId: machineId('11111111-0000-4000-8000-000000000001'), attempts: 2 },
        ...{ witness: witness('22222222-0000-4000-8000-000000000001'), ambiguous: true },
        ...{ sessionId: SESSION, sessionAlive: false, createdAtMs: AT_MS - 700_000.5 },
        ...{ emptySinceMs: null, lastError: 'the answer was lost' },
      },
    ],
  });

export const providersView = (...all: readonly ProviderSummary[]): ProvidersView => ({
  summaries: async () => all,
  summary: async (name) => all.find(({ provider }) => provider === name) ?? null,
});
