import { ProviderError } from '../../../domain/errors.ts';
import type { ApiDeps } from '../../driver-kit/terms.ts';
import type { Call } from '../../driver-kit/call.ts';
import { createOperations } from '../../driver-kit/api.ts';
import { isNotFound } from '../../driver-kit/errors.ts';
import {
  complaintsAboutAdoption,
  givingBackWith,
} from '../../driver-kit/inventory/adopted-list.ts';
import { createAdoption } from '../../driver-kit/inventory/adoption.ts';
import { inLifetime } from '../../driver-kit/in-lifetime.ts';
import { createLifetime } from '../../driver-kit/time-limit.ts';
import type {
  CallOptions,
  Capabilities,
  Driver,
  DriverContext,
  DriverMachine,
  Plan,
  Provider,
} from '../port.ts';
import { createLatitudeApi } from './api.ts';
import { createLatitudeAdoption, LATITUDE_NAMING, rememberingList } from './adopted.ts';
import { createActions, createChanges, createReinstallation } from './changes.ts';
import { createCreation } from './creation.ts';
import { createGiveBack } from './give-back.ts';
import { createOwnership, createSearch } from './ownership.ts';
import { createRecordWriter } from './record-writer.ts';
import { createStoredRecords } from './records.ts';
import { createRoutes } from './routes.ts';
import {
  hostnameOf,
  placesOf,
  latitudeSchema,
  type LatitudeConfig,
  type LatitudeSettings,
} from './settings.ts';
import { createStock, createSweeping, type Inventory } from './stock.ts';
import { createPreparation, createOurSshKey, createSystems } from './systems.ts';
import { createServerView } from './view.ts';

/**
 * Bare metal of one project at Latitude.sh. Free capacity is the configured slots; machines are the
 * servers with a slot's name; ours have a user-data record that says so. Makes no request before
 * the first call.
 */
export function createLatitudeProvider(
  config: LatitudeConfig,
  deps: ApiDeps & DriverContext,
): Provider {
  const { clock, log } = deps;
  const operations = createOperations(createLatitudeApi(config, deps));
  const { begin } = operations;
  const { routes, recent } = rememberingList(createRoutes(config), clock);
  const actions = createActions({ routes });
  const records = createStoredRecords(routes, { clock });
  const ownership = createOwnership(config, { routes, clock });
  const systems = createSystems({ routes, clock, log });
  const view = createServerView(config, { routes, records, ownership, systems, clock, log });
  const stock = createStock(config, { routes, records, ownership, systems, view, clock, log });
  const search = createSearch({ routes, records, ownership });
  const writer = createRecordWriter({ begin, routes, records, clock });
  const sshKey = createOurSshKey(config, { routes, clock });
  const shared = { routes, records, ownership, writer, search, view, systems, sshKey, clock, log };
  const create = createCreation(config, shared);
  const changes = createChanges(config, { ...shared, actions });
  const reinstall = createReinstallation(shared);
  const giveBack = createGiveBack(config, shared);
  const prepare = createPreparation(config, shared);
  const sweeping = createSweeping(config, { stock, writer, clock, log });
  let isCutting = false;

  /** Operations about one server. */
  const { run } = operations;
  /** Only a missing server means that a machine is gone. */
  const runElse: typeof run = (doing, ...rest) =>
    run(doing, ...rest).catch((cause: unknown) => {
      if (!isNotFound(cause)) throw cause;
      throw new ProviderError('invalid', doing, { cause, outcome: cause.outcome });
    });

  /** Runs beside the calls: the listing's caller does not wait for it. */
  function cutSome(inventory: Inventory): void {
    if (isCutting) return;
    isCutting = true;
    const over = () => (isCutting = false);
    const call = begin('cannot remove first-boot scripts', operations.signal);
    void sweeping.cutSome(call, inventory).then(over, over);
  }

  async function find(call: Call, witness: string, slot: string): Promise<DriverMachine | null> {
    const hostname = hostnameOf(slot, config.namePrefix);
    const named = await search.byName(call, hostname);
    const found = named.length > 0 ? named : await search.everywhere(call, hostname);
    const ours = found.find(
      ({ owner }) => owner.kind === 'ours' && owner.record.witness === witness,
    );
    if (!ours && found.length > 0) {
      const message = `another server is on ${slot}: ${found[0]!.server.id}`;
      throw new ProviderError('race-lost', message);
    }
    return ours ? view.show(ours.server, ours.owner, await systems.users(call)) : null;
  }

  const refOf = (action: string, id: string, how: CallOptions) => ({
    operationRef: `${action}/${id}/${how.operationId}`,
  });

  const creating: Provider = {
    capabilities: CAPABILITIES,
    listMachines: (_filter, how) =>
      runElse(
        'cannot list machines',
        how,
        async (call) => {
          const { listing, inventory } = await stock.list(call);
          cutSome(inventory);
          return listing;
        },
        true,
      ),
    getMachine: (id, how) =>
      run(`cannot get server ${id}`, how, async (call) => (await view.get(call, id)).machine, true),
    createMachine: (request, how) =>
      runElse(
        `cannot create a server on ${request.unused.reservationId}`,
        how,
        (call, { signal, operationId: witness }) => create(request, call, { signal, witness }),
      ),
    findByWitness: (witness, slot, how) =>
      runElse(
        `cannot find the server of creation key ${witness}`,
        how,
        (call) => find(call, witness, slot),
        true,
      ),
    deprovisionMachine: (id, how) =>
      run(`cannot give back server ${id}`, how, (call, within) =>
        giveBack.deprovision(call, id, within),
      ),
    isReusable: (slot, how) =>
      runElse(`cannot read slot ${slot}`, how, (call) => giveBack.isReusable(call, slot)),
    async rebootMachine(id, _mode, how) {
      await run(`cannot reboot server ${id}`, how, (call, within) =>
        changes.reboot(call, id, within),
      );
      return refOf('reboot', id, how);
    },
    async setPower(id, want, how) {
      await run(`cannot switch ${want} server ${id}`, how, (call, within) =>
        changes.power(call, id, want, within),
      );
      return refOf(`power-${want}`, id, how);
    },
    async reinstallMachine(id, request, how) {
      await run(`cannot reinstall server ${id}`, how, (call, within) =>
        reinstall(call, id, request, within),
      );
      return refOf('reinstall', id, how);
    },
    setTags: (id, tags, how) =>
      run(`cannot tag server ${id}`, how, (call) => changes.setTags(call, id, tags)),
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'this API has no host keys')),
    capacityGroup,
    hostnameFor: (slotId) => hostnameOf(slotId, config.namePrefix),
    prepare: (how) =>
      runElse('cannot prepare the project', how, (call, { signal }) => prepare(call, signal)),
    sweep: ({ dryRun, ...how }) =>
      runElse('cannot sweep user data', how, (call) => sweeping.sweep(call, dryRun)),
    stop: operations.stop,
  };
  if (config.adopt === undefined) return creating;
  const installs = config.places.length > 0;
  const isNamed = (hostname?: string) => installs && view.isNamed(hostname);
  const vendor = createLatitudeAdoption(config, {
    ...{ operations, routes, recent, actions, clock, isNamed },
  });
  const options = { ...config, adopt: config.adopt, sshPort: 22, limits: CAPABILITIES };
  const both = createAdoption(vendor, options, deps, installs ? creating : null);
  // A call that only needs the list must notice an abort and the stop, too.
  const lifetime = createLifetime();
  return inLifetime(lifetime, {
    ...both,
    async stop() {
      const stopped = lifetime.stop();
      await operations.stop();
      await stopped;
    },
  });
}

const CAPABILITIES: Capabilities = {
  create: true,
  deprovision: true,
  reboot: true,
  reinstall: true,
  power: true,
  tags: true,
  hostKey: false,
  throwAway: true,
  consistentList: false,
  maxConcurrency: 4,
  announces: true,
};

/** The stock of a plan at a site. */
const capacityGroup = ({ name, location }: Plan): string => [location ?? '', name].join(' ');

/** Bare metal, on demand or reserved, of one project at Latitude.sh. */
export const latitudeDriver: Driver<LatitudeSettings> = {
  name: 'latitude',
  settings: latitudeSchema,
  open(settings, context) {
    const { name, instanceSetId, log } = context;
    if (settings.billing === 'monthly') {
      log.warn(
        { provider: name },
        'new machines are paid monthly in advance, and a deletion refunds nothing',
      );
    }
    const { slots = [], namePrefix = '', sshKeyName = '' } = settings;
    const config: LatitudeConfig = {
      ...{ ...settings, slots, namePrefix, sshKeyName, name, instanceSetId },
      places: placesOf(slots, namePrefix),
      token: () => settings.token.read(),
      get publicKeyLine() {
        return context.publicKey;
      },
      get previousKeyLines() {
        return context.previousKeys ?? [];
      },
    };
    return createLatitudeProvider(config, context);
  },
  check: (own) => complaintsAboutAdoption(own, LATITUDE_NAMING),
  overlaps(one, other) {
    if (one.adopt !== undefined && one.adopt === other.adopt) return 'adopt';
    const [own, others] = [one.namePrefix, other.namePrefix];
    const isCrossing = own !== undefined && others !== undefined && nested(own, others);
    if (one.project === other.project && isCrossing) return 'namePrefix';
    // The vendor limits requests per API key, but each provider keeps its own budget.
    const isOneKey = one.baseUrl === other.baseUrl && one.token.read() === other.token.read();
    return isOneKey ? 'token' : null;
  },
  givingBack: givingBackWith(
    'the server is deleted, with everything on its disks; with onDeprovision: schedule it is switched ' +
      'off, and deleted at the end of its billing cycle',
    ({ slots }: LatitudeSettings) => slots !== undefined,
  ),
};

const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);
