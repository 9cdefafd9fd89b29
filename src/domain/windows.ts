import type { ProviderName } from './ids.ts';

/**
 * Maintenance windows: when planned work may begin. Recovery never waits for one.
 */
export interface MaintenanceWindow {
  readonly name: string;
  /** Names of providers, locations and pools; absent: all. */
  readonly providers?: readonly string[] | undefined;
  readonly locations?: readonly string[] | undefined;
  readonly pools?: readonly string[] | undefined;
  /** Open until, or closed until; epoch ms. */
  readonly at: (nowMs: number) => { readonly isOpen: boolean; readonly untilMs: number };
}

/** What windows can select a machine or a slot by. */
export interface WindowPlace {
  readonly provider: ProviderName;
  readonly location: string | null;
  /** Pools that the machine belongs to. */
  readonly pools: readonly string[];
}

const applies = ({ providers, locations, pools }: MaintenanceWindow, place: WindowPlace): boolean =>
  (!providers || providers.includes(place.provider)) &&
  (!locations || (place.location !== null && locations.includes(place.location))) &&
  (!pools || place.pools.some((pool) => pools.includes(pool)));

/**
 * Why planned work must wait, for people; null: a window is open, or no window applies. With several
 * windows, one open window is enough.
 */
export function windowRefusal(
  windows: readonly MaintenanceWindow[],
  place: WindowPlace,
  nowMs: number,
): string | null {
  const closed = [];
  for (const window of windows) {
    if (!applies(window, place)) continue;
    const { isOpen, untilMs } = window.at(nowMs);
    if (isOpen) return null;
    closed.push({ name: window.name, untilMs });
  }
  const [next] = closed.toSorted((a, b) => a.untilMs - b.untilMs);
  if (!next) return null;
  return `its maintenance window ${next.name} opens at ${new Date(next.untilMs).toISOString()}`;
}
