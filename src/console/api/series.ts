import { z } from 'zod';
import { STATES } from '../../domain/states.ts';
import type { Sample, SeriesView } from '../series.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named } from './schemas.ts';

const row = z.array(z.int()).readonly();

/** Column by column, so that an hour is small. */
const SeriesSchema = named(
  'Series',
  z.object({
    stepMs: z.int().describe('So far apart the moments are, and so long each step is.'),
    atMs: z.array(Milliseconds).readonly().describe('Ends of the steps, the oldest first.'),
    states: z
      .partialRecord(z.enum(STATES), row)
      .describe(
        'Machines by state at each of the moments; states that had none all the time are left out.',
      ),
    silent: row.describe('Machines of state `Running` that were silent at each of the moments.'),
    heartbeats: row.describe('Heartbeats that the daemon that answers took in during each step.'),
    recoveries: row.describe('Machines that came to be recovered during each step.'),
  }),
);
export type SeriesAnswer = z.output<typeof SeriesSchema>;

/** `series`: the last hour, as far as the daemon that answers ran then. */
export function addSeries(api: Api, series: SeriesView): void {
  api.get(
    '/series',
    {
      config: { right: 'see' },
      schema: {
        tags: ['fleet'],
        summary: 'States, heartbeats and recoveries during the last hour',
        response: { 200: SeriesSchema },
      },
    },
    async () => seriesAnswer(series),
  );
}

function seriesAnswer(series: SeriesView): SeriesAnswer {
  const samples = series.samples();
  const column = (of: (sample: Sample) => number) => samples.map(of);
  const seen = STATES.filter((state) => samples.some(({ counts }) => counts[state]));
  return {
    stepMs: series.stepMs,
    atMs: column(({ atMs }) => Math.round(atMs)),
    states: Object.fromEntries(
      seen.map((state) => [state, column(({ counts }) => counts[state] ?? 0)]),
    ),
    silent: column(({ silent }) => silent),
    heartbeats: column(({ heartbeats }) => heartbeats),
    recoveries: column(({ recoveries }) => recoveries),
  };
}
