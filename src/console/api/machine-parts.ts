import { z } from 'zod';
import { slot } from '../../domain/ids.ts';
import { RUNGS } from '../../domain/recovery/rungs.ts';
import type { MachineInsight } from '../views.ts';
import type { FleetView } from '../port.ts';
import type { Api } from './kit.ts';
import { machineDetail } from './machine-detail.ts';
import { MachineParams, requireMachine } from './machine.ts';
import { MachineSchema } from './machine-schema.ts';
import { Problem } from './problem.ts';
import { Milliseconds, named } from './schemas.ts';

const text = z.string();

export const LadderSchema = named(
  'Ladder',
  z.object({
    rungs: z
      .array(
        z.object({
          rung: z.enum(RUNGS),
          place: z.enum(['passed', 'here', 'ahead']).describe('Where the ladder stands is `here`.'),
          attempts: z.int().describe('Of this episode, where the ladder stands.'),
          attemptsMax: z.int(),
          patienceMs: z.int().describe('So long its evidence is waited for.'),
          bar: text.nullable().describe('Why it cannot be taken.'),
        }),
      )
      .readonly()
      .describe('The mildest first.'),
    patienceEndsAtMs: Milliseconds.nullable().describe('When what was asked for is given up.'),
    coolsUntilMs: Milliseconds.nullable().describe('No rung starts before.'),
    next: z
      .object({ rung: z.enum(RUNGS).nullable(), attempt: z.int().nullable(), end: text.nullable() })
      .describe('What comes next; `end`: nothing is left to try.'),
    queue: z
      .object({ scope: text, place: z.int(), of: z.int() })
      .nullable()
      .describe('Where it waits for a permit; null: for none.'),
  }),
);
export const HardwareSchema = z.object({
  machineId: text.nullable(),
  report: z
    .record(text, z.unknown())
    .nullable()
    .describe("What its agent found in it, by the names of the message's fields; null: nothing."),
});
const HoldsSchema = z.object({ holds: MachineSchema.shape.holdRows });

export interface MachinePartsDeps {
  readonly fleet: FleetView;
  readonly insight: MachineInsight;
}

/** `machines/{provider}/{slot}/holds`, `…/ladder`, `…/hardware`: parts of a machine for themselves. */
export function addMachineParts(api: Api, { fleet, insight }: MachinePartsDeps): void {
  const about = { config: { right: 'see' as const } };
  const schema = { tags: ['machines'], params: MachineParams };
  api.get(
    '/machines/:provider/:slot/holds',
    {
      ...about,
      schema: {
        ...schema,
        summary: 'What operators said of a machine: holds, with who, why, and until when',
        response: { 200: HoldsSchema },
      },
    },
    async ({ params }) => ({ holds: machineDetail(requireMachine(fleet, params), fleet).holdRows }),
  );
  api.get(
    '/machines/:provider/:slot/ladder',
    {
      ...about,
      schema: {
        ...schema,
        summary: 'How far the recovery of a machine went, and how far it may go',
        response: { 200: LadderSchema },
      },
    },
    async ({ params }) => {
      requireMachine(fleet, params);
      const found = insight.ladder(slot(params.provider, params.slot));
      if (found) return found;
      throw new Problem('not-found', 'Nothing is on the slot that could be recovered');
    },
  );
  api.get(
    '/machines/:provider/:slot/hardware',
    {
      ...about,
      schema: {
        ...schema,
        summary: "What a machine's agent found in it",
        response: { 200: HardwareSchema },
      },
    },
    async ({ params, signal }) => {
      const { view } = requireMachine(fleet, params);
      const { machineId } = view;
      const report = machineId === null ? null : await insight.hardware(machineId, signal);
      return { machineId, report };
    },
  );
}
