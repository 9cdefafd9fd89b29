import { machinesMaxOf, mayEraseDisks } from '../../config.ts';
import type { ProvidersView, ProviderSummary } from '../../console/views.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import type { Recorded } from './recorded-views.ts';

/** Providers as rows and configuration have them. None is asked anything. */
export function recordedProviders(recorded: Recorded, version: string): ProvidersView {
  const summaries = async (wanted?: string): Promise<ProviderSummary[]> => {
    const found = await ofProviders(recorded, { version, wanted }, (each) =>
      summaryOf(each, recorded),
    );
    return found.toSorted((a, b) => (a.provider < b.provider ? -1 : 1));
  };
  return {
    summaries: () => summaries(),
    summary: async (name) => (await summaries(name))[0] ?? null,
  };
}

/** Opens the configured providers (or the one that is wanted), and reads something of each. */
export async function ofProviders<T>(
  { config, bmdb }: Pick<Recorded, 'config' | 'bmdb'>,
  { version, wanted }: { readonly version: string; readonly wanted: string | undefined },
  read: (provider: FleetProvider) => T,
): Promise<T[]> {
  if (wanted !== undefined && !Object.keys(config.providers).includes(wanted)) return [];
  // Drivers take long to load, and few commands are about providers.
  const { openAll, NO_KEY } = await import('../provider/open-providers.ts');
  const { createReadRecords } = await import('../../actors/providers/records.ts');
  const providers = openAll(config, {
    ...{ provider: wanted, version, publicKey: NO_KEY },
    records: (name) => createReadRecords(name, bmdb),
  });
  try {
    return [...providers.values()].map(read);
  } finally {
    await Promise.all([...providers.values()].map((each) => each.stop()));
  }
}

function summaryOf(
  provider: FleetProvider,
  { config, fleet, unlisted }: Recorded,
): ProviderSummary {
  const { name, type, capabilities } = provider;
  const { read } = fleet;
  const { maxConcurrency, ...able } = capabilities;
  const isOwn = (row: { readonly provider: string }) => row.provider === name;
  const lease = read.leases.find((each) => each.held && each.name === `provisioner/${name}`);
  const max = machinesMaxOf(config, name);
  return {
    ...{ provider: name, driver: type, isInventory: provider.inventory !== undefined },
    can: Object.entries(able).flatMap(([ability, can]) => (can ? [ability] : [])),
    callsMax: maxConcurrency,
    machinesMax: max === 0 ? null : max,
    mayEraseDisks: mayEraseDisks(config, provider),
    provisioner: lease ? { sessionId: lease.sessionId, isHere: false } : null,
    ...{ listing: null, breaker: null, classes: [], calls: [] },
    unlisted: unlisted.find(isOwn) ?? null,
    holds: read.providerHolds
      .filter((hold) => isOwn(hold) && hold.untilMs > read.nowMs)
      .toSorted((a, b) => b.untilMs - a.untilMs),
    shelf: read.penalties
      .filter((each) => isOwn(each) && each.untilMs > read.nowMs)
      .toSorted((a, b) => a.untilMs - b.untilMs),
    unsettled: read.intents.filter(isOwn).toSorted((a, b) => a.createdAtMs - b.createdAtMs),
  };
}
