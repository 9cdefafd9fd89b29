import { ProviderError } from '../../../domain/errors.ts';
import type { ApiDeps } from '../../driver-kit/terms.ts';
import type { Call } from '../../driver-kit/call.ts';
import { createLifetime } from '../../driver-kit/time-limit.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, Capabilities, Plan, Provider, Driver } from '../port.ts';
import { toPortError, createLatitudeApi } from './api.ts';
import { createChanges, createReinstallation } from './changes.ts';
import { createCreation } from './creation.ts';
import { createGiveBack } from './give-back.ts';
import { createOwnership, createSearch } from './ownership.ts';
import { createRecordWriter } from './record-writer.ts';
import { createStoredRecords } from './records.ts';
import { createRoutes } from './routes.ts';
import {
  hostnameOf,
  configOf,
  latitudeSchema,
  type LatitudeConfig,
  type LatitudeSettings,
} from './settings.ts';
import { createStock, createSweeping, type Inventory } from './stock.ts';
import { createPreparation, createOurSshKey, createSystems } from './systems.ts';
import { createServerView } from './view.ts';

export type LatitudeDeps = Omit<ApiDeps, 'observer'> & { readonly log: Log };

/**
 * Bare metal of one project at Latitude.sh. Free capacity are the slots of the configuration; machines
 * are the servers that have a slot's name; ours are those whose user-data record says so. No call is
 * made before the first one asked for.
 */
export function createLatitudeProvider(config: LatitudeConfig, deps: LatitudeDeps): Provider {
  const { clock, log } = deps;
  const api = createLatitudeApi(config, deps);
  const lifetime = createLifetime();
  const routes = createRoutes(config);
  const records = createStoredRecords(routes, { clock });
  const ownership = createOwnership(config, { routes, clock });
  const systems = createSystems({ routes, clock, log });
  const view = createServerView(config, { routes, records, ownership, systems, clock, log });
  const stock = createStock(config, { routes, records, ownership, systems, view, clock, log });
  const search = createSearch({ routes, records, ownership });
  const writer = createRecordWriter({ api, routes, records, clock });
  const sshKey = createOurSshKey(config, { routes, clock });
  const shared = { routes, records, ownership, writer, search, view, systems, sshKey, clock, log };
  const create = createCreation(config, shared);
  const changes = createChanges(config, shared);
  const reinstall = createReinstallation(shared);
  const giveBack = createGiveBack(config, shared);
  const prepare = createPreparation(config, shared);
  const sweeping = createSweeping(config, { stock, writer, clock, log });
  let isCutting = false;

  function run<T>(
    op: string,
    doing: string,
    options: Pick<CallOptions, 'signal'>,
    task: (call: Call, signal: AbortSignal) => Promise<T>,
    reading = false,
  ): Promise<T> {
    const attempt = async (signal: AbortSignal) => {
      try {
        return await task(api.call(op, signal), signal);
      } catch (error) {
        throw toPortError(error, doing);
      }
    };
    return lifetime.run(options, attempt, reading);
  }

  /** Beside the calls: whoever asked for the listing does not wait for it. */
  function cutSome(inventory: Inventory): void {
    if (isCutting) return;
    isCutting = true;
    const over = () => (isCutting = false);
    void sweeping.cutSome(api.call('sweep', lifetime.signal), inventory).then(over, over);
  }

  const refOf = (action: string, id: string, options: CallOptions) => ({
    operationRef: `${action}/${id}/${options.operationId}`,
  });

  return {
    capabilities: CAPABILITIES,
    listMachines: (_filter, options) =>
      run(
        'listMachines',
        'cannot list machines',
        options,
        async (call) => {
          const { listing, inventory } = await stock.list(call);
          cutSome(inventory);
          return listing;
        },
        true,
      ),
    getMachine: (id, options) =>
      run(
        'getMachine',
        `cannot get server ${id}`,
        options,
        async (call) => (await view.get(call, id)).machine,
        true,
      ),
    createMachine: (request, options) =>
      run(
        'createMachine',
        `cannot create a server on ${request.unused.reservationId}`,
        options,
        (call, signal) => create(request, call, { signal, witness: options.operationId }),
      ),
    findByWitness: (witness, slotId, options) =>
      run(
        'findByWitness',
        `cannot look for the server of witness ${witness}`,
        options,
        async (call) => {
          const hostname = hostnameOf(slotId, config.namePrefix);
          const named = await search.byName(call, hostname);
          const found = named.length > 0 ? named : await search.everywhere(call, hostname);
          const ours = found.find(
            ({ owner }) => owner.kind === 'ours' && owner.record.witness === witness,
          );
          if (!ours && found.length > 0) {
            const message = `another server is on ${slotId}: ${found[0]!.server.id}`;
            throw new ProviderError('race-lost', message);
          }
          if (!ours) return null;
          return view.show(ours.server, ours.owner, await systems.users(call));
        },
        true,
      ),
    deprovisionMachine: (id, options) =>
      run('deprovisionMachine', `cannot give back server ${id}`, options, (call, signal) =>
        giveBack.deprovision(call, id, { ...options, signal }),
      ),
    isReusable: (slotId, options) =>
      run('isReusable', `cannot look at slot ${slotId}`, options, (call) =>
        giveBack.isReusable(call, slotId),
      ),
    async rebootMachine(id, _mode, options) {
      await run('rebootMachine', `cannot reboot server ${id}`, options, (call, signal) =>
        changes.reboot(call, id, { ...options, signal }),
      );
      return refOf('reboot', id, options);
    },
    async setPower(id, want, options) {
      await run('setPower', `cannot switch ${want} server ${id}`, options, (call, signal) =>
        changes.power(call, id, want, { ...options, signal }),
      );
      return refOf(`power-${want}`, id, options);
    },
    async reinstallMachine(id, request, options) {
      await run('reinstallMachine', `cannot reinstall server ${id}`, options, (call, signal) =>
        reinstall(call, id, request, { ...options, signal }),
      );
      return refOf('reinstall', id, options);
    },
    setTags: (id, tags, options) =>
      run('setTags', `cannot tag server ${id}`, options, (call) => changes.setTags(call, id, tags)),
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'this API knows no host keys')),
    capacityGroup,
    hostnameFor: (slotId) => hostnameOf(slotId, config.namePrefix),
    prepare: (options) => run('prepare', 'cannot prepare the project', options, prepare),
    sweep: ({ dryRun, ...options }) =>
      run('sweep', 'cannot sweep user data', options, (call) => sweeping.sweep(call, dryRun)),
    async stop() {
      // What is called off may still have a record to remove.
      await lifetime.stop();
      api.stop();
    },
  };
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

/** A site's stock of a plan. */
const capacityGroup = ({ name, location }: Plan): string => [location ?? '', name].join(' ');

/** Bare metal on demand, or reserved, of one project at Latitude.sh. */
export const latitudeDriver: Driver<LatitudeSettings> = {
  name: 'latitude',
  settings: latitudeSchema,
  open(settings, context) {
    const { name, instanceSetId, log } = context;
    if (settings.billing === 'monthly') {
      log.warn(
        { provider: name },
        'new machines are paid monthly in advance, and deleting one refunds nothing',
      );
    }
    const config = configOf(settings, {
      ...{ name, instanceSetId },
      publicKey: () => context.publicKey,
      previousKeys: () => context.previousKeys ?? [],
    });
    const { clock, random, userAgent, network, daemons, waitsForTurn } = context;
    return createLatitudeProvider(config, {
      ...{ clock, random, log, userAgent, network, daemons },
      ...(waitsForTurn && { waitsForTurn }),
    });
  },
  overlaps(one, other) {
    if (one.project === other.project && nested(one.namePrefix, other.namePrefix))
      return 'namePrefix';
    // The vendor counts the requests of a key, and each provider keeps to a budget of its own.
    const isOneKey = one.baseUrl === other.baseUrl && one.token.read() === other.token.read();
    return isOneKey ? 'token' : null;
  },
  givingBack:
    'the server is deleted, with everything on its disks; with onDeprovision: schedule it is switched ' +
    'off, and deleted at the end of its billing cycle',
};

const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);
