import type { CallOptions, Provider } from '../provider/port.ts';
import type { createLifetime } from './time-limit.ts';

/** Position of the call options among each method's arguments. */
const CALL_AT = {
  listMachines: 1,
  getMachine: 1,
  createMachine: 1,
  deprovisionMachine: 1,
  rebootMachine: 2,
  reinstallMachine: 2,
  setPower: 2,
  resetController: 1,
  setTags: 2,
  verifyHostKey: 2,
  findByWitness: 2,
  isReusable: 1,
  prepare: 0,
  sweep: 0,
} as const;

/** These change nothing: an aborted one was not done. */
const READING: ReadonlySet<string> = new Set([
  'listMachines',
  'getMachine',
  'verifyHostKey',
  'findByWitness',
]);

type Method = (...given: unknown[]) => Promise<unknown>;

/** The provider with each call in the lifetime: the call's signal also aborts with the lifetime. */
export function inLifetime(
  lifetime: Pick<ReturnType<typeof createLifetime>, 'run'>,
  provider: Provider,
): Provider {
  const methods = Object.entries(CALL_AT).flatMap(([name, at]) => {
    const method = provider[name as keyof typeof CALL_AT] as Method | undefined;
    if (!method) return [];
    const run: Method = (...given) => {
      const call = given[at] as CallOptions;
      const task = async (signal: AbortSignal) => method(...given.with(at, within(call, signal)));
      return lifetime.run(call, task, READING.has(name));
    };
    return [[name, run] as const];
  });
  return { ...provider, ...Object.fromEntries(methods) };
}

/** The call with another signal; its deadline may still be extended. */
const within = (call: CallOptions, signal: AbortSignal): CallOptions => ({
  ...call,
  signal,
  get deadline() {
    return call.deadline;
  },
});
