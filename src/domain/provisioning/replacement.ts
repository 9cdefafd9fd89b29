import { isInForce, isQuarantined } from '../eligibility.ts';
import type { ProviderName } from '../ids.ts';
import type { GuardRow, HoldRow, MachineRow } from '../machine.ts';
import { FLEET } from '../recovery/guard-judgement.ts';
import { slotIdOfRow, type Stock } from './stock.ts';

/** Keeps a number of machines of a provider in service. */
export interface Target {
  /** Machines to keep in service. */
  readonly machines: number;
  /** Maximum number of replacements in `REPLACEMENT_MS`. */
  readonly replacementsMax: number;
}

/** Replacements are limited over this time. */
export const REPLACEMENT_MS = 24 * 3_600_000;

/** A creation, finished or not, that takes the place of a lost machine. */
export interface Replacement {
  readonly provider: ProviderName;
  readonly atMs: number;
}

/** How far a provider is from its target. */
export interface ServiceCount {
  readonly target: number;
  /** Machines and unfinished creations, except lost ones and ones that are given back. */
  readonly inService: number;
  /** Slots that are retired, or whose machine needs a person. */
  readonly lost: number;
  /** Machines in service beyond the target: reported, never reduced. */
  readonly surplus: number;
  /** Replacements of the last 24 hours. */
  readonly replacedToday: number;
}

interface TargetInput {
  readonly provider: ProviderName;
  readonly target?: Target | undefined;
  readonly replacementBar?: string | null;
  readonly holds: readonly HoldRow[];
  readonly guard?: readonly GuardRow[];
  readonly replacements?: readonly Replacement[];
  readonly nowMs: number;
}

/** Whether the machine is out of service for longer: nothing but a person brings it back. */
const isOut = (row: MachineRow, nowMs: number): boolean =>
  isQuarantined(row, nowMs) &&
  (row.quarantine!.kind === 'needsHuman' ||
    (row.quarantine!.kind === 'byOperator' && row.quarantine!.cause !== null));

/**
 * Decides which creations the target allows. A creation is a replacement when machines are lost and
 * the others and the retired slots make up the target already: the first filling is none. Never
 * erases anything and gives nothing back.
 * @param managed machines and unfinished creations of the provider.
 */
export function keepTarget(input: TargetInput, stock: Stock, managed: number) {
  const { target, provider, nowMs } = input;
  const retired = new Set(
    input.holds
      .filter((each) => each.provider === provider && each.kind === 'retired')
      .filter((each) => isInForce(each, nowMs))
      .map(({ slotId }) => slotId),
  );
  const out = stock.rows.filter(
    ({ row }) => row.deprovision !== null || isOut(row, nowMs) || retired.has(slotIdOfRow(row)),
  );
  const outIntents = stock.intents.filter(({ slotId }) => retired.has(slotId)).length;
  const ill = out.filter(({ row }) => isOut(row, nowMs)).map(({ row }) => slotIdOfRow(row));
  const lost = new Set([...retired, ...ill]).size;
  const vacant = [...retired].filter((slotId) => !stock.rowSlots.has(slotId)).length;
  let [inService, filled] = [managed - out.length - outIntents, managed + vacant];
  const replacedToday = (input.replacements ?? []).filter(
    (each) => each.provider === provider && each.atMs > nowMs - REPLACEMENT_MS,
  ).length;
  let replaced = replacedToday;
  const isFrozen = (input.guard ?? []).some(
    ({ scope, frozen }) => frozen !== null && (scope === FLEET || scope === provider),
  );
  const isReplacement = () => target !== undefined && lost > 0 && filled >= target.machines;
  const service: ServiceCount | null = target
    ? {
        target: target.machines,
        ...{ inService, lost, replacedToday },
        surplus: Math.max(0, inService - target.machines),
      }
    : null;
  return {
    /** Null: the provider has no target. */
    service,
    /** Why the target allows no further creation; null: it does. */
    refusal(): string | null {
      if (!target) return null;
      const { machines, replacementsMax } = target;
      if (inService >= machines) return `at the target of ${machines} machines in service`;
      if (!isReplacement()) return null;
      if (isFrozen) return 'recovery is frozen, so nothing is replaced';
      if (replaced < replacementsMax) return input.replacementBar ?? null;
      return `${replaced} of ${replacementsMax} replacements today were made`;
    },
    /** Counts a creation. @returns whether it is a replacement. */
    take(): boolean {
      const replaces = isReplacement();
      inService += 1;
      filled += 1;
      if (replaces) replaced += 1;
      return replaces;
    },
  };
}
