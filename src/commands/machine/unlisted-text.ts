import type { BmdbSurroundings, Unlisted } from '../../adapters/bmdb/port.ts';
import { isAnyAlive } from './guard-text.ts';
import { plainCell, whenText } from './layout.ts';

/** A line for each provider that daemons cannot list: since when, how many of them, and why. */
export const unlistedLines = (
  unlisted: readonly Unlisted[],
  read: Pick<BmdbSurroundings, 'nowMs' | 'sessions'>,
): string[] =>
  [...Map.groupBy(unlisted, ({ provider }) => provider)].map(([provider, found]) =>
    plainCell(`provider ${provider} CANNOT BE LISTED ${sinceText(found, read)}`),
  );

/** Of the daemons that say so of one provider; at least one. */
export function sinceText(
  found: readonly Unlisted[],
  { nowMs, sessions }: Pick<BmdbSurroundings, 'nowMs' | 'sessions'>,
): string {
  const [first] = found.toSorted((a, b) => a.sinceMs - b.sinceMs);
  const daemons = sessions.filter((each) => isAnyAlive([each])).length;
  const by = daemons > found.length ? ` by ${found.length} of ${daemons} daemons` : '';
  return plainCell(`since ${whenText(first!.sinceMs, nowMs)}${by}: ${first!.cause}`);
}
