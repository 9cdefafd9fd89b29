import { explain, isProviderError } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { facetsOf } from '../../domain/provisioning/provider-facets.ts';
import type { Listed } from '../../machines/provisioner.ts';
import type { Creations } from './creations.ts';
import { begin, type ProvisionDeps } from './deps.ts';
import type { RoundState } from './round.ts';

/** A provider that refuses our credentials is asked again after so long. */
const REFUSED_MS = 60_000;

/** Lists provider and BMDB at once, for the round; the first failure aborts the other. */
export async function listBoth(
  deps: ProvisionDeps,
  creations: Pick<Creations, 'mark'>,
  state: RoundState,
  provider: ProviderName,
  signal: AbortSignal,
): Promise<Listed> {
  const { ends } = begin(deps, signal);
  const failing = new AbortController();
  const both = AbortSignal.any([ends, failing.signal]);
  const mark = creations.mark();
  state.read = null;
  try {
    const [listing, { rows, atMs }] = await Promise.all([
      deps.listings.list(provider, both),
      deps.bmdb.scan(both).then((rows) => ({ rows, atMs: deps.clock.monotonic() })),
    ]);
    state.read = { listing, rows, atMs, mark };
    return { kind: 'listed' };
  } catch (error) {
    failing.abort(error);
    const pauseMs = pauseAfter(error, deps.clock.now());
    if (pauseMs === null) throw error;
    return { kind: 'paused', pauseMs, reason: explain(error) };
  }
}

/** How long the provider is not to be asked, milliseconds; null: the error does not tell. */
function pauseAfter(error: unknown, clockMs: number): number | null {
  const { retryAtMs } = facetsOf(error);
  if (retryAtMs !== null && retryAtMs > clockMs) return retryAtMs - clockMs;
  return isProviderError(error, 'auth') ? REFUSED_MS : null;
}
