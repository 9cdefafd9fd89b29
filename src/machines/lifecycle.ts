import { STATES } from '../domain/view.ts';
import { operatorRegions } from './lifecycle-operators.ts';
import {
  lifecycleSetup,
  observed,
  crash,
  job,
  place,
  result,
  follow,
  placed,
  awaitOrderedTurn,
  awaitTurn,
  step,
  afterRecovery,
  afterDeprovision,
  placedOrdered,
} from './lifecycle-setup.ts';

/**
 * The life of one physical machine. Its state is what rows, listing and clock say (the view); the
 * chart knows which states may follow which, starts the daemon's own tasks when the machine is due,
 * and lets no news interrupt them. Knows no clock, socket or SQL.
 */
export const lifecycle = lifecycleSetup.createMachine({
  id: 'lifecycle',
  context: ({ input }) => ({
    slot: input.view.slot,
    view: input.view,
    lastFailure: null,
    setbacks: 0,
    settledKey: null,
  }),
  options: { maxIterations: 1000 },
  type: 'parallel',
  states: {
    life: {
      initial: 'resyncing',
      states: {
        resyncing: {
          id: 'resyncing',
          description:
            'Takes the state that the rows and the listing tell, whatever it was before.',
          always: STATES.map((state) => ({
            guard: { type: 'stateIs' as const, params: { state } },
            target: `#${state}`,
          })),
        },
        Reserved: {
          id: 'Reserved',
          description: 'The provider lists the slot as free, or its device is being created.',
          on: { 'machine.observed': follow('Reserved', 'Provisioned', 'Quarantined', 'Released') },
          initial: 'placing',
          states: {
            placing: { always: [placed('creating'), placed('penalised'), { target: 'available' }] },
            available: { tags: 'settled', description: 'Free capacity, nothing is under way.' },
            creating: { tags: 'settled', description: 'A creation intent is open or unresolved.' },
            penalised: { tags: 'settled', description: 'On the shelf after a failed creation.' },
          },
        },
        Provisioned: {
          id: 'Provisioned',
          description: 'A machine without an agent.',
          on: {
            'machine.observed': follow(
              'Provisioned',
              'AgentStarting',
              'Recovering',
              'HandedOver',
              'Quarantined',
              'Deprovisioning',
            ),
          },
          initial: 'placing',
          states: {
            placing: {
              always: [
                placed('waiting'),
                placedOrdered,
                placed('installing'),
                placed('stopped'),
                placed('failed'),
                { target: 'backingOff' },
              ],
            },
            installing: {
              tags: 'settled',
              description: 'The provider is still installing the throw-away system.',
            },
            stopped: { tags: 'settled', description: 'Switched off at the provider.' },
            failed: { tags: 'settled', description: 'The provider gave up on this machine.' },
            backingOff: { tags: 'settled', description: 'Waits after a failed agent start.' },
            waiting: {
              tags: 'settled',
              description: 'Waits for its turn; may last for ever, since a hold may bar it.',
              invoke: awaitTurn('agentStart', 'recovery'),
            },
            ordered: {
              tags: 'settled',
              description: 'An operator asked for work on it, which waits for its turn.',
              invoke: awaitOrderedTurn,
            },
          },
        },
        AgentStarting: {
          id: 'AgentStarting',
          description: 'An agent is being started on the machine.',
          initial: 'elsewhere',
          states: {
            elsewhere: {
              tags: 'settled',
              description: 'Another daemon works on it; ends when its work or its session does.',
              on: {
                'machine.observed': follow(
                  'AgentStarting',
                  'Running',
                  'Provisioned',
                  'Quarantined',
                  'Deprovisioning',
                ),
              },
            },
            ours: {
              id: 'AgentStarting.ours',
              tags: 'busy',
              description: 'This daemon takes the machine over; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },
              on: { 'machine.observed': { actions: { type: 'remember', params: observed } } },
              invoke: {
                id: 'takeover',
                src: 'takeover',
                input: job,
                onSnapshot: [
                  step('connecting'),
                  step('verifying'),
                  step('uploading'),
                  step('executing'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },
                onError: { target: '#resyncing', actions: { type: 'countSetback', params: crash } },
              },
              initial: 'claiming',
              states: {
                claiming: { description: 'Asks the BMDB for the machine.' },
                connecting: { description: 'Opens the SSH connection.' },
                verifying: { description: 'Judges the host key.' },
                uploading: { description: 'Copies the agent.' },
                executing: { description: 'Runs the agent.' },
                recording: { description: "Stores the agent's key." },
              },
            },
          },
        },
        Running: {
          id: 'Running',
          description: 'An agent was started; it reports in, or its time to do so is not over.',
          on: {
            'machine.observed': follow(
              'Running',
              'Recovering',
              'HandedOver',
              'Quarantined',
              'Deprovisioning',
            ),
          },
          initial: 'placing',
          states: {
            placing: {
              always: [
                placed('silent'),
                placedOrdered,
                placed('awaitingHeartbeat'),
                placed('late'),
                placed('installingOs'),
                { target: 'healthy' },
              ],
            },
            awaitingHeartbeat: {
              tags: 'settled',
              description: 'No heartbeat since the agent was started.',
            },
            healthy: { tags: 'settled', description: 'Heartbeats come in time.' },
            late: { tags: 'settled', description: 'A heartbeat is overdue.' },
            silent: {
              tags: 'settled',
              description: 'Past the deadline; waits for its turn and a permit to be recovered.',
              invoke: awaitTurn('recovery'),
            },
            installingOs: {
              tags: 'settled',
              description: 'An operating system installation was handed out.',
            },
            ordered: {
              tags: 'settled',
              description: 'An operator asked for work on it, which waits for its turn.',
              invoke: awaitOrderedTurn,
            },
          },
        },
        Recovering: {
          id: 'Recovering',
          description: 'Being brought back, one rung of the ladder at a time.',
          initial: 'placing',
          states: {
            placing: { always: [placed('coolingDown'), { target: 'elsewhere' }] },
            elsewhere: {
              tags: 'settled',
              description: 'Another daemon works on it; ends when its work or its session does.',
              on: { 'machine.observed': afterRecovery },
            },
            coolingDown: {
              tags: 'settled',
              description: 'An attempt failed; the next waits for its time and its turn.',
              on: { 'machine.observed': afterRecovery },
              invoke: awaitTurn('recovery'),
            },
            ours: {
              id: 'Recovering.ours',
              tags: 'busy',
              description: 'This daemon recovers the machine; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },
              on: { 'machine.observed': { actions: { type: 'remember', params: observed } } },
              invoke: {
                id: 'recovery',
                src: 'recovery',
                input: job,
                onSnapshot: [
                  step('restartingAgent'),
                  step('rebooting'),
                  step('powerCycling'),
                  step('reinstalling'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },
                onError: { target: '#resyncing', actions: { type: 'countSetback', params: crash } },
              },
              initial: 'claiming',
              states: {
                claiming: { description: 'Asks for the machine and for a permit.' },
                restartingAgent: { description: 'Stops what is left of the agent, over SSH.' },
                rebooting: { description: 'Asked for a reboot; waits for evidence of it.' },
                powerCycling: { description: 'Switched off and on; waits for evidence of it.' },
                reinstalling: { description: 'Gets a new system; waits for evidence of it.' },
                recording: { description: 'Forgets the old agent.' },
              },
            },
          },
        },
        HandedOver: {
          id: 'HandedOver',
          tags: 'settled',
          description: 'Its operating system is installed: neither started nor recovered any more.',
          on: {
            'machine.observed': follow(
              'HandedOver',
              'Running',
              'Provisioned',
              'Quarantined',
              'Deprovisioning',
            ),
          },
        },
        Quarantined: {
          id: 'Quarantined',
          description:
            'Set aside with a reason; nothing is done to it until someone looks, or it reports again.',
          on: {
            'machine.observed': follow(
              'Quarantined',
              'Reserved',
              'Provisioned',
              'Running',
              'HandedOver',
              'Deprovisioning',
              'Released',
            ),
          },
          initial: 'placing',
          states: {
            placing: {
              always: [
                placed('missing'),
                placed('needsHuman'),
                placed('byOperator'),
                { target: 'conflict' },
              ],
            },
            missing: { tags: 'settled', description: 'The provider no longer knows it.' },
            needsHuman: {
              tags: 'settled',
              description: 'The ladder came to its end; heartbeats end this.',
            },
            conflict: { tags: 'settled', description: 'Rows, devices or host key contradict.' },
            byOperator: { tags: 'settled', description: 'An operator set it aside.' },
          },
        },
        Deprovisioning: {
          id: 'Deprovisioning',
          description: 'On its way back to the provider, on explicit request only.',
          initial: 'placing',
          states: {
            placing: { always: [placed('draining'), placed('deleting'), { target: 'cleaning' }] },
            draining: {
              tags: 'settled',
              description: 'Still a member of a load balancer.',
              on: { 'machine.observed': afterDeprovision },
            },
            deleting: {
              tags: 'settled',
              description:
                'The device is to be deleted; waits for its turn, or for another daemon.',
              on: { 'machine.observed': afterDeprovision },
              invoke: awaitTurn('deprovision'),
            },
            cleaning: {
              tags: 'settled',
              description: 'The slot is not reusable yet; waits for its turn, or another daemon.',
              on: { 'machine.observed': afterDeprovision },
              invoke: awaitTurn('deprovision'),
            },
            ours: {
              id: 'Deprovisioning.ours',
              tags: 'busy',
              description: 'This daemon gives the machine back; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },
              on: { 'machine.observed': { actions: { type: 'remember', params: observed } } },
              invoke: {
                id: 'deprovision',
                src: 'deprovision',
                input: job,
                onSnapshot: [
                  step('asking'),
                  step('awaitingGone'),
                  step('awaitingReusable'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },
                onError: { target: '#resyncing', actions: { type: 'countSetback', params: crash } },
              },
              initial: 'claiming',
              states: {
                claiming: { description: 'Asks the BMDB for the machine.' },
                asking: { description: 'Asks the provider to take the device back.' },
                awaitingGone: { description: 'Waits until the provider no longer knows it.' },
                awaitingReusable: { description: 'Waits until the slot can be used again.' },
                recording: { description: 'Deletes the machine from the BMDB.' },
              },
            },
          },
        },
        Released: {
          id: 'Released',
          type: 'final',
          description: 'A complete listing no longer has the slot, and nothing refers to it.',
        },
      },
    },
    ...operatorRegions,
  },
});
