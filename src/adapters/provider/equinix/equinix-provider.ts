import { ProviderError } from '../../../domain/errors.ts';
import type { Metrics } from '../../metrics/port.ts';
import type { OperationRef, Plan, Provider } from '../port.ts';
import { createChanges } from './changes.ts';
import { createEquinixClient } from './client/client.ts';
import { isNotFound } from '../http/errors.ts';
import type { Sought } from './client/probe.ts';
import type { EquinixDeps } from './client/api.ts';
import { createCreation } from './creation.ts';
import { createDeviceView } from './device-view.ts';
import { createDoor } from './door.ts';
import { createGiveBack } from './give-back.ts';
import { HOSTNAME_ID_LENGTH } from './ownership.ts';
import type { EquinixConfig } from './settings.ts';
import { createOurSshKey } from './ssh-key.ts';
import { createStock } from './stock.ts';

export type EquinixProviderDeps = EquinixDeps & {
  readonly metrics: Pick<Metrics, 'equinixReservations'>;
};

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
  const changes = createChanges({ client, view, clock, log });
  const sshKey = createOurSshKey(config, { client, clock });
  const door = createDoor();
  const stock = createStock(config, { client, view, clock, log, metrics: deps.metrics });
  const { reservations } = stock;
  const create = createCreation(config, { client, view, sshKey, reservations });

  /** A reservation that is gone from the project may have left its device behind. */
  const findOnOrOff = (sought: Sought, signal: AbortSignal) =>
    client.findByWitness(sought, signal).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return client.findByWitness({ ...sought, reservationId: null }, signal);
    });

  async function accepted(action: string, id: string, done: Promise<void>): Promise<OperationRef> {
    await done;
    return { operationRef: `${action}/${id}/${new Date(clock.now()).toISOString()}` };
  }

  return {
    capabilities: CAPABILITIES,
    listMachines: (_filter, { signal }) =>
      door.through('cannot list machines', () => stock.list(signal)),
    getMachine: (id, { signal }) =>
      door.through(`cannot get device ${id}`, async () => view.show(await view.get(id, signal))),
    createMachine: (request, options) =>
      door.through(`cannot create a device on reservation ${request.unused.reservationId}`, () =>
        create(request, options),
      ),
    findByWitness: (witness, reservationId, { signal }) =>
      door.through(`cannot look for the device of witness ${witness}`, async () => {
        const device = await findOnOrOff({ witness, reservationId }, signal);
        return device && { ...view.show(device), reservationId };
      }),
    deprovisionMachine: (id, options) =>
      door.through(`cannot give back device ${id}`, () => giveBack.deprovision(id, options)),
    isReusable: (reservationId, { signal }) =>
      door.through(`cannot look at reservation ${reservationId}`, async () => {
        const state = await giveBack.stateOf(reservationId, signal);
        if (state === 'free') reservations.expire();
        return state !== 'busy';
      }),
    /** The API knows one kind of reboot, which asks nobody. */
    rebootMachine: (id, _mode, options) =>
      accepted(
        'reboot',
        id,
        door.through(`cannot reboot device ${id}`, () => changes.reboot(id, options)),
      ),
    setPower: (id, want, options) =>
      accepted(
        `power-${want}`,
        id,
        door.through(`cannot switch ${want} device ${id}`, () =>
          changes.setPower(id, want, options),
        ),
      ),
    reinstallMachine: (id, request, options) =>
      accepted(
        'reinstall',
        id,
        door.through(`cannot reinstall device ${id}`, () =>
          changes.reinstall(id, request, options),
        ),
      ),
    setTags: (id, tags, options) =>
      door.through(`cannot tag device ${id}`, () => changes.setTags(id, tags, options)),
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'this API knows no host keys')),
    capacityGroup,
    hostnameFor: (slotId) => config.devicePrefix + slotId.slice(0, HOSTNAME_ID_LENGTH),
    prepare: ({ signal }) =>
      door.through(`cannot put SSH key ${config.sshKeyLabel} in place`, async () => {
        if (!config.useProjectKeys) await sshKey.ensure(signal);
      }),
    sweep: ({ dryRun, signal }) =>
      door.through('cannot sweep SSH keys', () => sshKey.sweep({ dryRun }, signal)),
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
