import { heeding, type Metrics } from '../../adapters/metrics/port.ts';
import type { Sample, SeriesView } from '../../console/views.ts';
import type { Headline } from '../../domain/headline.ts';
import type { Means } from '../ports.ts';

const STEP_MS = 10_000;
const HOUR_MS = 3_600_000;
/** A bounded ring: an hour of steps. */
export const SAMPLES_MAX = HOUR_MS / STEP_MS;

export interface Series extends SeriesView {
  /** The metrics; what they are told of heartbeats and recoveries is counted. */
  heeding(metrics: Metrics): Metrics;
  /** Takes a sample at the end of each step from now on, until the daemon is closed. */
  begin(of: SeriesSource): void;
}

export interface SeriesSource {
  /** Machines per state. */
  readonly counts: () => Sample['counts'];
  readonly headline: () => Headline;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
}

/** Keeps what the page draws of the last hour. In memory alone: it begins anew with the daemon. */
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
