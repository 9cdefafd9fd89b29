import type { Slot } from '../../src/domain/ids.ts';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import {
  becomesTrue,
  healthy,
  withFleet,
  type FleetOptions,
  type SimulatedFleet,
} from './simulated-fleet.ts';

/** A running simulated fleet, and an operator's commands for it. */
export interface CommandedFleet extends SimulatedFleet {
  /** The environment in which a command finds the console, as the admin Ann. */
  readonly consoleEnv: NodeJS.ProcessEnv;
  /** Slots, in order. */
  slots(): readonly Slot[];
}

/** Starts this number of machines, and calls `use` when all run and the guard permits recovery. */
export const withCommandedFleet = (
  machines: number,
  use: (fleet: CommandedFleet) => Promise<void>,
  hardware: Pick<FleetOptions, 'diskBytes'> = {},
): Promise<void> =>
  withFleet({ machines, embedded: true, ...hardware }, async (fleet) => {
    const ann = await tokenOfAnn(fleet);
    await becomesTrue(() => healthy(fleet.daemon) === machines, 'all machines run');
    await becomesTrue(() => fleet.daemon.guard().state === 'watching', 'the grace is over');
    await use({
      ...fleet,
      consoleEnv: { SHEPHERD_URL: fleet.daemon.consoleUrl, SHEPHERD_TOKEN: ann },
      slots: () => [...fleet.daemon.board.entries.keys()].toSorted(),
    });
  });

async function tokenOfAnn({ daemon }: SimulatedFleet): Promise<string> {
  const { id, token } = makeToken(systemRandom);
  await daemon.bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role: 'admin' },
    ...{ providers: null, forMs: 3_600_000 },
  });
  return token;
}
