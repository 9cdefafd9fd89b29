import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { RIGHTS, ROLES } from '../access/port.ts';
import { mayDo } from '../access/rights.ts';
import { ARROW_KINDS, CHART_IDS, type ChartId } from '../charts/layout.ts';
import { LEVELS, type LogControl } from '../views.ts';
import { described, read, type Api } from './kit.ts';
import { Problem } from './problem.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';

export const WhoamiSchema = z.object({
  name: text.describe('As it is recorded with what is asked for.'),
  role: z.enum(ROLES),
  providers: listOf(text).nullable().describe('Null: every provider.'),
  via: z.enum(['none', 'token', 'cookie', 'certificate']),
  proven: z.boolean().describe('False: the name is a claim.'),
  rights: listOf(z.enum(RIGHTS)).describe(
    'What may be done at `providers`; to see is not limited to them.',
  ),
});
export type Caller = z.output<typeof WhoamiSchema>;

const FOR_MAX_MS = 24 * 3_600_000;
const component = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,40}$/, 'it must be the name of a component, such as recovery')
  .nullable();

export const LogLevelsSchema = named(
  'LogLevels',
  z.object({
    usual: z.enum(LEVELS).describe('As it is configured.'),
    changes: listOf(
      z.object({
        component: component.describe('Null: all.'),
        level: z.enum(LEVELS),
        untilMs: Milliseconds.describe('It is as usual again then.'),
      }),
    ),
  }),
);
const ChangeSchema = z.strictObject({
  level: z.enum(LEVELS),
  component: component.default(null).describe('Null: all.'),
  forMs: z.int().min(1_000).max(FOR_MAX_MS).describe('It ends by itself.'),
});

const ChartSchema = named(
  'Chart',
  z.object({
    id: z.enum(CHART_IDS),
    title: text,
    width: z.int(),
    height: z.int(),
    states: listOf(
      z.object({
        id: text,
        name: text,
        description: text.nullable(),
        x: z.int(),
        y: z.int(),
        width: z.int(),
        height: z.int(),
      }),
    ).describe('Whoever contains others comes before them.'),
    arrows: listOf(
      z.object({
        from: text,
        to: text,
        label: text,
        kind: z.enum(ARROW_KINDS),
        points: listOf(z.tuple([z.int(), z.int()])),
      }),
    ),
  }),
);

/** A drawn chart: positions of states, paths of arrows. All lengths in pixels. */
type Chart = z.output<typeof ChartSchema>;
export type ChartLayout = Omit<Chart, 'id'> & { readonly id: string };
export type ChartState = Chart['states'][number];
export type ChartArrow = Chart['arrows'][number];

const CHARTS = join(dirname(findPackageJSON(import.meta.url)!), 'generated/charts');
const layouts = new Map<ChartId, Promise<Chart>>();

/** Read once, because it cannot change while the program runs. */
function layoutOf(id: ChartId): Promise<Chart> {
  let layout = layouts.get(id);
  if (!layout) {
    const file = join(CHARTS, `${id}.json`);
    layout = readFile(file, 'utf8').then((json) => JSON.parse(json) as Chart);
    layouts.set(id, layout);
  }
  return layout;
}

export interface AboutDeps {
  readonly version: string;
  /** Null: the log cannot be controlled. */
  readonly logControl: LogControl | null;
}

/** `whoami`, `version`, `charts/{id}`, `log/level`, `openapi.json`: the console itself. */
export function addAbout(api: Api, { version, logControl }: AboutDeps): void {
  api.get('/whoami', read('console', 'Who is asking', WhoamiSchema), async ({ person }) => ({
    ...person,
    rights: RIGHTS.filter((right) => mayDo(person, right)),
  }));
  const VersionSchema = z.object({ version: text, api: z.literal('v1') });
  api.get(
    '/version',
    read('console', 'The version of the daemon that answers', VersionSchema),
    async () => ({ version, api: 'v1' as const }),
  );
  api.get(
    '/charts/:id',
    read(
      'console',
      'The drawing of a statechart: its states, its arrows, and where they are',
      ChartSchema,
      { params: z.object({ id: z.enum(CHART_IDS) }) },
    ),
    async ({ params: { id } }) => layoutOf(id),
  );
  const levels = (): LogControl => {
    if (logControl) return logControl;
    throw new Problem('unavailable', 'The log of this daemon cannot be told anything');
  };
  const told = ({ usual, changes }: LogControl) => ({ usual, changes: changes() });
  api.get(
    '/log/level',
    read('console', 'What the daemon that answers writes into its log', LogLevelsSchema),
    async () => told(levels()),
  );
  api.put(
    '/log/level',
    described(
      'administer',
      ['console', 'Have the daemon that answers write more, or less, for a while'],
      { 200: LogLevelsSchema },
      { body: ChangeSchema },
    ),
    async ({ person, body }) => {
      await levels().set({ ...body, by: person.name });
      return told(levels());
    },
  );
  let document: string | null = null;
  api.get(
    '/openapi.json',
    read('console', 'This description', z.looseObject({ openapi: text })),
    async (_request, reply) => {
      document ??= JSON.stringify(api.swagger());
      return reply.type('application/json').serializer(String).send(document);
    },
  );
}
