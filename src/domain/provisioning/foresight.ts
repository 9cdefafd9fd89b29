import type { MachineId, Slot } from '../ids.ts';
import type { Finding, FindingAction, FindingCase } from './findings.ts';
import type { Decision, Reconciliation } from './reconcile.ts';

/** So many of a kind are told one by one; of the others only the number. */
export const TOLD_MAX = 100;
/** So many slots are named for one reason. */
const NAMED_MAX = 10;

/** What the provisioner would do, short enough to be told of any number of machines. */
export interface Foresight extends Pick<
  Reconciliation,
  'breaker' | 'summary' | 'overLimit' | 'leftOut'
> {
  /** Machines that would be created now, or whose creation would be taken up: the first of them. */
  readonly creations: readonly Decision[];
  readonly creationCount: number;
  /** Why free slots are left alone, the most frequent reason first. */
  readonly skipped: readonly {
    readonly reason: string;
    readonly count: number;
    readonly slots: readonly Slot[];
  }[];
  /** What is not as it should be, and what would be done about it. */
  readonly findings: readonly FindingGroup[];
}

/** Findings of one case that the same is done about. */
export interface FindingGroup {
  readonly case: FindingCase;
  readonly action: FindingAction;
  readonly count: number;
  /** The first of them. */
  readonly examples: readonly {
    readonly slot: Slot;
    /** The provider's id of the device; null: there is none. */
    readonly device: string | null;
    readonly machineId: MachineId | null;
    readonly reason: string;
  }[];
}

/** Puts together what is alike. */
export function foresightOf(plan: Reconciliation): Foresight {
  const { breaker, summary, overLimit, leftOut, decisions, machines } = plan;
  const chosen = decisions.filter(({ verdict }) => verdict !== 'skip');
  return {
    ...{ breaker, summary, overLimit, leftOut },
    creations: chosen.slice(0, TOLD_MAX),
    creationCount: chosen.length,
    skipped: skippedBy(decisions),
    findings: findingsBy(machines),
  };
}

/** Slots that are left alone, by reason: there may be thousands. */
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
