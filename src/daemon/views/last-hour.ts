import { heeding, type Metrics } from '../../adapters/metrics/port.ts';
import type { Sample, SeriesView } from '../../console/views.ts';
import type { Headline } from '../../domain/headline.ts';
import type { Means } from '../ports.ts';

const STEP_MS = 10_000;
const HOUR_MS = 3_600_000;
/** A ring with one hour of steps. */
export const SAMPLES_MAX = HOUR_MS / STEP_MS;

export interface Series extends SeriesView {
  /** Wraps the metrics and counts heartbeats and recoveries. */
  heeding(metrics: Metrics): Metrics;
  /** Takes a sample at the end of each step until the daemon closes. */
  begin(of: SeriesSource): void;
}

export interface SeriesSource {
  /** Machines by state. */
  readonly counts: () => Sample['counts'];
  readonly headline: () => Headline;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
}

/** Data for the page's chart of the last hour. In memory only: starts empty with the daemon. */
export function createSeries({ clock, closer }: Pick<Means, 'clock' | 'closer'>): Series {
  const samples: Sample[] = [];
  let heartbeats = 0;
  let recoveries = 0;
  let timer: unknown = null;
  closer.add('series', () => clock.clearTimeout(timer));
  return {
    stepMs: STEP_MS,
    samples: () => samples,
    heeding: (metrics) =>
      heeding(metrics, ({ name, labels: { outcome, to } }) => {
        if (name === 'shepherd_heartbeats_total' && outcome === 'ok') heartbeats += 1;
        if (name === 'shepherd_machine_transitions_total' && to === 'Recovering') recoveries += 1;
      }),
    begin({ counts, headline, nowMs }) {
      const step = () => {
        const silent = headline().shares.find(({ word }) => word === 'silent')?.machines ?? 0;
        samples.push({ atMs: nowMs(), counts: counts(), silent, heartbeats, recoveries });
        if (samples.length > SAMPLES_MAX) samples.shift();
        heartbeats = 0;
        recoveries = 0;
        timer = clock.setTimeout(step, STEP_MS);
      };
      timer = clock.setTimeout(step, STEP_MS);
    },
  };
}
