import { NoPermit } from '../../../src/domain/errors.ts';
import { fleetBudget, groupBudget, ORDERS_KEPT } from '../../../src/domain/policy.ts';
import { FLEET, suspicionRefusal } from '../../../src/domain/recovery/guard-judgement.ts';
import { tell } from './events.ts';
import { countNow, guardPolicyOf, refuseGuarded } from './guard.ts';
import { slotIdOf, slotOf } from '../../../src/domain/ids.ts';
import type { MemMachine, Memory } from './tables.ts';

/**
 * Grants the machine a permit to be interrupted.
 * @throws {NoPermit} the budget of its location, its provider or the fleet is used up, or the guard
 * forbids recovery now.
 */
export function grantPermit(memory: Memory, machine: MemMachine, isOrdered: boolean): void {
  refuseClaim(memory, machine, isOrdered);
  const full = whyNoRoom(memory, machine, { isOrdered });
  if (full !== null) throw new NoPermit(full);
  const { provider, location, reservationId, providerId } = machine.row.provided!;
  machine.permitGrantedAtMs = memory.now();
  machine.permitScope = { provider, location };
  memory.touch(machine.row.machineId);
  tell(memory, {
    ...{ type: 'machine.recovering', provider, machineId: machine.row.machineId },
    slotId: slotIdOf(slotOf(provider, { reservationId, id: providerId })),
    ...{ actor: 'shepherd', reason: 'it holds a permit to be recovered', details: {} },
  });
}

/** @throws {NoPermit} the guard keeps the machine off the ladder now. */
export function refuseClaim(memory: Memory, machine: MemMachine, isOrdered: boolean): void {
  refuseGuarded(memory, machine, isOrdered);
  if (!isOrdered) refuseSuspicious(memory, machine.row.provided!.provider);
}

/** Why the scopes of this machine have no permit left after `more` others; null: they have one. */
export function whyNoRoom(
  memory: Memory,
  machine: MemMachine,
  { isOrdered, ahead = 0 }: { readonly isOrdered: boolean; readonly ahead?: number },
): string | null {
  const { provider, location } = machine.row.provided!;
  const counted = [...memory.machines.values()].filter(
    (each) => each.row.provided && (each.row.agentStarted || each.permitGrantedAtMs !== null),
  );
  const full = (scope: string, group: readonly MemMachine[], limit: typeof groupBudget) => {
    const recovering = group.filter((each) => each.permitGrantedAtMs !== null).length;
    const most = limit(memory.options.budget, group.length);
    return recovering + ahead >= most + (isOrdered ? ORDERS_KEPT : 0)
      ? `${recovering} of ${most} machines of ${scope} are already being recovered`
      : null;
  };
  const peers = counted.filter((each) => scopeOf(each).provider === provider);
  const near = counted.filter((each) => scopeOf(each).location === location);
  return (
    full('the fleet', counted, fleetBudget) ??
    full(`provider ${provider}`, peers, groupBudget) ??
    (location === null ? null : full(`location ${location}`, near, groupBudget))
  );
}

/** A permit counts where it was granted, even if the machine has moved since. */
const scopeOf = ({ permitScope, row }: MemMachine) => ({
  provider: permitScope?.provider ?? row.provided?.provider,
  location: permitScope?.location ?? row.provided?.location ?? null,
});

/** @throws {NoPermit} too many machines of the fleet or the provider are silent now. */
function refuseSuspicious(memory: Memory, provider: string): void {
  const concerned = countNow(memory).filter(({ scope }) => scope === FLEET || scope === provider);
  for (const counts of concerned) {
    const why = suspicionRefusal(counts, guardPolicyOf(memory));
    if (why !== null) throw new NoPermit(why);
  }
}
