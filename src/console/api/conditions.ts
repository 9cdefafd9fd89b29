import { z } from 'zod';
import type {
  AcceptanceRepository,
  ConditionReport,
  ConditionRepository,
} from '../../adapters/bmdb/port.ts';
import { ACCEPTANCE_SOURCE, CHECK_STATUSES } from '../../domain/acceptance.ts';
import {
  AGENT_SOURCE,
  CONDITION_STATUSES,
  CONDITION_TYPE,
  PROVIDER_SOURCE,
} from '../../domain/conditions.ts';
import { slotIdOf } from '../../domain/ids.ts';
import { printable } from '../../lib/texts.ts';
import type { Person } from '../access/port.ts';
import { mayDoAt } from '../access/rights.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import { described, read, type Api } from './kit.ts';
import { machineDetail, MachineParams, requireMachine, shownCondition } from './machine.ts';
import { ConditionSchema, MachineSchema } from './machine-schema.ts';
import { Problem } from './problem.ts';
import { listOf } from './schemas.ts';
import { outside } from './submit/refusals.ts';

const REASON_MAX = 500;
const DETAIL_MAX = 4_000;
const VALID_FOR_MAX_MS = 365 * 86_400_000;

export const ConditionsSchema = z.object({ conditions: listOf(ConditionSchema) });
export const AcceptanceSchema = z.object({
  acceptance: MachineSchema.shape.acceptance.unwrap(),
  checks: z
    .array(
      z.object({
        name: z.string(),
        expected: z.string().describe('Empty: nothing is expected.'),
        found: z.string(),
        status: z.enum(CHECK_STATUSES),
      }),
    )
    .readonly(),
});
const Params = MachineParams.extend({
  type: z.string().regex(CONDITION_TYPE, 'give lower-case letters, digits and dashes'),
});
const Reason = z
  .string()
  .trim()
  .min(1)
  .max(REASON_MAX)
  .refine((text) => printable(text) === text, 'it must be one line of printable characters');
const ReportSchema = z.strictObject({
  status: z.enum(CONDITION_STATUSES).describe('`True`: something is wrong.'),
  reason: Reason,
  detail: z.string().max(DETAIL_MAX).default(''),
  validForMs: z
    .int()
    .min(1_000)
    .max(VALID_FOR_MAX_MS)
    .nullable()
    .default(null)
    .describe('Without another report within this time, `False` becomes `Unknown`; `True` stays.'),
});

/** A request's own signal is aborted once its body is read. */
const neverAborted = () => new AbortController().signal;

export interface ConditionsDeps {
  readonly fleet: FleetView;
  readonly conditions: ConditionRepository;
  readonly acceptances: Pick<AcceptanceRepository, 'read'>;
}

/** `machines/{provider}/{slot}/conditions`: what is known to be wrong with a machine. */
export function addConditions(api: Api, { fleet, conditions, acceptances }: ConditionsDeps): void {
  const ofSlot = async ({ view }: MachineEntry, signal = neverAborted()) => {
    const place = { provider: view.provider, slotId: slotIdOf(view.slot) };
    const rows = await conditions.ofSlot(place, signal);
    return rows.map((row) => shownCondition(row, fleet));
  };
  const own = async (entry: MachineEntry, { source, type }: Own) => {
    const all = await ofSlot(entry);
    return all.find((each) => each.type === type && each.source === source);
  };
  const report = async (entry: MachineEntry, told: Told) => {
    const { provider, machineId, slot } = entry.view;
    await conditions.report([{ provider, slotId: slotIdOf(slot), machineId, ...told }]);
    return (await own(entry, told))!;
  };
  api.get(
    '/machines/:provider/:slot/conditions',
    read('machines', 'All conditions of a machine, by type and source', ConditionsSchema, {
      params: MachineParams,
    }),
    async ({ params, signal }) => ({
      conditions: await ofSlot(requireMachine(fleet, params), signal),
    }),
  );
  api.get(
    '/machines/:provider/:slot/acceptance',
    read(
      'machines',
      'The acceptance of a machine: its checks and their results',
      AcceptanceSchema,
      { params: MachineParams },
    ),
    async ({ params, signal }) => {
      const { acceptance } = machineDetail(requireMachine(fleet, params), fleet);
      const { machineId } = requireMachine(fleet, params).view;
      const detail = machineId && (await acceptances.read(machineId, signal));
      if (!acceptance || !detail) throw new Problem('not-found', 'No acceptance was requested yet');
      return { acceptance, checks: detail.checks };
    },
  );
  api.put(
    '/machines/:provider/:slot/conditions/:type',
    described(
      'report',
      ['machines', "Report a condition, instead of the caller's last report of its type"],
      { 200: ConditionSchema },
      { params: Params, body: ReportSchema },
    ),
    async ({ person, params, body }) => {
      const entry = requireMachine(fleet, params);
      const source = requireSource(person, params);
      return report(entry, { ...body, source, type: params.type });
    },
  );
  api.delete(
    '/machines/:provider/:slot/conditions/:type',
    described(
      'report',
      ['machines', 'Clear a condition that the caller reported'],
      { 200: ConditionSchema },
      { params: Params, querystring: z.strictObject({ reason: Reason.default('cleared') }) },
    ),
    async ({ person, params, query: { reason } }) => {
      const entry = requireMachine(fleet, params);
      const { type } = params;
      const source = requireSource(person, params);
      if (!(await own(entry, { source, type }))) {
        const detail = `${source} reported no condition ${type} of ${entry.view.slot}`;
        throw new Problem('not-found', `${detail}; only its source can clear a condition`);
      }
      const cleared = { status: 'False', detail: '', validForMs: null } as const;
      return report(entry, { ...cleared, source, type, reason });
    },
  );
}

type Own = Pick<ConditionReport, 'source' | 'type'>;
type Told = Omit<ConditionReport, 'provider' | 'slotId' | 'machineId'>;

const NOT_PEOPLE: readonly string[] = [ACCEPTANCE_SOURCE, AGENT_SOURCE, PROVIDER_SOURCE];

/** The source that a caller reports as. @throws {Problem} outside the grant, or a reserved name. */
function requireSource(person: Person, { provider }: { readonly provider: string }): string {
  if (!mayDoAt(person, 'report', provider)) throw outside(person, `machines of ${provider}`);
  if (!NOT_PEOPLE.includes(person.name)) return person.name;
  throw new Problem('not-allowed', `${person.name} is the name of a source that is no person`);
}
