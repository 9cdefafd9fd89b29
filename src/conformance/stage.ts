import type { CallOptions, DriverMachine, FleetCall } from '../adapters/provider/port.ts';
import { isProviderError } from '../domain/errors.ts';
import { type Witness, witness } from '../domain/ids.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { SET_ID_TAG } from '../domain/provisioning/provider-tags.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { must, type Pending, until, type WaitOptions, within } from './waiting.ts';
import type { ConformanceDeps, Opened } from './subject.ts';

/** What the steps of one run found out so far. */
export interface Findings {
  opened: Opened | null;
  /** Free capacity that the machine was made of. */
  unused: ProviderMachine | null;
  /** Newest snapshot of the machine under test. */
  machine: ProviderMachine | null;
  witness: Witness | null;
  /** The key that proved itself, base64 of the wire form. */
  hostKey: string | null;
  bootId: string | null;
  /** What the step waits for now, and what it saw last; null: it waits for nothing. */
  waitsFor: string | null;
  /** The machine is gone, and its slot can be used again. */
  isFree: boolean;
  /** Ids of all machines, whosever, that were there before anything was made; null: not looked. */
  before: ReadonlySet<string> | null;
  /** Machines that are gone for good. */
  readonly goneIds: Set<string>;
}

/** Where the steps play: the means they have, and what they found. */
export type Stage = ReturnType<typeof stageWith>;

export function createStage(deps: ConformanceDeps): Stage {
  const ledger = createLedger((names, signal) => deps.subject.claims(names, signal));
  const found: Findings = {
    ...{ opened: null, unused: null, machine: null, witness: null, hostKey: null, bootId: null },
    ...{ waitsFor: null, isFree: false, before: null, goneIds: new Set<string>() },
  };
  return stageWith({ ...deps, ledger, found }, new AbortController().signal);
}

/** The same stage, with another signal: it ends what is under way there. */
export const stageAt = ({ parts }: Stage, signal: AbortSignal): Stage => stageWith(parts, signal);

/** The driver, and the machine under test, are there once a step has opened it, and made one. */
function stageWith(
  parts: ConformanceDeps & {
    readonly found: Findings;
    /** Everything that this run may have made, for the clean-up. */
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
    /** Opens the driver once more. */
    open: () => subject.open(ledger.watch),
    /** The driver as it is. */
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
    /** Names a creation. */
    newWitness: () => witness(random.uuid()),
    /** Asks the provider for the machine under test. @throws {StepFailed} it is no longer ours. */
    async refresh(): Promise<ProviderMachine> {
      const machine = await fleet().getMachine(found.machine!.id!, call);
      assertOurs(machine);
      found.machine = machine;
      return machine;
    },
    /** Everything that the fleet sees. */
    list: async () => (await fleet().listMachines(call)).machines,
    /** Looks again and again, as `until` does, and keeps what is waited for. */
    until: <T extends object | string | number | true>(
      what: string,
      limits: Pick<WaitOptions, 'timeoutMs' | 'intervalMs'>,
      look: () => Promise<T | Pending>,
    ): Promise<T> => until(what, { clock, signal, onLook, ...limits }, look),
    /** Calls the driver past the core, with a limit of its own. */
    ask,
    /** Lists past the core. */
    listRaw: () => ask('List', (options) => raw().listMachines({}, options)),
    /**
     * Has the driver give a machine back, past the core. That there is none has succeeded; a driver that
     * announces says so as `not-found`.
     */
    destroyPastTheCore: (id: string) =>
      ask('Destroy', (options) => raw().deprovisionMachine(id, options)).catch((error: unknown) => {
        const isGone = raw().capabilities.announces === true && isProviderError(error, 'not-found');
        if (!isGone) throw error;
      }),
  };
}

/** Nothing that carries another mark is touched, whatever the driver says it is. */
export function assertOurs({ id, ownership, tags }: ProviderMachine): void {
  const owner = tags[SET_ID_TAG] ?? 'none';
  must(ownership === 'ours', `machine ${id} is not the test's: its instance set is ${owner}`);
}
