import type { ProviderName } from '../../../domain/ids.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import type { Secret } from '../../../settings/secret.ts';
import { createTurns } from '../kit/turns.ts';
import type { FleetProvider, Provider } from '../port.ts';
import { createAbsence } from './absence.ts';
import { requireName, requireReport } from './answers.ts';
import { makeOurs } from './assimilation.ts';
import { type CallLimits, createCallLimits } from './call-limits.ts';
import { createCalls } from './calls.ts';
import { refuseContradictions } from './checked-driver.ts';
import { createFirstBoot, type FirstBootOptions } from './first-boot.ts';
import { createInventory } from './inventory.ts';
import { createLooks } from './looks.ts';
import { OPERATIONS } from './operations.ts';
import { createOrders, requireCapability } from './orders.ts';
import { createScrubber } from './scrubbing.ts';
import { createSearches } from './searches.ts';
import { createShared } from './shared.ts';
import { stopDriver } from './stopping.ts';
import { createWrittenTags } from './written-tags.ts';

export interface FleetProviderOptions extends FirstBootOptions {
  readonly name: ProviderName;
  /** The driver's name. */
  readonly type: string;
  /** Calls of all daemons together; no limit when 0 or absent. */
  readonly callsPerSecond?: number;
  /** Secrets of the driver's settings; they are taken out of whatever it rejects with. */
  readonly secrets?: readonly Secret[];
}
export interface FleetProviderDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Live daemons that share the budget of calls; one when absent. */
  readonly daemons?: () => number;
  /** Those that the driver was opened with, if it has a queue of its own. */
  readonly limits?: CallLimits;
}

/**
 * Puts the core's hands around a driver's provider; see `FleetProvider`.
 * @throws {UsageError} the driver contradicts itself, or `initCommand` is too long.
 */
export function createFleetProvider(
  provider: Provider,
  options: FleetProviderOptions,
  deps: FleetProviderDeps,
): FleetProvider {
  const { name, type, instanceSetId, callsPerSecond = 0 } = options;
  const { clock, log, metrics, daemons = () => 1, limits = createCallLimits() } = deps;
  refuseContradictions(type, provider);
  const { capabilities } = provider;
  const { maxConcurrency } = capabilities;
  const gapMs = callsPerSecond > 0 ? 1_000 / callsPerSecond : 0;
  const turns = createTurns({ maxConcurrency, gapMs }, { clock, daemons });
  const scrubber = createScrubber(options.secrets);
  const calls = createCalls({ ...deps, name, turns, scrubber, limits });
  const { run } = calls;
  const lasting = new AbortController().signal;
  const absence = createAbsence({ clock, list: () => list(lasting) });
  const looks = createLooks(provider, { name, instanceSetId, clock, log, absence });
  const inventory = capabilities.create ? null : createInventory();
  const { find, isReusable } = createSearches(provider, looks);
  const boot = createFirstBoot(options, { keep: scrubber.keep, random: deps.random });
  const written = createWrittenTags(clock);
  const list = createShared(async (signal) => {
    const listing = await run('List', { signal }, looks.list);
    if (inventory) for (const machine of listing.machines) inventory.note(machine);
    return listing;
  }, calls.changes);
  metrics.driverOpened(name, OPERATIONS);
  let stopped: Promise<void> | undefined;

  return {
    name,
    type,
    capabilities: { ...capabilities, ...(inventory && { create: true, deprovision: true }) },
    ...(inventory && { inventory: { lastSeen: inventory.lastSeen } }),
    // The listing itself has a limit, which stands still while its requests wait for their turns.
    listMachines: (call) =>
      run('List', { timeoutMs: Infinity, ...call }, (_step, signal) => list(signal)),
    getMachine: (id, call) =>
      run('Get', call, async (step) => {
        const machine = await looks.get(id, step, call);
        return inventory ? inventory.note(machine) : machine;
      }),
    ...createOrders(provider, { run, looks, boot, written, inventory, absence }),
    findByWitness: (witness, slotId, call) =>
      run(
        'Find',
        call,
        (step) =>
          inventory
            ? inventory.find(witness, slotId, (id) => looks.get(id, step))
            : find(witness, slotId, step),
        witness,
      ),
    assimilate: (id, witness, call) =>
      run('SetTags', call, (step) =>
        makeOurs(provider, { ...looks, written }, { id, witness, instanceSetId }, step),
      ),
    verifyHostKey: (machine, key, call) =>
      run('VerifyHostKey', call, async (step) => {
        requireCapability(capabilities, 'hostKey');
        await step('VerifyHostKey', async (o) => provider.verifyHostKey(machine, key, o));
      }),
    capacityGroup: (plan) =>
      requireName(() => provider.capacityGroup(plan), 'capacityGroup', scrubber),
    // What was let go was never cleaned by anybody: there is nothing to wait for.
    isReusable: (slotId, call) =>
      run('Reusable', call, async (step) => inventory !== null || isReusable(slotId, step)),
    hostnameFor: (slotId) =>
      provider.hostnameFor
        ? requireName(() => provider.hostnameFor!(slotId), 'hostnameFor', scrubber)
        : slotId,
    prepare: (call) =>
      run('Prepare', call, async (step) => {
        if (provider.prepare) await step('Prepare', async (o) => provider.prepare!(o));
      }),
    sweep: ({ dryRun, ...call }) =>
      run('Sweep', call, async (step) =>
        provider.sweep
          ? step('Sweep', async (o) => requireReport(await provider.sweep!({ ...o, dryRun })))
          : { removed: [] },
      ),
    async stop() {
      calls.stop();
      await (stopped ??= stopDriver(provider, { name, clock, log, scrubber }));
    },
  };
}
