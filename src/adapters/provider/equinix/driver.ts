import { ProviderError } from '../../../domain/errors.ts';
import type { Witness } from '../../../domain/ids.ts';
import { createOperations } from '../../driver-kit/api.ts';
import { isNotFound } from '../../driver-kit/errors.ts';
import type { DriverContext, OperationRef, Plan, Provider, Driver } from '../port.ts';
import { createEquinixApi, type EquinixDeps } from './api.ts';
import { createChanges, createGiveBack } from './changes.ts';
import { createEquinixClient } from './client.ts';
import { createCreation, createSearch } from './creation.ts';
import { createOurSshKey } from './our-ssh-key.ts';
import { createDeviceView } from './device-view.ts';
import {
  HOSTNAME_ID_LENGTH,
  equinixSchema,
  type EquinixConfig,
  type EquinixSettings,
} from './settings.ts';
import { createStock } from './stock.ts';

export type EquinixProviderDeps = EquinixDeps & Pick<DriverContext, 'tellEvent' | 'metrics'>;

/**
 * Bare metal of one Equinix Metal project. Shows devices whose hostname has the configured prefix;
 * ours carry our owner tag and no other. Free capacity is the project's available reservations.
 * Makes no request before the first call.
 * @throws {UsageError} the token would be sent unencrypted.
 */
export function createEquinixProvider(config: EquinixConfig, deps: EquinixProviderDeps): Provider {
  const { clock, log } = deps;
  if (config.useProjectKeys) {
    log.warn({ provider: config.name }, 'INSECURE: new machines accept every key of the project');
  }
  const api = createEquinixApi(config, deps);
  const { run, begin, stop, signal: ended } = createOperations(api);
  const client = createEquinixClient(config);
  const search = createSearch(config, client);
  const view = createDeviceView(config, { client, log });
  const giveBack = createGiveBack(config, { client, view, clock });
  const sshKey = createOurSshKey(config, { ...deps, client });
  const changes = createChanges({ client, view, clock, log, begin, ended });
  const stock = createStock(config, { client, view, clock, log, metrics: deps.metrics });
  const { reservations } = stock;
  const { metrics } = deps;
  const create = createCreation(config, { client, search, view, sshKey, reservations, metrics });

  const refOf = (action: string, id: string): OperationRef => ({
    operationRef: `${action}/${id}/${new Date(clock.now()).toISOString()}`,
  });

  return {
    capabilities: CAPABILITIES,
    listMachines: (_filter, how) => run('cannot list machines', how, stock.list, true),
    getMachine: (id, how) =>
      run(
        `cannot get device ${id}`,
        how,
        async (call) => view.show(await view.get(call, id)),
        true,
      ),
    createMachine: (request, how) =>
      run(
        `cannot create a device on reservation ${request.unused.reservationId}`,
        how,
        (call, { signal }) =>
          create(call, request, { signal, witness: how.operationId as Witness }),
      ),
    findByWitness: (witness, reservationId, how) =>
      run(
        `cannot find the device of creation key ${witness}`,
        how,
        async (call) => {
          // A reservation that left the project may have left its device behind.
          const device = await search
            .find(call, { witness, reservationId })
            .catch((error: unknown) => {
              if (!isNotFound(error)) throw error;
              return search.find(call, { witness, reservationId: null });
            });
          return device && { ...view.show(device), reservationId };
        },
        true,
      ),
    deprovisionMachine: (id, how) =>
      run(`cannot give back device ${id}`, how, (call, within) =>
        giveBack.deprovision(call, id, within),
      ),
    isReusable: (reservationId, how) =>
      run(
        `cannot read reservation ${reservationId}`,
        how,
        async (call) => {
          const state = await giveBack.stateOf(call, reservationId);
          if (state === 'free') reservations.expire();
          return state !== 'busy';
        },
        true,
      ),
    setTags: (id, tags, how) =>
      run(`cannot tag device ${id}`, how, (call, within) =>
        changes.setTags(call, id, tags, within),
      ),
    async rebootMachine(id, _mode, how) {
      await run(`cannot reboot device ${id}`, how, (call, within) =>
        changes.reboot(call, id, within),
      );
      return refOf('reboot', id);
    },
    async setPower(id, want, how) {
      await run(`cannot switch ${want} device ${id}`, how, (call, within) =>
        changes.power(call, id, want, within),
      );
      return refOf(`power-${want}`, id);
    },
    async reinstallMachine(id, request, how) {
      await run(`cannot reinstall device ${id}`, how, (call, within) =>
        changes.reinstall(call, id, request, within),
      );
      return refOf('reinstall', id);
    },
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'this API has no host keys')),
    capacityGroup,
    hostnameFor: (slotId) => config.devicePrefix + slotId.slice(0, HOSTNAME_ID_LENGTH),
    async prepare(how) {
      if (config.useProjectKeys) return;
      await run(`cannot store SSH key ${config.sshKeyLabel}`, how, (call, { signal }) =>
        sshKey.ensure(call, signal),
      );
    },
    sweep: ({ dryRun, ...how }) =>
      run('cannot sweep SSH keys', how, (call) => sshKey.sweep(call, { dryRun })),
    stop,
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
  // The API's views may lag behind each other.
  consistentList: false,
  maxConcurrency: 64,
  announces: true,
} as const;

/** Plans that run out together; spot machines are a separate supply. */
const capacityGroup = ({ name, location, spot }: Plan): string =>
  [location ?? '', name, ...(spot ? ['spot'] : [])].join(' ');

/** Bare metal of one project behind an API compatible with Equinix Metal. */
export const equinixDriver: Driver<EquinixSettings> = {
  name: 'equinix',
  settings: equinixSchema,
  open(settings, context) {
    const { name, instanceSetId, publicKey: _changing, previousKeys: _too, ...deps } = context;
    const config: EquinixConfig = {
      ...{ ...settings, name, instanceSetId },
      token: () => settings.token.read(),
      get publicKeyLine() {
        return context.publicKey;
      },
      get previousKeyLines() {
        return context.previousKeys ?? [];
      },
    };
    return createEquinixProvider(config, deps);
  },
  overlaps: (one, other) =>
    one.projectId === other.projectId && nested(one.devicePrefix, other.devicePrefix)
      ? 'devicePrefix'
      : null,
};

const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);
