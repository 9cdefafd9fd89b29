import { UsageError } from '../../../domain/errors.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Driver, DriverContext, Provider } from '../port.ts';
import { createStubAccount, type StubAccount } from './account.ts';
import { noMachines } from './device.ts';
import { createSshMachines } from './host/ssh-machines.ts';
import { type StubSettings, stubSettings } from './settings.ts';
import { createStubProvider } from './stub-provider.ts';

/**
 * Machines that are only memory, with everything that can go wrong: for tests and trials. Providers
 * of one name and the same settings that are open at the same time show the same machines, as two
 * daemons see one vendor; with the last one that is stopped they are gone.
 */
export function createStubDriver(): Driver<StubSettings> {
  const accounts = new Map<string, { readonly account: StubAccount; users: number }>();

  function acquire(key: string, settings: StubSettings, context: DriverContext) {
    const known = accounts.get(key);
    const entry = known ?? { account: accountOf(settings, context), users: 0 };
    entry.users += 1;
    accounts.set(key, entry);
    return entry.account;
  }

  async function release(key: string) {
    const entry = accounts.get(key)!;
    entry.users -= 1;
    if (entry.users > 0) return;
    accounts.delete(key);
    await entry.account.close();
  }

  return {
    name: 'stub',
    settings: stubSettings,
    open(settings, context): Provider {
      refuseContradictions(settings, context);
      const key = `${context.name} ${JSON.stringify(settings)}`;
      const { instanceSetId } = context;
      const { without, maxConcurrency } = settings;
      const account = acquire(key, settings, context);
      const provider = createStubProvider(account, { instanceSetId, without, maxConcurrency });
      let left: Promise<void> | undefined;
      return {
        ...provider,
        async stop() {
          await provider.stop();
          await (left ??= release(key));
        },
      };
    },
  };
}

function accountOf(
  settings: StubSettings,
  { clock, log, metrics, publicKey, instanceSetId }: DriverContext,
): StubAccount {
  const { plans, devicePrefix, stateless, seed, faults } = settings;
  const inventory = stateless ? { publicKey, tags: { [SET_ID_TAG]: instanceSetId } } : null;
  const timing = {
    provisioningMs: settings.provisioningTime,
    bootMs: settings.bootTime,
    deprovisioningMs: settings.deprovisioningTime,
  };
  return createStubAccount(
    { plans, timing, latencyMs: settings.latency, devicePrefix, inventory, seed, faults },
    {
      clock,
      log,
      metrics,
      machines: (known) =>
        settings.ssh ? createSshMachines({ clock, log, faults: known }) : noMachines,
    },
  );
}

function refuseContradictions({ ssh, without }: StubSettings, { name }: DriverContext) {
  if (ssh || without.includes('hostKey')) return;
  throw new UsageError(
    `provider ${name}: only machines with SSH have host keys; set ssh: true, or without: [hostKey]`,
  );
}

/** The stub of the program. */
export const stubDriver: Driver<StubSettings> = createStubDriver();
