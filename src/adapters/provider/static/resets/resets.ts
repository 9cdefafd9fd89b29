import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import type { Inventory } from '../../../driver-kit/inventory/inventory.ts';
import type { CallOptions, DriverContext, OperationRef, Provider } from '../../port.ts';
import { createRedfishProvider } from '../../redfish/redfish-provider.ts';
import { settings as redfishSettings, type Settings } from '../../redfish/settings.ts';
import { bmcEntryOf, type InventoryEntry } from '../entries.ts';
import type { StaticOptions } from '../static-provider.ts';
import { createIpmiSwitch } from './ipmi.ts';
import { createProgramSwitch } from './own-program.ts';
import {
  createSwitched,
  viewOf,
  type MeansView,
  type PowerWish,
  type ResetCall,
  type ResetMeans,
} from './power-switch.ts';
import type { ResetSettings } from './settings.ts';

type Means = ResetMeans<InventoryEntry>;

/** The driver of Redfish BMCs, for a part of the list. */
function redfishMeans(rack: Provider): Means {
  /** The list alone decides whether a machine exists. */
  const told = (error: unknown): ProviderError => {
    if (!isProviderError(error, 'not-found')) throw error;
    return new ProviderError('permanent', 'its BMC does not have the system', { cause: error });
  };
  return {
    async list(_entries, call) {
      const { machines } = await rack.listMachines({}, call);
      return new Map(machines.map((machine) => [machine.id!, machine]));
    },
    look: (entry, call) =>
      rack.getMachine(entry.id, call).catch((error: unknown) => {
        told(error);
        return viewOf('unknown');
      }),
    change: (entry, wish, { call }) =>
      (wish === 'on' || wish === 'off'
        ? rack.setPower!(entry.id, wish, call)
        : rack.rebootMachine(entry.id, wish === 'reboot by force' ? 'force' : 'graceful', call)
      ).catch((error: unknown) => {
        throw told(error);
      }),
    stop: () => rack.stop(),
  };
}

type ListOptions = Omit<StaticOptions, 'resets'>;

/** The means of a list's entries. They make no request before the first call. */
export function createResets(
  resets: Readonly<Record<string, ResetSettings>>,
  list: { readonly options: ListOptions; readonly inventory: Inventory<InventoryEntry> },
  context: DriverContext,
) {
  const all = new Map(
    Object.entries(resets).map(([by, settings]) => [by, open(by, settings)] as const),
  );

  function open(by: string, settings: ResetSettings): Means {
    // Only entries of this means come there, so their data are of its kind.
    if (settings.kind === 'ipmi')
      return createSwitched(createIpmiSwitch(settings, context), context) as unknown as Means;
    if (settings.kind === 'program')
      return createSwitched(createProgramSwitch(settings, context), context) as unknown as Means;
    const rack = createRedfishProvider(rackSettings(by, settings, list.options), context, {
      async entries(signal, ageMs) {
        const entries = [...(await list.inventory.entries(signal, ageMs)).values()];
        const its = entries.filter(({ reset }) => reset?.by === by);
        return new Map(its.map((entry) => [entry.id, bmcEntryOf(entry)!]));
      },
    });
    return redfishMeans(rack);
  }

  const meansOf = ({ reset }: InventoryEntry) => (reset ? all.get(reset.by)! : null);

  return {
    /** What the means know about the machines. */
    async list(entries: readonly InventoryEntry[], call: CallOptions) {
      const views = [...all].map(([by, means]) =>
        means.list(
          entries.filter(({ reset }) => reset?.by === by),
          call,
        ),
      );
      return new Map((await Promise.all(views)).flatMap((view) => [...view]));
    },
    look: async (entry: InventoryEntry, call: CallOptions): Promise<MeansView> =>
      (await meansOf(entry)?.look(entry, call)) ?? {},
    /** @throws {ProviderError} `not-implemented`: the entry names no means. */
    async change(entry: InventoryEntry, wish: PowerWish, given: ResetCall): Promise<OperationRef> {
      const means = meansOf(entry);
      if (means) return means.change(entry, wish, given);
      throw new ProviderError('not-implemented', `the entry of ${entry.id} names no Reset`);
    },
    stop: async () => void (await Promise.all([...all.values()].map((means) => means.stop()))),
  };
}

/** The driver's usual settings, with ours. */
function rackSettings(
  by: string,
  { username = '', password, caFile, timeout }: ResetSettings,
  { sshUser, sshPasswords, probePort, probes }: ListOptions,
): Settings {
  const around = { env: {}, baseDirectory: '/', checkFiles: false };
  const usual = redfishSettings(around).parse({ inventory: 'file:/unused' });
  return {
    ...{ ...usual, sshUser, sshPasswords: { ...sshPasswords }, probePort },
    probeTimeout: probes.timeoutMs,
    readTimeout: timeout,
    credentials: { [by]: { username, password: password! } },
    ...(caFile !== undefined && { caFile }),
  };
}
