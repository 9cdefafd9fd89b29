import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ARROW_KINDS, CHART_IDS, type ChartId, type ChartLayout } from '../charts/layout.ts';
import type { Api } from './kit.ts';
import { named } from './schemas.ts';

const ChartSchema = named(
  'Chart',
  z.object({
    id: z.enum(CHART_IDS),
    title: z.string(),
    width: z.int(),
    height: z.int(),
    states: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          description: z.string().nullable(),
          x: z.int(),
          y: z.int(),
          width: z.int(),
          height: z.int(),
        }),
      )
      .readonly()
      .describe('Whoever contains others comes before them.'),
    arrows: z
      .array(
        z.object({
          from: z.string(),
          to: z.string(),
          label: z.string(),
          kind: z.enum(ARROW_KINDS),
          points: z.array(z.tuple([z.int(), z.int()])).readonly(),
        }),
      )
      .readonly(),
  }),
);

const CHARTS = join(dirname(findPackageJSON(import.meta.url)!), 'generated/charts');
const layouts = new Map<ChartId, Promise<ChartLayout>>();

/** Read once: it cannot change while the program runs. */
function layoutOf(id: ChartId): Promise<ChartLayout> {
  let layout = layouts.get(id);
  if (!layout) {
    const file = join(CHARTS, `${id}.json`);
    layout = readFile(file, 'utf8').then((json) => JSON.parse(json) as ChartLayout);
    layouts.set(id, layout);
  }
  return layout;
}

/** `charts/{id}`: how a statechart is drawn. */
export function addCharts(api: Api): void {
  api.get(
    '/charts/:id',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'The drawing of a statechart: its states, its arrows, and where they are',
        params: z.object({ id: z.enum(CHART_IDS) }),
        response: { 200: ChartSchema },
      },
    },
    async ({ params: { id } }) => (await layoutOf(id)) as z.output<typeof ChartSchema>,
  );
}
