import { serves } from '../eligibility.ts';
import type { Slot } from '../ids.ts';
import type { MachineRow } from '../machine.ts';
import type { MachineView } from '../view.ts';

/** A machine of a provider, as its scaling sees it. */
export interface Scaled {
  readonly slot: Slot;
  readonly view: Pick<MachineView, 'state' | 'substate' | 'holds'>;
  readonly row: Pick<MachineRow, 'members' | 'createdAtMs' | 'deprovision'>;
  /** It was not created, so its absence saves nothing. */
  readonly isAdopted?: boolean;
}

/** Why a machine is among the least useful, from the least to the most useful. */
const RANKS = [
  'it is retired or quarantined',
  'it does not run',
  'it is no member of a pool',
  'it is among the youngest',
] as const;

function rankOf({ view: { state, holds }, row }: Scaled): number {
  if (state === 'Quarantined' || holds.includes('retired')) return 0;
  if (state !== 'Running') return 1;
  return serves(row) ? 3 : 2;
}

/** Machines that nobody may give back, or that are in use elsewhere. */
const isKept = ({ view: { state, substate, holds }, isAdopted = false }: Scaled): boolean =>
  isAdopted || state === 'HandedOver' || substate === 'conflict' || holds.includes('preserve');

/** The machines to give back, so that this number stays; or why that is not possible. */
export type Scaling =
  | { readonly refusal: string }
  | { readonly refusal: null; readonly slots: readonly { slot: Slot; why: string }[] };

/** Chooses the least useful machines. Machines that are being given back do not count. */
export function scaledTo(
  machines: number,
  all: readonly Scaled[],
  target: number | null,
): Scaling & { readonly count: number } {
  const staying = all.filter(({ row }) => row.deprovision === null);
  const count = staying.length;
  const refuse = (refusal: string) => ({ refusal, count });
  if (machines > count) {
    return refuse(`there are ${count} machines, and this command creates none; raise target`);
  }
  if (target !== null && machines < target) {
    return refuse(
      `its target is ${target}, and machines would be created again; lower target first`,
    );
  }
  const free = staying.filter((each) => !isKept(each));
  const needed = count - machines;
  if (free.length < needed) {
    return refuse(
      `only ${free.length} of ${count} machines may be given back; the others are preserved, ` +
        'handed over, adopted or in a conflict',
    );
  }
  const chosen = free
    .toSorted(
      (a, b) =>
        rankOf(a) - rankOf(b) ||
        b.row.createdAtMs - a.row.createdAtMs ||
        (a.slot < b.slot ? -1 : 1),
    )
    .slice(0, needed);
  return {
    refusal: null,
    count,
    slots: chosen.map((each) => ({ slot: each.slot, why: RANKS[rankOf(each)]! })),
  };
}
