import { z } from 'zod';
import {
  DRAIN_MODES,
  HOLD_KINDS,
  INSTALLATION_RESULTS,
  MACHINE_PARTS,
  PROCESSES,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
  type Field,
  type PartName,
  type PartOf,
} from '../../domain/machine.ts';
import { ACCEPTANCE_STATES } from '../../domain/acceptance.ts';
import { DRAIN_ENDS, MEMBER_STATES } from '../../domain/balancing/members.ts';
import { CONDITION_EFFECTS, CONDITION_STATUSES } from '../../domain/conditions.ts';
import { MachineRowSchema, Milliseconds, named } from './schemas.ts';

const text = z.string();
const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).readonly();

const KINDS: Readonly<Record<string, z.ZodType>> = {
  ...{ ms: Milliseconds, int: z.int(), bool: z.boolean(), numbers: listOf(z.number()) },
  ...{ drain: z.enum(DRAIN_MODES), quarantine: z.enum(QUARANTINE_KINDS) },
};
type PartShape<Name extends PartName> = {
  -readonly [Key in keyof PartOf<Name>]: z.ZodType<PartOf<Name>[Key]>;
};

/** The schema of a part of a machine's row. */
function partSchema<Name extends PartName>(name: Name): z.ZodObject<PartShape<Name>> {
  const fields: readonly (readonly [string, Field])[] = Object.entries(MACHINE_PARTS[name]);
  const shape = fields.map(([key, [kind, , note]]): [string, z.ZodType] => {
    const known = KINDS[kind.replace('?', '')] ?? text;
    const schema = kind.endsWith('?') ? known.nullable() : known;
    return [key, note === undefined ? schema : schema.describe(note)];
  });
  return z.object(Object.fromEntries(shape) as unknown as PartShape<Name>);
}

export const ConditionSchema = named(
  'Condition',
  z.object({
    type: text.describe('Such as `disk-failing`.'),
    source: text.describe('`agent`, `provider`, or who reported it, as in the audit.'),
    status: z
      .enum(CONDITION_STATUSES)
      .describe('Now. `Unknown` is neither OK nor a failure; an expired `False` is unknown.'),
    reason: text,
    detail: text,
    sinceMs: Milliseconds,
    fromMs: Milliseconds.nullable().describe(
      'When `True` begins to have its effect. Null: at once.',
    ),
    expiresAtMs: Milliseconds.nullable().describe('Null: never.'),
    effect: z.enum(CONDITION_EFFECTS).describe('What it does while it is true.'),
    suspicious: z
      .boolean()
      .describe('Too many machines have this condition together, so it only tells.'),
  }),
);

/** Everything that the daemon holds in memory about one machine. */
export const MachineSchema = named(
  'Machine',
  MachineRowSchema.extend({
    etag: text.describe('ETag for the header `If-Match` of a request about this machine.'),
    atMs: Milliseconds,
    provider: text,
    slotId: text,
    providerId: text.nullable(),
    reservationId: text.nullable(),
    adopted: z
      .boolean()
      .describe('The machine existed before Shepherd: its give-back only lets go of it.'),
    plan: text.nullable(),
    status: z.enum(PROVIDER_STATUSES).nullable().describe('Status at the provider.'),
    power: z.enum(['on', 'off', 'unknown']),
    hostname: text.nullable(),
    remoteUser: text
      .nullable()
      .describe('User name for SSH. Null: the provider does not list one.'),
    createdAtMs: Milliseconds.nullable().describe('When the current tenancy began.'),
    next: z.enum(['agentStart', 'recovery', 'deprovision']).nullable(),
    endedBy: text.nullable().describe('Who or what can end the quarantine.'),
    dueAtMs: Milliseconds.nullable().describe('When the state may next change by time alone.'),
    permit: z
      .boolean()
      .describe('Whether the machine holds a permit of the guard: recovery interrupts it now.'),
    conflict: text.nullable(),
    holdRows: listOf(
      z.object({
        kind: z.enum(HOLD_KINDS),
        setBy: text,
        reason: text,
        fromMs: Milliseconds.nullable().describe('Null: it holds at once.'),
        untilMs: Milliseconds.nullable(),
      }),
    ),
    conditionRows: listOf(ConditionSchema).describe('Conditions that are not `False`.'),
    acceptance: partSchema('acceptance')
      .extend({
        state: z
          .enum(ACCEPTANCE_STATES)
          .describe('`unknown`: its agent does not answer the request.'),
      })
      .nullable()
      .describe('Null: no acceptance was ever requested.'),
    requests: listOf(
      z.object({
        key: text,
        verb: text,
        by: text,
        reason: text,
        createdAtMs: Milliseconds,
        expiresAtMs: Milliseconds,
      }),
    ).describe('Open requests.'),
    order: partSchema('order').nullable(),
    work: listOf(
      z.object({ process: z.enum(PROCESSES), sessionId: text, startedAtMs: Milliseconds }),
    ),
    backoffs: listOf(z.object({ process: z.enum(PROCESSES), untilMs: Milliseconds, cause: text })),
    ladder: partSchema('recovery').nullable(),
    quarantine: partSchema('quarantine').nullable(),
    deprovision: partSchema('deprovision').nullable(),
    installation: z
      .object({
        requested: z.boolean(),
        handedOutAtMs: Milliseconds.nullable(),
        result: z.enum(INSTALLATION_RESULTS).nullable(),
        state: text.describe('`NONE`, `PENDING`, `FAILED`, `DONE`, …'),
        requestGeneration: text.nullable(),
        reportGeneration: text.nullable(),
        barredBy: text.nullable().describe('Why the agent does not receive the installation.'),
      })
      .nullable(),
    agent: z
      .object({ startedAtMs: Milliseconds, publicKey: text, bootId: text.nullable() })
      .nullable(),
    heartbeat: partSchema('heartbeat')
      .extend({
        isCurrent: z
          .boolean()
          .describe('Whether the heartbeat is from the agent that was started last.'),
      })
      .nullable(),
    startAttempt: partSchema('startAttempt').nullable().describe('Failed starts of the agent.'),
    missingSinceMs: Milliseconds.nullable().describe(
      'Since when the provider does not list the machine.',
    ),
    bootSeconds: partSchema('bootTimes').nullable(),
    hostKey: text.nullable().describe('The pinned SSH host key, base64.'),
    creation: z
      .object({
        startedAtMs: Milliseconds,
        hostname: text,
        attempts: z.int(),
        lastError: text.nullable(),
      })
      .nullable(),
    shelf: z.object({ untilMs: Milliseconds, cause: text }).nullable(),
    members: listOf(
      z.object({
        ...{ pool: text, balancer: text, state: z.enum(MEMBER_STATES), note: text.nullable() },
        sinceMs: Milliseconds,
        deadlineMs: Milliseconds.nullable(),
        how: z.enum(DRAIN_ENDS).nullable(),
        waived: z.boolean(),
        sessions: z.int().nullable(),
      }),
    ),
  }),
);
