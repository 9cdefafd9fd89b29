import { ProviderError } from '../../../domain/errors.ts';
import { isNotFound } from '../../driver-kit/errors.ts';
import type { DriverContext, Plan, Provider, Driver } from '../port.ts';
import type { EquinixDeps } from './api.ts';
import { createChanges, createDoor, createGiveBack } from './changes.ts';
import { createEquinixClient } from './client.ts';
import type { Sought } from './create-device.ts';
import { createCreation, createOurSshKey } from './creation.ts';
import { createDeviceView } from './device-view.ts';
import {
  HOSTNAME_ID_LENGTH,
  configOf,
  equinixSchema,
  type EquinixConfig,
  type EquinixSettings,
} from './settings.ts';
import { createStock } from './stock.ts';

export type EquinixProviderDeps = EquinixDeps & Pick<DriverContext, 'tellEvent' | 'metrics'>;

/**
 * Bare metal of one Equinix Metal project. Shown are the devices whose hostname starts with
 * the configured prefix; ours are those that carry our owner tag and no other. Free capacity are the
 * project's available reservations. No call is made before the first one asked for.
 * @throws {UsageError} the token would travel in the clear.
 */
export function createEquinixProvider(config: EquinixConfig, deps: EquinixProviderDeps): Provider {
  const { clock, log } = deps;
  if (config.useProjectKeys) {
    log.warn({ provider: config.name }, 'INSECURE: new machines let in every key of the project');
  }
  const client = createEquinixClient(config, deps);
  const view = createDeviceView(config, { client, log });
  const giveBack = createGiveBack(config, { client, view, clock });
  const sshKey = createOurSshKey(config, { ...deps, client });
  const door = createDoor();
  const changes = createChanges({ client, view, door, clock, log });
  const stock = createStock(config, { client, view, clock, log, metrics: deps.metrics });
  const { reservations } = stock;
  const create = createCreation(config, { client, view, sshKey, reservations });

  /** A reservation that is gone from the project may have left its device behind. */
  const findOnOrOff = (sought: Sought, signal: AbortSignal) =>
    client.findByWitness(sought, signal).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return client.findByWitness({ ...sought, reservationId: null }, signal);
    });

  return {
    capabilities: CAPABILITIES,
    async listMachines(_filter, { signal }) {
      const failed = door.enter('cannot list machines');
      return stock.list(signal).catch(failed);
    },
    async getMachine(id, { signal }) {
      const failed = door.enter(`cannot get device ${id}`);
      const { needed, ifHidden, show } = view;
      return client
        .getDevice(id, signal, needed)
        .catch(ifHidden(id, signal))
        .then(show)
        .catch(failed);
    },
    async createMachine(request, options) {
      const { reservationId } = request.unused;
      const failed = door.enter(`cannot create a device on reservation ${reservationId}`);
      return create(request, options).catch(failed);
    },
    async findByWitness(witness, reservationId, { signal }) {
      const failed = door.enter(`cannot look for the device of witness ${witness}`);
      const device = await findOnOrOff({ witness, reservationId }, signal).catch(failed);
      return device && { ...view.show(device), reservationId };
    },
    async deprovisionMachine(id, options) {
      const failed = door.enter(`cannot give back device ${id}`);
      await giveBack.deprovision(id, options).catch(failed);
    },
    async isReusable(reservationId, { signal }) {
      const failed = door.enter(`cannot look at reservation ${reservationId}`);
      const state = await giveBack.stateOf(reservationId, signal).catch(failed);
      if (state === 'free') reservations.expire();
      return state !== 'busy';
    },
    ...changes,
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'this API knows no host keys')),
    capacityGroup,
    hostnameFor: (slotId) => config.devicePrefix + slotId.slice(0, HOSTNAME_ID_LENGTH),
    async prepare({ signal }) {
      const failed = door.enter(`cannot put SSH key ${config.sshKeyLabel} in place`);
      if (!config.useProjectKeys) await sshKey.ensure(signal).catch(failed);
    },
    async sweep({ dryRun, signal }) {
      const failed = door.enter('cannot sweep SSH keys');
      return sshKey.sweep({ dryRun }, signal).catch(failed);
    },
    async stop() {
      door.close();
      client.stop();
    },
  };
}

const CAPABILITIES = {
  create: true,
  deprovision: true,
  reboot: true,
  reinstall: true,
  power: true,
  tags: true,
  hostKey: false,
  throwAway: true,
  // The API's views lag behind each other at times.
  consistentList: false,
  maxConcurrency: 64,
  announces: true,
} as const;

/** What runs out together; machines taken away at will are a supply of their own. */
const capacityGroup = ({ name, location, spot }: Plan): string =>
  [location ?? '', name, ...(spot ? ['spot'] : [])].join(' ');

/** Bare metal of one project at an API that speaks Equinix Metal. */
export const equinixDriver: Driver<EquinixSettings> = {
  name: 'equinix',
  settings: equinixSchema,
  open(settings, context) {
    const { token, ...others } = settings;
    const { name, instanceSetId, publicKey: _changing, previousKeys: _too, ...deps } = context;
    return createEquinixProvider(
      {
        ...configOf(others),
        name,
        instanceSetId,
        token: () => token.read(),
        get publicKeyLine() {
          return context.publicKey;
        },
        get previousKeyLines() {
          return context.previousKeys ?? [];
        },
      },
      deps,
    );
  },
  overlaps: (one, other) =>
    one.projectId === other.projectId && nested(one.devicePrefix, other.devicePrefix)
      ? 'devicePrefix'
      : null,
};

const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);
