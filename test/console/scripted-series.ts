import type { SeriesView } from '../../src/console/views.ts';
import { AT_MS } from './scripted-fleet.ts';

/** An hour with some recoveries. */
export const seriesView = (count = 360): SeriesView => ({
  stepMs: 10_000,
  samples: () =>
    Array.from({ length: count }, (_, at) => {
      const recovering = at % 90 > 60 ? 4 : 1;
      return {
        atMs: AT_MS - (count - at) * 10_000,
        counts: { Running: 20 - recovering, Recovering: recovering, Quarantined: at > 200 ? 2 : 1 },
        silent: at > 100 && at < 200 ? 3 : 0,
        heartbeats: 60 + (at % 7),
        recoveries: at % 90 === 61 ? 3 : 0,
      };
    }),
});
