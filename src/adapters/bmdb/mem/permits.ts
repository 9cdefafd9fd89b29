import { NoPermit } from '../../../domain/errors.ts';
import { fleetBudget, groupBudget } from '../../../domain/policy.ts';
import type { MemMachine, Memory } from './tables.ts';

/**
 * Grants the machine a permit to be recovered, unless it holds one already.
 * @throws {NoPermit} the budget of its location, its provider or the fleet is spent, or frozen.
 */
export function grantPermit(memory: Memory, machine: MemMachine): void {
  if (machine.permitGrantedAtMs !== null) return;
  refuseFrozen(memory, machine);
  const { provider, location } = machine.row.provided!;
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
  machine.permitGrantedAtMs = memory.now();
  machine.permitScope = { provider, location };
  memory.touch(machine.row.machineId);
}

/** A permit counts where it was granted, even if the machine is said to be elsewhere since. */
const scopeOf = ({ permitScope, row }: MemMachine) => ({
  provider: permitScope?.provider ?? row.provided?.provider,
  location: permitScope?.location ?? row.provided?.location ?? null,
});

/** @throws {NoPermit} the fleet or the machine's provider is frozen. */
export function refuseFrozen({ frozen }: Memory, { row }: MemMachine): void {
  const reason = frozen.get('fleet') ?? frozen.get(row.provided?.provider ?? '');
  if (reason !== undefined) throw new NoPermit(`frozen: ${reason}`);
}
