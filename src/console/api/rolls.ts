import { z } from 'zod';
import { CONTROLLED, ROLL_CONTROLS, type RollRepository } from '../../adapters/bmdb/port.ts';
import { KeyReused } from '../../domain/errors.ts';
import { slotIdOf, slot } from '../../domain/ids.ts';
import {
  batchesOf,
  batchOf,
  ROLL_STATES,
  type RollRow,
  type RollState,
} from '../../domain/rolling.ts';
import { wishOf } from '../../domain/operator-request.ts';
import { DRAIN_MODES, ORDER_VERBS, type OrderVerb } from '../../domain/verbs.ts';
import type { Person } from '../access/port.ts';
import type { MachineIndex } from '../index/machine-index.ts';
import { readPage } from '../index/walks.ts';
import { FILTER_LENGTH_MAX } from '../../domain/machine-filter.ts';
import { described, read, type Api } from './kit.ts';
import { requireFilter } from './machines.ts';
import { Problem } from './problem.ts';
import { listOf, Milliseconds, named, text, wholeNumber } from './schemas.ts';
import { machineRefusal, requireMachineRight } from './submit/refusals.ts';
import { requireCount } from './submit/submit.ts';

/** Rolling actions: reading, beginning, and what people ask of them. */

const MACHINES_MAX = 10_000;
const LISTED_MAX = 100;
const PAUSE_MAX_MS = 7 * 86_400_000;

export const RollSchema = named(
  'Roll',
  z.object({
    id: text,
    action: z.enum(ORDER_VERBS as [OrderVerb]),
    filter: text,
    state: z.enum(ROLL_STATES),
    note: text.nullable().describe('What it waits for, or why it ended. Null: nothing.'),
    by: text,
    reason: text,
    createdAtMs: Milliseconds,
    nextAtMs: Milliseconds.nullable().describe('The next batch begins after this time.'),
    stopOnFailure: z.boolean(),
    pauseMs: z.number(),
    position: z.int().describe('Number of machines in the batches that are over.'),
    count: z.int().describe('Number of machines.'),
    batches: listOf(listOf(text)).describe('Slots of the machines, by batch.'),
    failures: listOf(z.object({ slot: text, why: text })),
    controls: listOf(z.enum(ROLL_CONTROLS)).describe('What the caller may ask of it now.'),
  }),
);
export const RollsSchema = z.object({ rolls: listOf(RollSchema) });
export const RollPlanSchema = named(
  'RollPlan',
  z.object({
    dryRun: z.literal(true),
    action: text,
    count: z.int(),
    batches: listOf(listOf(text)),
  }),
);

const BodySchema = z.strictObject({
  action: z.enum(ORDER_VERBS as [OrderVerb]),
  drain: z.enum(DRAIN_MODES).nullable().default(null),
  filter: z.string().max(FILTER_LENGTH_MAX).describe('As of lists of machines. Not empty.'),
  expectCount: z.int().min(0).optional().describe('Required number of selected machines.'),
  canary: z.int().min(0).max(MACHINES_MAX).default(1).describe('Machines in the first batch.'),
  batch: z.string().default('5%').describe('Machines in each batch: `3`, or `5%`.'),
  pauseMs: z.int().min(0).max(PAUSE_MAX_MS).default(600_000),
  stopOnFailure: z.boolean().default(true),
  reason: z.string().trim().min(1).max(2_000),
});
const Params = z.object({ id: z.uuid() });
const Query = z.strictObject({ limit: wholeNumber(1, LISTED_MAX).default(LISTED_MAX) });
const Headers = z.looseObject({ 'idempotency-key': z.uuid().describe('Id of the roll.') });

export interface RollsDeps {
  readonly rolls: RollRepository;
  readonly index: MachineIndex;
}

const answerOf = (row: RollRow, person: Person): z.output<typeof RollSchema> => {
  const { slots, ...roll } = row;
  const isAllowed = machineRefusal(...orderOf(person, row)) === null;
  return {
    ...roll,
    createdAtMs: Math.round(roll.createdAtMs),
    nextAtMs: roll.nextAtMs === null ? null : Math.round(roll.nextAtMs),
    count: slots.length,
    batches: namesOf({ ...roll, slots }),
    controls: ROLL_CONTROLS.filter(
      (verb) => isAllowed && (CONTROLLED[verb].from as readonly RollState[]).includes(roll.state),
    ),
  };
};
const namesOf = (roll: Parameters<typeof batchesOf>[0]): string[][] =>
  batchesOf(roll).map((batch) => batch.map((at) => slot(at.provider, at.slotId)));

/** `rolls`: rolling actions. */
export function addRolls(api: Api, deps: RollsDeps): void {
  const { rolls } = deps;
  const required = async (id: string): Promise<RollRow> => {
    const roll = await rolls.read(id);
    if (!roll) throw new Problem('not-found', `No rolling action has the id ${id}`);
    return roll;
  };
  api.get(
    '/rolls',
    read('requests', 'The last rolling actions, newest first', RollsSchema, { querystring: Query }),
    async ({ query, person, signal }) => ({
      rolls: (await rolls.list(query, signal)).map((roll) => answerOf(roll, person)),
    }),
  );
  api.get(
    '/rolls/:id',
    read('requests', 'A rolling action', RollSchema, { params: Params }),
    async ({ params: { id }, person }) => answerOf(await required(id), person),
  );
  api.post(
    '/rolls',
    described(
      'operate',
      ['requests', 'Begin a rolling action; with dryRun, only show its batches'],
      { 200: RollPlanSchema, 202: RollSchema },
      {
        headers: Headers,
        querystring: z.strictObject({ dryRun: z.enum(['true', 'false']).default('false') }),
        body: BodySchema,
      },
    ),
    async ({ body, person, headers, query }, reply) => {
      const id = headers['idempotency-key'];
      const before = await rolls.read(id);
      if (before && before.by !== person.name)
        throw new KeyReused(`id ${id} was used for another rolling action; choose a new id`);
      if (before) return reply.code(202).send(answerOf(before, person));
      const slots = await matching(deps, body.filter);
      const batch = batchOf(body.batch, slots.length);
      if (batch === null)
        throw new Problem('malformed', 'batch: give a number of machines such as 3, or 5%');
      const { expectCount, ...wanted } = body;
      const roll = { ...wanted, id, slots, batch };
      requireMachineRight(...orderOf(person, roll));
      if (query.dryRun === 'true') {
        const { action } = body;
        return reply.send({ dryRun: true, action, count: slots.length, batches: namesOf(roll) });
      }
      requireCount(slots.length, expectCount);
      const { name: by, role, proven } = person;
      const row = await rolls.create({ ...roll, by, role, proven });
      return reply.code(202).send(answerOf(row, person));
    },
  );
  for (const verb of ROLL_CONTROLS) {
    api.post(
      `/rolls/:id/${verb}`,
      described(
        'operate',
        ['requests', `Ask a rolling action to ${verb}; orders that exist go on`],
        { 200: RollSchema },
        { params: Params },
      ),
      async ({ params: { id }, person }) => {
        const before = await required(id);
        requireMachineRight(...orderOf(person, before));
        const { state } = before;
        const roll = (await rolls.control(id, verb, person.name))!;
        if (roll.state === state) throw new Problem('changed', `It is ${state} already`);
        return answerOf(roll, person);
      },
    );
  }
}

const orderOf = (person: Person, { action, slots }: Pick<RollRow, 'action' | 'slots'>) =>
  [person, wishOf({ verb: action }), slots.map(({ provider }) => provider)] as const;

/** The machines that match, by name. @throws {Problem} no part of the filter chooses anything. */
async function matching({ index }: RollsDeps, text: string): Promise<RollRow['slots']> {
  const filter = requireFilter(text);
  if (filter.terms.length === 0)
    throw new Problem('malformed', 'filter: it is empty; give one, such as provider:metal');
  const listing = await index.listing(filter, 'slot');
  const page = { offset: 0, limit: MACHINES_MAX + 1, descending: false };
  const found = readPage(listing.rows, page).flatMap(({ entry: { view } }) => {
    const { provider, machineId } = view;
    // Nothing is done to a retired machine.
    return machineId === null || view.substate === 'retired'
      ? []
      : [{ provider, slotId: slotIdOf(view.slot), machineId }];
  });
  if (found.length > MACHINES_MAX)
    throw new Problem('malformed', `more than ${MACHINES_MAX} machines are selected`);
  if (found.length === 0) throw new Problem('malformed', 'filter: it matches no machine');
  return found;
}
