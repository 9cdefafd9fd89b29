import { z } from 'zod';
import type { Capabilities, Provider } from '../adapters/provider/port.ts';
import { CONDITION_STATUSES, isBeginning } from '../domain/conditions.ts';
import { ProviderError, UsageError } from '../domain/errors.ts';
import { PROVIDER_STATUSES } from '../domain/machine.ts';
import { replacing } from './ledger.ts';

const reference = z.object({ operationRef: z.string() });
const name = z.string().regex(/^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,255}$/u);
const machine = z.object({
  id: z.string().nullable(),
  reservationId: z.string().nullable(),
  availability: z.enum(['PossiblyUsed', 'KnownUnused', 'KnownUsed']),
  plan: z.string(),
  hostname: z.string().nullish(),
  address: z.string().nullish(),
  remoteUser: z.string().optional(),
  failed: z.boolean().optional(),
  status: z.enum(PROVIDER_STATUSES).nullish(),
  power: z.enum(['on', 'off', 'unknown']).optional(),
  controller: z.object({ id: z.string(), hangs: z.boolean() }).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  hostKey: z.string().optional(),
  spot: z.boolean().optional(),
  conditions: z
    .array(
      z.object({
        ...{ type: z.string(), reason: z.string(), detail: z.string() },
        status: z.enum(CONDITION_STATUSES),
        fromMs: z.number().refine(isBeginning, 'it is no time in epoch milliseconds').nullish(),
      }),
    )
    .optional(),
});

/** The schema of each method's answer, and the outcome that an invalid answer implies. */
const ANSWERS: Partial<Record<keyof Provider, [z.ZodType, 'not-done' | 'unknown']>> = {
  listMachines: [z.object({ machines: z.array(machine), complete: z.boolean() }), 'not-done'],
  getMachine: [machine, 'not-done'],
  findByWitness: [machine.nullable(), 'not-done'],
  isReusable: [z.boolean(), 'not-done'],
  capacityGroup: [name, 'not-done'],
  hostnameFor: [name, 'not-done'],
  createMachine: [machine, 'unknown'],
  rebootMachine: [reference, 'unknown'],
  reinstallMachine: [reference, 'unknown'],
  setPower: [reference, 'unknown'],
  resetController: [reference, 'unknown'],
  sweep: [
    z.object({ removed: z.array(z.object({ kind: z.string(), id: z.string() })) }),
    'unknown',
  ],
};

/**
 * Checks a provider's answers against the port at run time. Other people's drivers may be plain
 * JavaScript, so that the compiler does not check them.
 * @throws {UsageError} its capabilities contradict its methods.
 */
export function checkedProvider(type: string, provider: Provider): Provider {
  refuseContradictions(type, provider);
  const methods = Object.entries(ANSWERS).flatMap(([method, [schema, outcome]]) => {
    const own = provider[method as keyof Provider] as ((...args: never[]) => unknown) | undefined;
    if (own === undefined) return [];
    const check = (answer: unknown): unknown => {
      const { error } = schema.safeParse(answer);
      if (!error) return answer;
      const { path, message } = error.issues[0]!;
      const what = `the driver's ${method} returned an invalid ${path.join('.') || 'value'}: ${message}`;
      throw new ProviderError('permanent', what, { outcome });
    };
    const checked = (...args: never[]) => {
      const answer = own.apply(provider, args);
      return answer instanceof Promise ? answer.then(check) : check(answer);
    };
    return [[method, checked] as const];
  });
  return replacing(provider, Object.fromEntries(methods));
}

const FLAGS = [
  'create',
  'deprovision',
  'reboot',
  'reinstall',
  'power',
  'tags',
  'hostKey',
  'consistentList',
] as const satisfies readonly (keyof Capabilities)[];

function refuseContradictions(type: string, provider: Provider): void {
  const { capabilities } = provider;
  const faults = FLAGS.filter((flag) => typeof capabilities[flag] !== 'boolean').map(
    (flag) => `capabilities.${flag} is neither true nor false`,
  );
  const { maxConcurrency, power, resetController } = capabilities;
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1) {
    faults.push('capabilities.maxConcurrency is not a whole number from 1');
  }
  if (resetController && !provider.resetController) {
    faults.push('capabilities.resetController is true without a resetController');
  }
  if (power && !provider.setPower) faults.push('capabilities.power is true without a setPower');
  if (faults.length > 0) throw new UsageError(`driver ${type}: ${faults.join('; ')}`);
}
