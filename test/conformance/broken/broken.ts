import type {
  CallOptions,
  Capabilities,
  CreateRequest,
  DriverMachine,
  Provider,
} from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import type { Tags } from '../../../src/domain/provisioning/provider-tags.ts';
import type { LabOptions } from '../lab.ts';

/** A driver's mistake, and the step that must find it. */
export interface Broken extends LabOptions {
  readonly what: string;
  readonly step: string;
}

export const fails = (
  step: string,
  what: string,
  lab: LabOptions | NonNullable<LabOptions['change']>,
): Broken => ({ what, step, ...(typeof lab === 'function' ? { change: lab } : lab) });

export const refuse = (kind: ConstructorParameters<typeof ProviderError>[0]) => () =>
  Promise.reject(new ProviderError(kind, 'as scripted'));

/** Changes every machine that the driver shows. */
export const showing =
  (alter: (machine: DriverMachine) => DriverMachine) =>
  (provider: Provider): Partial<Provider> => ({
    listMachines: async (filter, o) => {
      const { machines, complete } = await provider.listMachines(filter, o);
      return { machines: machines.map(alter), complete };
    },
    getMachine: async (id, o) => alter(await provider.getMachine(id, o)),
    createMachine: async (r, o) => alter(await provider.createMachine(r, o)),
  });

export const without = (tags: Tags, key: string): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([each]) => each !== key));
export const losing = (key: string) =>
  showing((machine) => ({ ...machine, tags: without(machine.tags ?? {}, key) }));

export const declaring = (
  provider: Provider,
  change: Partial<Capabilities>,
): Partial<Provider> => ({ capabilities: { ...provider.capabilities, ...change } });

/** Creates with a changed request or a changed answer. */
export const creating =
  (
    create: (provider: Provider, request: CreateRequest, o: CallOptions) => Promise<DriverMachine>,
  ) =>
  (provider: Provider): Partial<Provider> => ({
    createMachine: (request, o) => create(provider, request, o),
  });

export const silent = (request: CreateRequest): CreateRequest => ({
  ...request,
  onAttempt: async () => undefined,
});

export const IGNORED: Pick<CallOptions, 'signal'> = { signal: new AbortController().signal };
