import { explain } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { capabilitiesFor } from '../../domain/provisioning/adoption.ts';
import { createJoined } from '../../domain/joined.ts';
import type { Secret } from '../../settings/secret.ts';
import { sleep, type Clock, type Random } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import type { FleetProvider, Provider } from '../provider/port.ts';
import { createCalls, createUnderWay, OPERATIONS, type UnderWay } from './calls.ts';
import { createFirstBoot, type FirstBootOptions } from './creation.ts';
import { createAbsence, createInventory, createLooks, createSearches } from './looks.ts';
import { createOrders, requireCapability, createWrittenTags } from './orders.ts';
import { createScrubber, type Scrubber } from './redaction.ts';
import { createLocks } from './time-limit.ts';
import { createTurns } from './turns.ts';

export interface FleetProviderOptions extends FirstBootOptions {
  readonly name: ProviderName;
  /** The driver's name. */
  readonly type: string;
  /** Calls per second of all daemons together; 0 or absent: no limit. */
  readonly callsPerSecond?: number;
  /** Secrets in the driver's settings; removed from all its errors. */
  readonly secrets?: readonly Secret[];
}
export interface FleetProviderDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Live daemons that share the budget of calls; default 1. */
  readonly daemons?: () => number;
  /** The object that the driver was opened with, if it has its own queue. */
  readonly underWay?: UnderWay;
}

/** Wraps a driver's provider as `FleetProvider`. @throws {UsageError} `initCommand` is too long. */
export function createFleetProvider(
  provider: Provider,
  options: FleetProviderOptions,
  deps: FleetProviderDeps,
): FleetProvider {
  const { name, type, instanceSetId, callsPerSecond = 0 } = options;
  const { clock, log, metrics, daemons = () => 1, underWay = createUnderWay() } = deps;
  const { capabilities } = provider;
  const { maxConcurrency } = capabilities;
  const gapMs = callsPerSecond > 0 ? 1_000 / callsPerSecond : 0;
  const turns = createTurns({ maxConcurrency, gapMs }, { clock, daemons });
  const scrubber = createScrubber(options.secrets);
  const calls = createCalls({ ...deps, name, turns, scrubber, underWay });
  const { ask, begin, requireLive } = calls;
  const lasting = new AbortController().signal;
  const absence = createAbsence({ clock, list: () => list(lasting) });
  const looks = createLooks(provider, { name, instanceSetId, clock, log, absence, calls });
  const inventory = capabilities.create ? null : createInventory();
  const { find, isReusable } = createSearches(provider, looks, ask);
  const boot = createFirstBoot(options, { keep: scrubber.keep, random: deps.random });
  const written = createWrittenTags(clock);
  const list = createJoined(async (signal) => {
    const listing = await looks.list({ signal });
    if (inventory) for (const machine of listing.machines) inventory.note(machine);
    return listing;
  }, calls.changes);
  for (const operation of OPERATIONS) {
    const labels = { provider: name, operation };
    for (const error of ['0', '1'] as const)
      metrics.count('driver_operations', { ...labels, error }, 0);
    metrics.begin('shepherd_driver_operation_seconds', labels);
  }
  let stopped: Promise<void> | undefined;
  const released = { ...capabilities, create: true, deprovision: true };
  const adopted = inventory ? released : capabilities.adopted;

  return {
    name,
    type,
    capabilities: {
      ...(inventory ? released : capabilities),
      // Letting go of a machine needs nothing of the driver.
      ...(adopted && { adopted: { ...adopted, deprovision: true } }),
    },
    ...(inventory && { inventory: { lastSeen: inventory.lastSeen } }),
    // The listing itself has a limit, which pauses while its requests wait for their turns.
    async listMachines(call) {
      const running = begin('List', { timeoutMs: Infinity, ...call });
      try {
        return await list(running.options.signal);
      } finally {
        running.end();
      }
    },
    getMachine: inventory
      ? async (id, call) => inventory.note(await looks.get(id, call))
      : looks.get,
    ...createOrders(provider, {
      ...{ calls, locks: createLocks(), looks, boot, written, inventory, absence, instanceSetId },
    }),
    async findByWitness(witness, slotId, call) {
      const running = begin('Find', call, { operationId: witness });
      try {
        if (!inventory) return await find(witness, slotId, running);
        return await inventory.find(witness, slotId, (id) => looks.get(id, running));
      } finally {
        running.end();
      }
    },
    async verifyHostKey(machine, key, call, session) {
      requireCapability(capabilitiesFor(capabilities, machine), 'hostKey');
      await ask('VerifyHostKey', call, async (o) =>
        provider.verifyHostKey(machine, key, o, session),
      );
    },
    capacityGroup: (plan) => provider.capacityGroup(plan),
    // A released machine is not cleaned by anybody, so there is no wait.
    isReusable: async (slotId, call) => {
      requireLive();
      return inventory !== null || isReusable(slotId, call);
    },
    hostnameFor: (slotId) => provider.hostnameFor?.(slotId) ?? slotId,
    async prepare(call) {
      requireLive();
      if (provider.prepare) await ask('Prepare', call, async (o) => provider.prepare!(o));
    },
    async sweep({ dryRun, ...call }) {
      requireLive();
      if (!provider.sweep) return { removed: [] };
      return ask('Sweep', call, async (o) => provider.sweep!({ ...o, dryRun }));
    },
    async stop() {
      calls.stop();
      await (stopped ??= stopDriver(provider, { name, clock, log, scrubber }));
    },
  };
}

interface StoppingDeps {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
}

/** Time for a driver to end its operations. */
const STOP_MS = 10_000;

/** Stops a driver. Resolves in time, whatever the driver does; failures are logged. */
async function stopDriver(
  provider: Provider,
  { name, clock, log, scrubber }: StoppingDeps,
): Promise<void> {
  const settled = new AbortController();
  const late = sleep(clock, STOP_MS, settled.signal).then(
    () => log.error({ provider: name }, 'the driver did not stop within its time limit'),
    // The driver stopped after nobody waited any more.
    () => undefined,
  );
  const failed = (error: unknown) => {
    // Only the texts: other properties are the driver's, such as a request with its headers.
    const err = new Error(explain(scrubber.clean(error)));
    log.error({ provider: name, err }, 'the driver did not stop');
  };
  const stop = async () => provider.stop();
  await Promise.race([stop().catch(failed), late]);
  settled.abort();
}
