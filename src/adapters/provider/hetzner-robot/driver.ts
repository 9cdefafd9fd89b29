import { asUnknown } from '../../driver-kit/errors.ts';
import { ProviderError } from '../../../domain/errors.ts';
import {
  complaintsAboutAdoption,
  givingBackWith,
} from '../../driver-kit/inventory/adopted-list.ts';
import { createAdoption } from '../../driver-kit/inventory/adoption.ts';
import { inLifetime } from '../../driver-kit/in-lifetime.ts';
import { providerLog } from '../../driver-kit/provider-log.ts';
import { createLifetime, createLocks } from '../../driver-kit/time-limit.ts';
import type { Capabilities, Provider, Driver, DriverContext } from '../port.ts';
import { createRobotAdoption, ROBOT_NAMING } from './adopted.ts';
import { createBackground, createButtons, createChanges, type Buttons } from './changes.ts';
import { createRobotClient } from './client.ts';
import { createCreation, createInstall } from './creation.ts';
import { createGiveBack, sweepLeftovers } from './give-back.ts';
import { hostnameOf, serverOfId, serverOfSlot } from './mapping.ts';
import { createClaimStore, createServers, type RobotParts } from './parts.ts';
import { createRescueTrip, createResets, type Resets } from './rescue.ts';
import {
  isInstalling,
  nested,
  robotSchema,
  type RobotConfig,
  type RobotSettings,
} from './settings.ts';
import { createOurKey, createSystems } from './systems.ts';
import { createShowing, createWatch } from './view.ts';

/**
 * Dedicated servers of one account. A server's name shows its owner, and a record its progress.
 * Makes no request before the first call.
 */
function createRobotProvider(settings: RobotSettings, context: DriverContext): Provider {
  const { name, instanceSetId, records, clock, log, shell } = context;
  const prefixes = isInstalling(settings) ? settings : null;
  const config: RobotConfig = { ...settings, ...(prefixes ?? NO_NAMES), name, instanceSetId };
  const client = createRobotClient(settings, context);
  const lifetime = createLifetime();
  const freshMs = () => config.listCache * Math.max(1, context.daemons());
  const parts: RobotParts = {
    config,
    client,
    servers: createServers(client, { clock, freshMs }),
    claims: createClaimStore(records, instanceSetId),
    systems: createSystems(shell, config.sshPort),
    ourKey: createOurKey(client, config.sshKeyName, context),
    clock,
    log: providerLog(log, name),
    locks: createLocks(),
  };
  const resets = createResets(parts);
  const buttons = createButtons(parts, resets);
  const installing = prefixes && createInstalling(parts, { resets, buttons, lifetime });
  if (settings.adopt === undefined) return inLifetime(lifetime, installing!);
  const vendor = createRobotAdoption(parts, { buttons, resets, prefixes });
  const options = { ...settings, adopt: settings.adopt, limits: CAPABILITIES };
  const both = createAdoption(vendor, options, context, installing);
  return inLifetime(lifetime, {
    ...both,
    async stop() {
      const stopped = lifetime.stop();
      client.stop();
      await both.stop();
      await stopped;
    },
  });
}

/** Never used without installations. */
const NO_NAMES = { namePrefix: '', freePrefix: '', sshKeyName: '' };

/** Servers that are free, or that we installed. */
function createInstalling(
  parts: RobotParts,
  {
    resets,
    buttons,
    lifetime,
  }: {
    readonly resets: Resets;
    readonly buttons: Buttons;
    readonly lifetime: ReturnType<typeof createLifetime>;
  },
): Provider {
  const { config, client } = parts;
  const trip = createRescueTrip(parts, resets);
  const install = createInstall(parts);
  const showing = createShowing(parts);
  const create = createCreation(parts, { trip, resets, install });
  const giveBack = createGiveBack(parts, { showing, trip });
  const watch = createWatch(parts, lifetime.signal);
  const background = createBackground(parts, lifetime.signal);
  const changes = createChanges(parts, {
    showing,
    trip,
    resets,
    buttons,
    install,
    lookAt: watch.look,
    inBackground: background.run,
  });

  return {
    capabilities: CAPABILITIES,
    async listMachines(_filter, call) {
      watch.begin();
      return showing.list(call);
    },
    async getMachine(id, call) {
      const machine = await showing.get(id, call);
      return { ...machine, power: await buttons.powerOf(serverOfId(id)!, call) };
    },
    async createMachine(request, call) {
      watch.begin();
      const claim = await create(request, call);
      // The installation runs, even if reading the server fails.
      return showing.show(claim, call).catch((error: unknown) => {
        throw asUnknown(error);
      });
    },
    async findByWitness(witness, slotId, call) {
      const server = serverOfSlot(slotId);
      return server === null ? null : showing.byWitness(witness, server, call);
    },
    async deprovisionMachine(id, call) {
      background.end(id);
      await giveBack.deprovision(id, call);
    },
    async isReusable(slotId, call) {
      const server = serverOfSlot(slotId);
      return server === null || giveBack.isReusable(server, call.operationId, call);
    },
    ...changes,
    async reinstallMachine(id, request, call) {
      background.end(id);
      watch.begin();
      return changes.reinstallMachine(id, request, call);
    },
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'Robot has no host keys of systems')),
    capacityGroup: ({ name: plan, location }) => `${location ?? ''} ${plan}`,
    hostnameFor: (slotId) => hostnameOf(config, slotId),
    async prepare(call) {
      watch.begin();
      const { servers } = await parts.servers.list(call);
      requireServers(config, new Set(servers.map(({ number }) => number)));
      await parts.ourKey.ensure(call);
    },
    sweep: (call) => sweepLeftovers(parts, call),
    async stop() {
      watch.stop();
      const stopped = lifetime.stop();
      client.stop();
      await stopped;
      await background.ended();
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
  consistentList: true,
  maxConcurrency: 8,
};

/** @throws {ProviderError} `invalid`: the account lacks servers that the configuration names. */
function requireServers({ servers = [] }: RobotConfig, there: ReadonlySet<number>): void {
  const missing = servers.filter((server) => !there.has(server));
  if (missing.length === 0) return;
  throw new ProviderError('invalid', `the account has no server ${missing.join(', ')}`);
}

/** Dedicated servers of an account at Hetzner Robot. */
export const hetznerRobotDriver: Driver<RobotSettings> = {
  name: 'hetzner-robot',
  settings: robotSchema,
  open: createRobotProvider,
  check: (own) => complaintsAboutAdoption(own, ROBOT_NAMING),
  overlaps(one, other) {
    if (one.adopt !== undefined && one.adopt === other.adopt) return 'adopt';
    if (one.baseUrl !== other.baseUrl || areOfTwoAccounts(one, other)) return null;
    if (!isInstalling(one) || !isInstalling(other)) return null;
    if (nested(one.namePrefix, other.namePrefix)) return 'namePrefix';
    const crossing =
      nested(one.freePrefix, other.freePrefix) ||
      nested(one.freePrefix, other.namePrefix) ||
      nested(one.namePrefix, other.freePrefix);
    return crossing ? 'freePrefix' : null;
  },
  givingBack: givingBackWith(
    'the server boots into the rescue system, the signatures of all its drives are removed (unless wipe: ' +
      'none), and its name says that it is free; the server stays in the account, and is paid for',
    isInstalling,
  ),
};

/**
 * Two users may belong to one account, and the name does not show it. Only providers with disjoint
 * lists of server numbers are certainly separate.
 */
const areOfTwoAccounts = (one: RobotSettings, other: RobotSettings): boolean =>
  one.user !== other.user &&
  one.servers !== undefined &&
  other.servers !== undefined &&
  !one.servers.some((server) => other.servers!.includes(server));
