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
  name: text.describe('The name that is recorded with each request.'),
  role: z.enum(ROLES),
  providers: listOf(text).nullable().describe('Null: all providers.'),
  via: z.enum(['none', 'token', 'cookie', 'certificate']),
  proven: z.boolean().describe('False: the name is a claim.'),
  rights: listOf(z.enum(RIGHTS)).describe(
    'The rights at these `providers`. The right `see` covers the whole fleet.',
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
    usual: z.enum(LEVELS).describe('The configured level.'),
    changes: listOf(
      z.object({
        component: component.describe('Null: all components.'),
        level: z.enum(LEVELS),
        untilMs: Milliseconds.describe('When the level returns to the configured one.'),
      }),
    ),
  }),
);
const ChangeSchema = z.strictObject({
  level: z.enum(LEVELS),
  component: component.default(null).describe('Null: all components.'),
  forMs: z.int().min(1_000).max(FOR_MAX_MS).describe('Duration of the change.'),
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
    ).describe('A state comes before the states inside it.'),
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
  api.get(
    '/whoami',
    read('console', 'The caller and its rights', WhoamiSchema),
    async ({ person }) => ({ ...person, rights: RIGHTS.filter((right) => mayDo(person, right)) }),
  );
  const VersionSchema = z.object({ version: text, api: z.literal('v1') });
  api.get(
    '/version',
    read('console', 'The version of the answering daemon', VersionSchema),
    async () => ({ version, api: 'v1' as const }),
  );
  api.get(
    '/charts/:id',
    read(
      'console',
      'The drawing of a statechart: states and arrows, with their positions',
      ChartSchema,
      { params: z.object({ id: z.enum(CHART_IDS) }) },
    ),
    async ({ params: { id } }) => layoutOf(id),
  );
  const levels = (): LogControl => {
    if (logControl) return logControl;
    throw new Problem('unavailable', 'The log level of this daemon cannot be changed');
  };
  const told = ({ usual, changes }: LogControl) => ({ usual, changes: changes() });
  api.get(
    '/log/level',
    read('console', 'The log levels of the answering daemon', LogLevelsSchema),
    async () => told(levels()),
  );
  api.put(
    '/log/level',
    described(
      'administer',
      ['console', 'Change a log level of the answering daemon for a limited time'],
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
    read('console', 'This OpenAPI description', z.looseObject({ openapi: text })),
    async (_request, reply) => {
      document ??= JSON.stringify(api.swagger());
      return reply.type('application/json').serializer(String).send(document);
    },
  );
}
