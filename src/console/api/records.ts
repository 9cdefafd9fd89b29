import { z } from 'zod';
import type { BmdbInspection } from '../../adapters/bmdb/port.ts';
import { machineId } from '../../domain/ids.ts';
import { described, read, type Api } from './kit.ts';
import { listOf, named, text, wholeNumber } from './schemas.ts';

/** What is read from the database as recorded there. */
export type Records = Pick<
  BmdbInspection,
  'schema' | 'machines' | 'hardware' | 'statistics' | 'episodes'
>;

const count = z.int();

const FieldSchema = named(
  'RecordedField',
  z.object({
    name: text,
    type: text,
    value: text.describe('Secrets are left out.'),
    message: z.record(text, z.unknown()).optional().describe('For a message: its fields by name.'),
  }),
);
const next = text
  .nullable()
  .describe('Give it as `after` to read the next page. Null: this is the last page.');

export const RecordsSchema = z.object({
  schema: text.describe('The newest schema migration.'),
  machines: listOf(
    z.object({
      machineId: text,
      createdAtMs: z.number(),
      tags: z.record(text, listOf(FieldSchema)).describe('Fields by the name of the tag.'),
      backoffs: z.record(text, z.object({ untilMs: z.number(), cause: text })),
      work: z.record(text, text).describe('Session that does the work, by process.'),
    }),
  ),
  sql: listOf(text).describe('The executed statements.'),
  next,
});
export const HardwareReportsSchema = z.object({
  machines: listOf(
    z.object({
      ...{ machineId: text, provider: text, providerId: text, location: text.nullable() },
      report: FieldSchema,
    }),
  ),
  next,
});
const CountsSchema = named(
  'MachineCounts',
  z.object({
    ...{ machines: count, provided: count, heartbeating: count, installationPending: count },
    ...{ installed: count, installationFailed: count, pendingAgentStart: count },
    ...{ pendingRecovery: count, activeWork: z.record(text, count) },
    activeBackoffs: z.record(text, count),
  }),
);
export const StatisticsSchema = z.object({
  fleet: CountsSchema,
  providers: z.record(text, CountsSchema),
});

const PAGE_MAX = 200;
const page = { after: z.uuid().optional(), limit: wholeNumber(1, PAGE_MAX).default(PAGE_MAX) };
const from = (after: string | undefined) =>
  after === undefined ? {} : { after: machineId(after) };

/** `records`, `hardware`, `statistics`: machines as the database holds them, for tools. */
export function addRecords(api: Api, records: Records): void {
  api.get(
    '/records',
    described(
      'administer',
      ['machines', 'All records of machines, sorted by machine id, without secrets'],
      { 200: RecordsSchema },
      {
        querystring: z.strictObject({
          ...page,
          machine: z.uuid().optional().describe('Only the machine with this id.'),
          expiredBackoffs: z
            .stringbool()
            .default(false)
            .describe('Include backoffs that are over.'),
        }),
      },
    ),
    async ({ query: { machine, after, ...query }, signal }) => {
      const only = machine === undefined ? {} : { machineId: machineId(machine) };
      const { version } = await records.schema(signal);
      const found = await records.machines({ ...query, ...from(after), ...only }, signal);
      return { schema: version, ...found };
    },
  );
  api.get(
    '/hardware',
    read('machines', 'Hardware reports of agents, by machine id', HardwareReportsSchema, {
      querystring: z.strictObject(page),
    }),
    async ({ query: { after, limit }, signal }) =>
      records.hardware({ limit, ...from(after) }, signal),
  );
  api.get(
    '/statistics',
    read(
      'machines',
      'Numbers of machines by condition, in total and by provider',
      StatisticsSchema,
    ),
    async ({ signal }) => {
      const { fleet, providers } = await records.statistics(signal);
      return { fleet, providers: Object.fromEntries(providers) };
    },
  );
}
