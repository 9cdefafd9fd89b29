import { z } from 'zod';
import {
  HOLD_KINDS,
  INSTALLATION_RESULTS,
  PROCESSES,
  PROVIDER_STATUSES,
  QUARANTINE_KINDS,
} from '../../domain/machine.ts';
import { DRAIN_ENDS, MEMBER_STATES } from '../../domain/balancing/members.ts';
import { MachineRowSchema, Milliseconds, named } from './schemas.ts';

const text = z.string();
const by = { by: text, reason: text };
const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).readonly();

/** Everything that the daemon has of one machine in memory. */
export const MachineSchema = named(
  'Machine',
  MachineRowSchema.extend({
    etag: text.describe('For `If-Match` of a request about this machine.'),
    atMs: Milliseconds,
    provider: text,
    slotId: text,
    providerId: text.nullable(),
    reservationId: text.nullable(),
    plan: text.nullable(),
    status: z.enum(PROVIDER_STATUSES).nullable().describe('As the provider tells it.'),
    power: z.enum(['on', 'off', 'unknown']),
    hostname: text.nullable(),
    createdAtMs: Milliseconds.nullable().describe('Its present tenancy.'),
    next: z.enum(['agentStart', 'recovery', 'deprovision']).nullable(),
    endedBy: text.nullable().describe('Who or what can end a quarantine.'),
    dueAtMs: Milliseconds.nullable().describe('When the clock alone may change its state.'),
    permit: z.boolean().describe('It holds a permit of the guard: recovery interrupts it now.'),
    conflict: text.nullable(),
    holdRows: listOf(
      z.object({
        kind: z.enum(HOLD_KINDS),
        setBy: text,
        reason: text,
        untilMs: Milliseconds.nullable(),
      }),
    ),
    requests: listOf(
      z.object({
        key: text,
        verb: text,
        ...by,
        createdAtMs: Milliseconds,
        expiresAtMs: Milliseconds,
      }),
    ).describe('What was asked and is not settled yet.'),
    order: z
      .object({ key: text, verb: text, ...by, force: z.boolean(), expiresAtMs: Milliseconds })
      .nullable(),
    work: listOf(
      z.object({ process: z.enum(PROCESSES), sessionId: text, startedAtMs: Milliseconds }),
    ),
    backoffs: listOf(z.object({ process: z.enum(PROCESSES), untilMs: Milliseconds, cause: text })),
    ladder: z
      .object({
        rung: text,
        attempts: z.int(),
        nextAtMs: Milliseconds.nullable().describe('No rung starts before.'),
        askedAtMs: Milliseconds.nullable(),
        askedRung: text.nullable(),
        operationRef: text.nullable(),
        orderKey: text.nullable(),
        powerOffAskedAtMs: Milliseconds.nullable(),
      })
      .nullable(),
    quarantine: z
      .object({ kind: z.enum(QUARANTINE_KINDS), reason: text, untilMs: Milliseconds.nullable() })
      .nullable(),
    deprovision: z
      .object({ requestedAtMs: Milliseconds, requestedBy: text, reason: text, attempts: z.int() })
      .nullable(),
    installation: z
      .object({
        requested: z.boolean(),
        handedOutAtMs: Milliseconds.nullable(),
        result: z.enum(INSTALLATION_RESULTS).nullable(),
        state: text.describe('`NONE`, `PENDING`, `FAILED`, `DONE`, …'),
        requestGeneration: text.nullable(),
        reportGeneration: text.nullable(),
        barredBy: text.nullable().describe('Why it is kept from its agent.'),
      })
      .nullable(),
    agent: z
      .object({ startedAtMs: Milliseconds, publicKey: text, bootId: text.nullable() })
      .nullable(),
    heartbeat: z
      .object({
        atMs: Milliseconds,
        bootId: text.nullable(),
        isCurrent: z.boolean().describe('Of the agent that was started last.'),
      })
      .nullable(),
    startAttempt: z
      .object({ count: z.int(), unreached: z.int(), atMs: Milliseconds.nullable() })
      .nullable()
      .describe('Starts of its agent that failed.'),
    missingSinceMs: Milliseconds.nullable().describe('Its provider does not list it.'),
    bootSeconds: z.object({ reboot: listOf(z.number()), reinstall: listOf(z.number()) }).nullable(),
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
