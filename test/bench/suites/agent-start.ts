import { startServer } from '../fleet/database.ts';
import { prepareAgentStarts } from '../fleet/agent-start.ts';
import { inRounds, scaled, withOpen, type Suite } from '../suite.ts';

/** Concurrent agent starts and machines: at most 128, because a server takes at most 16 ports. */
const MACHINES = { 1: 20, 10: 100, 50: 128 } as const;

/** Machines per second of the original Shepherd on such a computer, with an agent of this size. */
const ORIGINAL = { 1: 1.7, 10: 2.7, 50: 1.4 } as const;

export const suite: Suite = {
  summary: 'reservation to started agent over real SSH, an agent of 5 MB uploaded to each machine',
  run: (options) =>
    withOpen(startServer(), (server) => {
      const machinesMax = scaled(Math.max(...Object.values(MACHINES)), options);
      return withOpen(prepareAgentStarts(server, machinesMax), ({ measure }) =>
        inRounds(options, async () => {
          const of = async (parallelism: keyof typeof MACHINES) => {
            const found = await measure(scaled(MACHINES[parallelism], options), parallelism);
            return { ...found, toOriginal: found.machinesPerSecond / ORIGINAL[parallelism] };
          };
          return { agentStart: { 1: await of(1), 10: await of(10), 50: await of(50) } };
        }),
      );
    }),
};
