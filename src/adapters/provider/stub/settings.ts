import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import { FAULT_KINDS, FAULTS, STUB_OPERATIONS } from './fault-kinds.ts';
import { STUB_CAPABILITIES } from './stub-provider.ts';

const PREFIX = { matches: /^([a-z0-9][a-z0-9-]*-)?$/, type: 'a prefix that ends in a hyphen' };

/** Keys of a provider whose driver is `stub`. */
export const stubSettings = () =>
  z.strictObject({
    plans: z
      .array(plan())
      .prefault([{ name: 'stub.small' }])
      .meta({
        type: 'a list of { name, location, spot, reservations }',
        description:
          'Kinds of hardware: a name (required), where it is, whether it is paid by demand (false), and how many pieces are free (4).',
      }),
    devicePrefix: leaf
      .text('Start of the host name of every device; what is named otherwise is not shown.', PREFIX)
      .prefault('stub-'),
    provisioningTime: leaf.duration('From a creation to a running machine.', 0).prefault('1s'),
    bootTime: leaf.duration('From a reboot to a machine that answers.', 0).prefault('1s'),
    deprovisioningTime: leaf.duration('From giving back to being gone.', 0).prefault('1s'),
    latency: leaf.duration('Time of each call.', 0).prefault('0s'),
    stateless: leaf.flag('Cannot tell what is in use.').prefault(false),
    ssh: leaf.flag('Machines answer SSH, on loopback.').prefault(false),
    without: z
      .array(leaf.choice(STUB_CAPABILITIES, 'What it refuses.'))
      .prefault(['hostKey'])
      .meta({ type: 'a list', description: 'What it says that it cannot, and refuses.' }),
    maxConcurrency: leaf.count('Calls at once.', 1, 1000).prefault(64),
    seed: leaf.count('Of names and chances; the same seed, the same run.', 0).prefault(1),
    faults: z
      .array(rule())
      .prefault([])
      .meta({ type: 'a list', description: 'What goes wrong, and when.' }),
  });
export type StubSettings = z.output<ReturnType<typeof stubSettings>>;

const plan = () =>
  z.strictObject({
    name: leaf.text('Name of the plan.'),
    location: leaf.text('Where it is.').nullable().prefault(null),
    spot: leaf.flag('Paid by demand.').prefault(false),
    reservations: leaf.count('Pieces of free capacity.', 0, 100_000).prefault(4),
  });

const index = () => leaf.count('Index of a call, a device or a connection.', 1);

const rule = () =>
  z
    .strictObject({
      fault: leaf.choice(FAULT_KINDS as [string, ...string[]], 'What goes wrong.'),
      operation: leaf.choice(STUB_OPERATIONS, 'The calls that it strikes.').optional(),
      calls: z.array(index()).min(1).optional(),
      from: index().optional(),
      device: leaf.text('The device that it strikes.').optional(),
      reservation: leaf.text('The reservation that it strikes.').optional(),
      chance: leaf.ratio('How probable it is each time.', 0, 1).optional(),
      times: leaf.count('How often at most.', 1).optional(),
      amount: leaf.count('How much, in the unit of the fault.', 0, 2 ** 40).optional(),
      scope: leaf.choice(['all', 'group', 'plan'], 'What there is none left of.').optional(),
    })
    .transform((given) => ({ ...given, fault: given.fault as keyof typeof FAULTS }))
    .refine(strikesThere, {
      path: ['operation'],
      error: 'is never struck by this fault; leave it out, or give another one',
    });

function strikesThere({ fault, operation }: { fault: keyof typeof FAULTS; operation?: unknown }) {
  const { at, operations } = FAULTS[fault];
  if (operation === undefined) return true;
  return (
    at === 'call' && (operations === undefined || (operations as unknown[]).includes(operation))
  );
}
