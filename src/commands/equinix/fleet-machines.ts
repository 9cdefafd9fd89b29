import type { AccessFlags } from './access.ts';
import type { Operator } from './operator.ts';

/** Devices that a command is about, without those that are a fleet's machines. */
export interface Spared<T> {
  readonly others: readonly T[];
  /** Slots of the machines that are left alone. */
  readonly machines: readonly string[];
}

/** What does to a machine what the command would do to its device. */
export type MachineVerb = 'deprovision' | 'reboot';

/**
 * Leaves out what the BMDB of the given configuration knows: that is for the daemons, which would take
 * what is done behind their back for a fault. Says which those are, and what to use instead; or, without a
 * configuration, that nobody can know.
 * @throws {FleetError} the BMDB cannot be asked: then nothing is done.
 */
export async function spareMachines<T>(
  things: readonly T[],
  idOf: (thing: T) => string | null,
  verb: MachineVerb,
  { config }: Pick<AccessFlags, 'config'>,
  operator: Operator,
): Promise<Spared<T>> {
  if (config === undefined) {
    operator.note(`${UNKNOWN} For a machine of a fleet use shepherd machine ${verb}.`);
    return { others: things, machines: [] };
  }
  const known = await operator.machinesOf(config);
  const slotOf = (thing: T) => known.get(idOf(thing) ?? '');
  const machines = things.flatMap((thing) => slotOf(thing) ?? []);
  for (const slot of machines) {
    operator.note(
      `${slot} is a machine of the fleet, left alone: use shepherd machine ${verb} ${slot}`,
    );
  }
  return { others: things.filter((thing) => slotOf(thing) === undefined), machines };
}

const UNKNOWN =
  'Without --config nobody can know here which of these devices are machines of a fleet.';
