import type { MachineId, Slot } from '../ids.ts';
import type { Finding, FindingAction, FindingCase } from './findings.ts';
import type { Decision, Reconciliation } from './reconcile.ts';

/** Largest number of items of a kind that are listed; beyond it, only the count is shown. */
export const TOLD_MAX = 100;
/** Largest number of slots named per reason. */
const NAMED_MAX = 10;

/** The provisioner's next actions, short enough for any number of machines. */
export interface Foresight extends Pick<
  Reconciliation,
  'breaker' | 'summary' | 'overLimit' | 'leftOut' | 'service'
> {
  /** The first of the machines whose creation would start or resume now. */
  readonly creations: readonly Decision[];
  readonly creationCount: number;
  /** Reasons why free slots are not used, most frequent first. */
  readonly skipped: readonly {
    readonly reason: string;
    readonly count: number;
    readonly slots: readonly Slot[];
  }[];
  /** Deviations, and what would be done about them. */
  readonly findings: readonly FindingGroup[];
}

/** Findings with the same case and the same action. */
interface FindingGroup {
  readonly case: FindingCase;
  readonly action: FindingAction;
  readonly count: number;
  /** The first of these findings. */
  readonly examples: readonly {
    readonly slot: Slot;
    /** The provider's id of the device; null: no device. */
    readonly device: string | null;
    readonly machineId: MachineId | null;
    readonly reason: string;
  }[];
}

/** Groups equal items. */
export function foresightOf(plan: Reconciliation): Foresight {
  const { breaker, summary, overLimit, leftOut, service, decisions, machines } = plan;
  const chosen = decisions.filter(({ verdict }) => verdict !== 'skip');
  return {
    ...{ breaker, summary, overLimit, leftOut, service },
    creations: chosen.slice(0, TOLD_MAX),
    creationCount: chosen.length,
    skipped: skippedBy(decisions),
    findings: findingsBy(machines),
  };
}

/** Groups unused slots by reason, because there may be thousands. */
function skippedBy(decisions: readonly Decision[]): Foresight['skipped'] {
  const groups = new Map<string, { count: number; slots: Slot[] }>();
  for (const { slot, verdict, reason } of decisions) {
    if (verdict !== 'skip') continue;
    const group = groups.get(reason) ?? { count: 0, slots: [] };
    groups.set(reason, group);
    group.count += 1;
    if (group.slots.length < NAMED_MAX) group.slots.push(slot);
  }
  return [...groups]
    .map(([reason, group]) => ({ reason, ...group }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, TOLD_MAX);
}

function findingsBy(findings: readonly Finding[]): Foresight['findings'] {
  const groups = Map.groupBy(findings, (each) => `${each.case} ${each.action}`);
  return [...groups.values()].map((those) => {
    const { case: found, action } = those[0]!;
    return {
      case: found,
      action,
      count: those.length,
      examples: those
        .slice(0, NAMED_MAX)
        .map(({ slot, device, row, intent, reason }) => ({
          slot,
          device: device?.id ?? null,
          machineId: row?.machineId ?? intent?.machineId ?? null,
          reason,
        })),
    };
  });
}
