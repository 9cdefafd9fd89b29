import { z } from 'zod';
import { HOLD_KINDS } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import {
  forLineFields,
  lineField,
  type LineFieldName,
  type RareName,
} from '../../domain/line-fields.ts';
import { PROBLEM_CODES } from './problem.ts';

/** Schemas named in the API's description. */
export const SCHEMAS = z.registry<{ id: string }>();
export const named = <Schema extends z.ZodType>(id: string, schema: Schema): Schema => {
  SCHEMAS.add(schema, { id });
  return schema;
};

export const text = z.string();
export const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).readonly();
const EPOCH = "Epoch milliseconds of the database's clock.";
/** Time in an answer. The fractions of a millisecond in the database are rounded off. */
export const Milliseconds = z.number().overwrite(Math.round).int().describe(EPOCH);
/** Time in a request. */
export const GivenMilliseconds = z.int().describe(EPOCH);
export const NeedHuman = z
  .int()
  .describe(
    'Number of machines that need a person: an operator must decide, or the machine has been silent or unreachable for longer than `agent.needsHumanAfter`.',
  );

export const ProblemSchema = named(
  'Problem',
  z.looseObject({
    type: text.describe('`/problems/<code>`, a page of this console.'),
    title: text,
    status: z.int(),
    detail: text,
    instance: text,
    code: z.enum(PROBLEM_CODES),
    errors: z
      .array(z.object({ pointer: text, detail: text }))
      .readonly()
      .optional()
      .describe('Each invalid part of the request, with its fault.'),
  }),
);

type LineShape = {
  [Name in LineFieldName]: Name extends RareName
    ? z.ZodOptional<z.ZodString>
    : z.ZodNullable<z.ZodString>;
};
const LINE_SHAPE = forLineFields((name) => {
  const { isRare, note } = lineField(name);
  const schema = isRare ? text.optional() : text.nullable();
  return note === undefined ? schema : schema.describe(note);
}) as LineShape;

/** A line of a list. */
export const MachineRowSchema = named(
  'MachineRow',
  z.object({
    slot: text.describe('`<provider>/<slot id>`: the physical machine.'),
    ...LINE_SHAPE,
    state: z.enum(STATES),
    substate: text,
    reason: text
      .nullable()
      .describe('Why the machine is in this state, if the state alone does not say it.'),
    lastHeartbeatAtMs: Milliseconds.nullable(),
    sinceMs: Milliseconds.describe(
      'Since when the machine is in this state. For a silent machine: the last heartbeat.',
    ),
    holds: z.array(z.enum(HOLD_KINDS)).readonly(),
    elsewhere: z.boolean().describe('Another daemon works on it now.'),
  }),
);
export type MachineRow = z.output<typeof MachineRowSchema>;

/** A number in a query, where everything is text. */
export const wholeNumber = (least: number, most: number) =>
  z.coerce.number<string>({ error: 'it must be a whole number' }).int().min(least).max(most);
