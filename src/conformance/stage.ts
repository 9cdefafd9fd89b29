import type {
  CallOptions,
  DriverListing,
  DriverMachine,
  FleetCall,
  FleetProvider,
  Provider,
} from '../adapters/provider/port.ts';
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
export interface Stage extends ConformanceDeps {
  readonly found: Findings;
  /** Everything that this run may have made, for the clean-up. */
  readonly ledger: Ledger;
  /** Ends what is under way on this stage. */
  readonly signal: AbortSignal;
  /** The same stage, with another signal. */
  at(signal: AbortSignal): Stage;
  /** Opens the driver once more. */
  open(): Promise<Opened>;
  /** The driver as it is. This and the next are there once a step has opened it. */
  readonly raw: Provider;
  readonly fleet: FleetProvider;
  /** For calls of `fleet`. */
  readonly call: FleetCall;
  /** Newest snapshot of the machine under test. */
  readonly machine: ProviderMachine;
  readonly machineId: string;
  /** Names a creation. */
  newWitness(): Witness;
  /** Asks the provider for the machine under test. @throws {StepFailed} it is no longer ours. */
  refresh(): Promise<ProviderMachine>;
  /** Everything that the fleet sees. */
  list(): Promise<readonly ProviderMachine[]>;
  /** Looks again and again, as `until` does, and keeps what is waited for. */
  until<T extends object | string | number | true>(
    what: string,
    limits: Pick<WaitOptions, 'timeoutMs' | 'intervalMs'>,
    look: () => Promise<T | Pending>,
  ): Promise<T>;
  /** Calls the driver past the core, with a limit of its own. */
  ask<T>(
    what: string,
    work: (options: CallOptions) => Promise<T>,
    operationId?: string,
  ): Promise<T>;
  /** Lists past the core. */
  listRaw(): Promise<DriverListing>;
  /**
   * Has the driver give a machine back, past the core. That there is none has succeeded; a driver that
   * announces says so as `not-found`.
   */
  destroyPastTheCore(id: string): Promise<void>;
}

export function createStage(deps: ConformanceDeps): Stage {
  const ledger = createLedger((names, signal) => deps.subject.claims(names, signal));
  const found: Findings = {
    opened: null,
    unused: null,
    machine: null,
    witness: null,
    hostKey: null,
    bootId: null,
    waitsFor: null,
    isFree: false,
    before: null,
    goneIds: new Set(),
  };
  return stageAt({ ...deps, ledger, found }, new AbortController().signal);
}

function stageAt(
  parts: ConformanceDeps & Pick<Stage, 'ledger' | 'found'>,
  signal: AbortSignal,
): Stage {
  const { clock, random, patience, subject, found, ledger } = parts;
  const requireOurs = ({ id, tags = {} }: DriverMachine) =>
    must(tags[SET_ID_TAG] === subject.setId, `machine ${id} is not the test's`);
  const onLook = (waitsFor: string | null) => void (found.waitsFor = waitsFor);
  const call = { signal };
  const stage: Stage = {
    ...parts,
    signal,
    call,
    at: (other) => stageAt(parts, other),
    open: () => subject.open(ledger.watch),
    get raw() {
      return found.opened!.raw;
    },
    get fleet() {
      return found.opened!.fleet;
    },
    get machine() {
      return found.machine!;
    },
    get machineId() {
      return found.machine!.id!;
    },
    newWitness: () => witness(random.uuid()),
    async refresh() {
      const machine = await stage.fleet.getMachine(stage.machineId, call);
      assertOurs(machine);
      found.machine = machine;
      return machine;
    },
    list: async () => (await stage.fleet.listMachines(call)).machines,
    until: (what, limits, look) => until(what, { clock, signal, onLook, ...limits }, look),
    ask: (what, work, operationId = random.uuid()) =>
      within(what, { clock, signal, timeoutMs: patience.callMs }, (ends) => {
        const deadline = new Date(clock.now() + patience.callMs);
        return work({ signal: ends, deadline, operationId, requireOurs });
      }),
    listRaw: () => stage.ask('List', (options) => stage.raw.listMachines({}, options)),
    async destroyPastTheCore(id) {
      const { raw } = stage;
      await stage
        .ask('Destroy', (options) => raw.deprovisionMachine(id, options))
        .catch((error: unknown) => {
          const isGone = raw.capabilities.announces === true && isProviderError(error, 'not-found');
          if (!isGone) throw error;
        });
    },
  };
  return stage;
}

/** Nothing that carries another mark is touched, whatever the driver says it is. */
export function assertOurs({ id, ownership, tags }: ProviderMachine): void {
  const owner = tags[SET_ID_TAG] ?? 'none';
  must(ownership === 'ours', `machine ${id} is not the test's: its instance set is ${owner}`);
}
