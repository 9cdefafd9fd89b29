import { ACCEPTANCE_SOURCE } from '../../../src/domain/acceptance.ts';
import {
  AGENT_SOURCE,
  PROVIDER_SOURCE,
  type ConditionRow,
} from '../../../src/domain/conditions.ts';
import { slot as slotName } from '../../../src/domain/ids.ts';
import type { ConditionReport, ConditionRepository } from '../../../src/adapters/bmdb/port.ts';
import { tellLine } from './events.ts';
import { plain } from './plain.ts';
import type { Memory } from './tables.ts';

const KINDS = {
  True: 'conditionSet',
  False: 'conditionCleared',
  Unknown: 'conditionUnknown',
} as const;
const OWN: readonly string[] = [ACCEPTANCE_SOURCE, AGENT_SOURCE, PROVIDER_SOURCE];

const keyOf = (each: Pick<ConditionRow, 'provider' | 'slotId' | 'type' | 'source'>): string =>
  [each.provider, each.slotId, each.type, each.source].join(' ');

const sorted = (rows: Iterable<ConditionRow>): ConditionRow[] =>
  [...rows].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

export const openConditions = ({ conditions }: Memory): ConditionRow[] =>
  sorted(conditions.values()).filter(
    ({ status, expiresAtMs }) => status !== 'False' || expiresAtMs !== null,
  );

/** See `ConditionRepository`. */
export const createConditionRepository = (memory: Memory): ConditionRepository => ({
  report: async (reports) => reports.forEach((each) => reportCondition(memory, plain(each))),
  ofSlot: async ({ provider, slotId }) =>
    sorted(memory.conditions.values()).filter(
      (each) => each.provider === provider && each.slotId === slotId,
    ),
});

export function reportCondition(memory: Memory, report: ConditionReport): void {
  const { validForMs, machineId, ...told } = report;
  const before = memory.conditions.get(keyOf(report));
  if (!before && told.status === 'False' && OWN.includes(told.source)) return;
  const isSame = before?.status === told.status;
  memory.conditions.set(keyOf(report), {
    ...told,
    sinceMs: isSame ? before.sinceMs : memory.now(),
    expiresAtMs: validForMs === null ? null : memory.now() + validForMs,
  });
  memory.wake();
  if (told.status === (before?.status ?? 'False')) return;
  const slot = slotName(told.provider, told.slotId);
  const line = {
    ...{ slot, machineId, atMs: memory.now() },
    ...{ kind: KINDS[told.status], actor: told.source, reason: `${told.type}: ${told.reason}` },
    ...{ from: before?.status ?? null, to: told.status },
  };
  memory.events.push(line);
  tellLine(memory, line);
}
