import { lifecycleSetup, request, settlement } from './lifecycle-setup.ts';

/**
 * What operators say about a machine, beside its life: what they bar, and what they ask for. Both
 * last in every state of life and end with it.
 */
export const operatorRegions = {
  holds: lifecycleSetup.createStateConfig({
    initial: 'free',
    states: {
      free: {
        description: 'No operator bars anything.',
        always: [
          { guard: 'released', target: 'over' },
          { guard: 'held', target: 'held' },
        ],
      },
      held: {
        description: 'An operator bars some action; what is true of the machine is unchanged.',
        always: [
          { guard: 'released', target: 'over' },
          { guard: 'unheld', target: 'free' },
        ],
      },
      over: { type: 'final', description: 'The slot is gone.' },
    },
  }),
  requests: lifecycleSetup.createStateConfig({
    initial: 'idle',
    states: {
      idle: {
        description: 'Operators ask nothing that is to be settled now.',
        always: [
          { guard: 'released', target: 'over' },
          { guard: 'asked', target: 'settling' },
        ],
      },
      settling: {
        description: 'Carries out what an operator asked for, whatever else is under way.',
        always: { guard: 'released', target: 'over' },
        invoke: {
          id: 'settleRequest',
          src: 'settleRequest',
          input: request,
          onDone: [
            {
              guard: { type: 'settled', params: settlement },
              target: 'idle',
              actions: { type: 'rememberSettled', params: settlement },
            },
            { target: 'pausing' },
          ],
          onError: { target: 'pausing' },
        },
      },
      pausing: {
        description: 'It could not be settled; it is tried again after a while.',
        always: { guard: 'released', target: 'over' },
        after: { settlePause: { target: 'idle' } },
      },
      over: { type: 'final', description: 'The slot is gone.' },
    },
  }),
};
