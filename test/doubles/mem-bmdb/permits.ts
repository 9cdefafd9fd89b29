import { orderFor } from '../../../src/domain/eligibility.ts';
import { NoPermit } from '../../../src/domain/errors.ts';
import type { Process } from '../../../src/domain/machine.ts';
import { fleetBudget, groupBudget } from '../../../src/domain/policy.ts';
import { FLEET, suspicionRefusal } from '../../../src/domain/recovery/guard-judgement.ts';
import { rowOf } from './rows.ts';
import { tell } from './events.ts';
import { countNow, guardPolicyOf, refuseGuarded } from './guard.ts';
import { slotIdOf, slotOf } from '../../../src/domain/ids.ts';
import type { MemMachine, Memory } from './tables.ts';

/**
 * Grants the machine a permit to be recovered, unless it holds one already.
 * @throws {NoPermit} the budget of its location, its provider or the fleet is spent, or the guard
 *   does not let anybody recover now.
 */
export function grantPermit(memory: Memory, machine: MemMachine, process: Process): void {
  if (machine.permitGrantedAtMs !== null) return;
  const isOrdered = orderFor(process, rowOf(memory, machine), memory.now()) !== null;
  refuseGuarded(memory, machine, isOrdered);
  const { provider, location, reservationId, providerId } = machine.row.provided!;
  const counted = [...memory.machines.values()].filter(
    (each) => each.row.provided && (each.row.agentStarted || each.permitGrantedAtMs !== null),
  );
  const refuse = (scope: string, group: readonly MemMachine[], limit: typeof groupBudget) => {
    const recovering = group.filter((each) => each.permitGrantedAtMs !== null).length;
    const most = limit(memory.options.budget, group.length);
    if (recovering >= most) {
      throw new NoPermit(`${recovering} of ${most} machines of ${scope} are recovering already`);
    }
  };
  refuse('the fleet', counted, fleetBudget);
  const peers = counted.filter((each) => scopeOf(each).provider === provider);
  refuse(`provider ${provider}`, peers, groupBudget);
  if (location !== null) {
    const near = counted.filter((each) => scopeOf(each).location === location);
    refuse(`location ${location}`, near, groupBudget);
  }
  if (!isOrdered) refuseSuspicious(memory, provider);
  machine.permitGrantedAtMs = memory.now();
  machine.permitScope = { provider, location };
  memory.touch(machine.row.machineId);
  tell(memory, {
    ...{ type: 'machine.recovering', provider, machineId: machine.row.machineId },
    slotId: slotIdOf(slotOf(provider, { reservationId, id: providerId })),
    ...{ actor: 'shepherd', reason: 'it holds a permit to be recovered', details: {} },
  });
}

/** A permit counts where it was granted, even if the machine is said to be elsewhere since. */
const scopeOf = ({ permitScope, row }: MemMachine) => ({
  provider: permitScope?.provider ?? row.provided?.provider,
  location: permitScope?.location ?? row.provided?.location ?? null,
});

/** @throws {NoPermit} too many of the fleet or the provider are quiet at this very moment. */
function refuseSuspicious(memory: Memory, provider: string): void {
  const concerned = countNow(memory).filter(({ scope }) => scope === FLEET || scope === provider);
  for (const counts of concerned) {
    const why = suspicionRefusal(counts, guardPolicyOf(memory));
    if (why !== null) throw new NoPermit(why);
  }
}
