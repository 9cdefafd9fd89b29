import type { CallOptions, DriverMachine, FleetCall } from '../adapters/provider/port.ts';
import { isProviderError } from '../domain/errors.ts';
import { type Witness, witness } from '../domain/ids.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { SET_ID_TAG } from '../domain/provisioning/provider-tags.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { must } from './verdict.ts';
import type { ConformanceDeps, Opened } from './subject.ts';
import { type WaitOptions, within } from './waiting.ts';

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
  /** Opens the driver once more. */
  open(): Promise<Opened>;
  opened(): Opened;
  machine(): ProviderMachine;
  machineId(): string;
  /** Names a creation. */
  newWitness(): Witness;
  /** Asks the provider for the machine under test. @throws {StepFailed} it is no longer ours. */
  refresh(signal: AbortSignal): Promise<ProviderMachine>;
  /** How to look again and again, and keep what is waited for. */
  wait(limits: Pick<WaitOptions, 'signal' | 'timeoutMs' | 'intervalMs'>): WaitOptions;
  /** Calls the driver past the core, with a limit of its own. */
  raw<T>(
    what: string,
    signal: AbortSignal,
    work: (options: CallOptions) => Promise<T>,
    operationId?: string,
  ): Promise<T>;
  /**
   * Has the driver give a machine back, past the core. That there is none has succeeded; a driver that
   * announces says so as `not-found`.
   */
  destroyPastTheCore(id: string, signal: AbortSignal): Promise<void>;
}

export function createStage(deps: ConformanceDeps): Stage {
  const { clock, random, patience } = deps;
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
  const requireOurs = ({ id, tags = {} }: DriverMachine) =>
    must(tags[SET_ID_TAG] === deps.subject.setId, `machine ${id} is not the test's`);
  const stage: Stage = {
    ...deps,
    found,
    ledger,
    open: () => deps.subject.open(ledger.watch),
    opened: () => found.opened!,
    machine: () => found.machine!,
    machineId: () => found.machine!.id!,
    newWitness: () => witness(random.uuid()),
    async refresh(signal) {
      const machine = await stage.opened().fleet.getMachine(stage.machineId(), callOf(signal));
      assertOurs(machine);
      found.machine = machine;
      return machine;
    },
    wait: (limits) => ({
      ...{ clock, ...limits },
      onLook: (waitsFor) => void (found.waitsFor = waitsFor),
    }),
    raw: (what, signal, work, operationId = random.uuid()) =>
      within(what, { clock, signal, timeoutMs: patience.callMs }, (ends) => {
        const deadline = new Date(clock.now() + patience.callMs);
        return work({ signal: ends, deadline, operationId, requireOurs });
      }),
    async destroyPastTheCore(id, signal) {
      const { raw } = stage.opened();
      await stage
        .raw('Destroy', signal, (options) => raw.deprovisionMachine(id, options))
        .catch((error: unknown) => {
          const isGone = raw.capabilities.announces === true && isProviderError(error, 'not-found');
          if (!isGone) throw error;
        });
    },
  };
  return stage;
}

export const callOf = (signal: AbortSignal): FleetCall => ({ signal });

/** Nothing that carries another mark is touched, whatever the driver says it is. */
export function assertOurs({ id, ownership, tags }: ProviderMachine): void {
  const owner = tags[SET_ID_TAG] ?? 'none';
  must(ownership === 'ours', `machine ${id} is not the test's: its instance set is ${owner}`);
}
