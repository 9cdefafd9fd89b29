import type { CallOptions, DriverMachine, FleetCall, Provider } from '../adapters/provider/port.ts';
import { isProviderError, ProviderError } from '../domain/errors.ts';
import { type Witness, witness } from '../domain/ids.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { SET_ID_TAG } from '../domain/provisioning/provider-tags.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { must, type Pending, until, type WaitOptions, within } from './waiting.ts';
import type { ConformanceDeps, Opened } from './subject.ts';

/** Findings of one run so far. */
export interface Findings {
  opened: Opened | null;
  /** The free capacity that became the machine. */
  unused: ProviderMachine | null;
  /** Newest snapshot of the machine under test. */
  machine: ProviderMachine | null;
  witness: Witness | null;
  /** The proved key, base64 of the wire form. */
  hostKey: string | null;
  bootId: string | null;
  /** The current wait of the step and its last observation; null: no wait. */
  waitsFor: string | null;
  /** The machine is gone, and its slot is reusable. */
  isFree: boolean;
  /** The test uses an adopted machine of a provider that also creates machines. */
  isAdopting: boolean;
  /** Ids of all earlier machines of any owner; null: not read yet. */
  before: ReadonlySet<string> | null;
  /** Machines that are gone for good. */
  readonly goneIds: Set<string>;
}

/** The steps' environment: their means and findings. */
export type ConformanceStage = ReturnType<typeof stageWith>;

export function createStage(deps: ConformanceDeps): ConformanceStage {
  const ledger = createLedger((names, signal) => deps.subject.claims(names, signal));
  const found: Findings = {
    ...{ opened: null, unused: null, machine: null, witness: null, hostKey: null, bootId: null },
    ...{
      waitsFor: null,
      isFree: false,
      isAdopting: false,
      before: null,
      goneIds: new Set<string>(),
    },
  };
  return stageWith({ ...deps, ledger, found }, new AbortController().signal);
}

/** The same stage with another signal for its calls. */
export const stageAt = ({ parts }: ConformanceStage, signal: AbortSignal): ConformanceStage =>
  stageWith(parts, signal);

/** The driver and the machine exist only after the steps that open and create them. */
function stageWith(
  parts: ConformanceDeps & {
    readonly found: Findings;
    /** All possible creations of this run, for the clean-up. */
    readonly ledger: Ledger;
  },
  signal: AbortSignal,
) {
  const { clock, random, patience, subject, found, ledger } = parts;
  const call: FleetCall = { signal };
  const [raw, fleet] = [() => found.opened!.raw, () => found.opened!.fleet];
  const requireOurs = ({ id, tags = {} }: DriverMachine) =>
    must(tags[SET_ID_TAG] === subject.setId, `machine ${id} is not the test's`);
  const onLook = (waitsFor: string | null) => void (found.waitsFor = waitsFor);
  const ask = <T>(
    what: string,
    work: (options: CallOptions) => Promise<T>,
    operationId: string = random.uuid(),
  ): Promise<T> =>
    within(what, { clock, signal, timeoutMs: patience.callMs }, (ends) => {
      const deadline = new Date(clock.now() + patience.callMs);
      return work({ signal: ends, deadline, operationId, requireOurs });
    });
  return {
    ...{ ...parts, parts, signal, call },
    /** Opens the driver again. */
    open: () =>
      subject.open((provider) =>
        ledger.watch(found.isAdopting ? onlyAdopting(provider) : provider),
      ),
    /** The driver itself, without the core. */
    get raw() {
      return raw();
    },
    get fleet() {
      return fleet();
    },
    /** Newest snapshot of the machine under test. */
    get machine() {
      return found.machine!;
    },
    get machineId() {
      return found.machine!.id!;
    },
    /** A new creation key. */
    newWitness: () => witness(random.uuid()),
    /** Asks the provider for the machine under test. @throws {StepFailed} it is no longer ours. */
    async refresh(): Promise<ProviderMachine> {
      const machine = await fleet().getMachine(found.machine!.id!, call);
      assertOurs(machine);
      found.machine = machine;
      return machine;
    },
    /** All machines that the fleet sees. */
    list: async () => (await fleet().listMachines(call)).machines,
    /** Looks repeatedly, as `until` does, and records the wait. */
    until: <T extends object | string | number | true>(
      what: string,
      limits: Pick<WaitOptions, 'timeoutMs' | 'intervalMs'>,
      look: () => Promise<T | Pending>,
    ): Promise<T> => until(what, { clock, signal, onLook, ...limits }, look),
    /** Calls the driver directly, with a time limit of its own. */
    ask,
    /** Lists directly with the driver. */
    listRaw: () => ask('List', (options) => raw().listMachines({}, options)),
    /**
     * Destroys a machine directly with the driver. A missing machine is a success, which a driver
     * that announces reports as `not-found`.
     */
    destroyPastTheCore: (id: string) =>
      ask('Destroy', (options) => raw().deprovisionMachine(id, options)).catch((error: unknown) => {
        const isGone = raw().capabilities.announces === true && isProviderError(error, 'not-found');
        if (!isGone) throw error;
      }),
  };
}

/** A provider that creates and adopts, without its creations. */
function onlyAdopting(provider: Provider): Provider {
  const what = 'the test creates nothing, because an adopted machine was named';
  const refuse = () => Promise.reject(new ProviderError('not-implemented', what));
  const { adopted = provider.capabilities } = provider.capabilities;
  return {
    ...{ ...provider, capabilities: adopted, createMachine: refuse, deprovisionMachine: refuse },
    ...{ reinstallMachine: refuse, setTags: refuse },
  };
}

/** Protects machines with another mark, whatever the driver says. */
export function assertOurs({ id, ownership, tags }: ProviderMachine): void {
  const owner = tags[SET_ID_TAG] ?? 'none';
  must(ownership === 'ours', `machine ${id} is not the test's: its instance set is ${owner}`);
}
