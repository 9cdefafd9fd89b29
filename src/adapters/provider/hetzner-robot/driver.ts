import { ProviderError } from '../../../domain/errors.ts';
import { createLifetime, createLocks } from '../../driver-kit/time-limit.ts';
import type { Capabilities, Plan, Provider, Driver, DriverContext } from '../port.ts';
import { createBackground, createChanges } from './changes.ts';
import { createRobotClient } from './client.ts';
import { createCreation, createInstall } from './creation.ts';
import { createGiveBack, sweepLeftovers } from './give-back.ts';
import { hostnameOf, serverOfSlot } from './mapping.ts';
import { createClaimStore, asUnknown, createServers, type Parts } from './parts.ts';
import { createRescueTrip, createResets } from './rescue.ts';
import { nested, robotSchema, type RobotConfig, type RobotSettings } from './settings.ts';
import { createOurKey, createSystems } from './systems.ts';
import { createShowing, createWatch } from './view.ts';

/**
 * Dedicated servers of one account. A server's name says whose it is, and a record what became of it so
 * far. No call is made before the first one asked for.
 */
function createRobotProvider(settings: RobotSettings, context: DriverContext): Provider {
  const { name, instanceSetId, records, clock, log, shell } = context;
  const config: RobotConfig = { ...settings, name, instanceSetId };
  const client = createRobotClient(settings, context);
  const lifetime = createLifetime();
  const freshMs = () => config.listCache * Math.max(1, context.daemons());
  const parts: Parts = {
    config,
    client,
    servers: createServers(client, { clock, freshMs }),
    claims: createClaimStore(records, instanceSetId),
    systems: createSystems(shell, config.sshPort),
    ourKey: createOurKey(client, config.sshKeyName, context),
    clock,
    log,
    locks: createLocks(),
  };
  const resets = createResets(parts);
  const trip = createRescueTrip(parts, resets);
  const install = createInstall(parts);
  const showing = createShowing(parts);
  const create = createCreation(parts, { trip, resets, install });
  const giveBack = createGiveBack(parts, { showing, resets });
  const watch = createWatch(parts, lifetime.signal);
  const background = createBackground(parts, lifetime.signal);
  const changes = createChanges(parts, {
    showing,
    trip,
    resets,
    install,
    lookAt: watch.look,
    inBackground: background.run,
  });

  return {
    capabilities: CAPABILITIES,
    listMachines: (_filter, call) =>
      lifetime.run(
        call,
        (signal) => {
          watch.begin();
          return showing.list({ signal });
        },
        true,
      ),
    getMachine: (id, call) => lifetime.run(call, (signal) => showing.get(id, { signal }), true),
    createMachine: (request, call) =>
      lifetime.run(call, async (signal) => {
        watch.begin();
        const claim = await create(request, { ...call, signal });
        // It is being installed, whatever becomes of a look at it.
        return showing.show(claim, { signal }).catch((error: unknown) => {
          throw asUnknown(error);
        });
      }),
    findByWitness: (witness, slotId, call) =>
      lifetime.run(
        call,
        async (signal) => {
          const server = serverOfSlot(slotId);
          return server === null ? null : showing.byWitness(witness, server, { signal });
        },
        true,
      ),
    deprovisionMachine: (id, call) =>
      lifetime.run(call, async (signal) => {
        background.end(id);
        await giveBack.deprovision(id, { signal });
      }),
    isReusable: (slotId, call) =>
      lifetime.run(call, async (signal) => {
        const server = serverOfSlot(slotId);
        if (server === null) return true;
        return giveBack.isReusable(server, call.operationId, { signal });
      }),
    setTags: (id, tags, call) =>
      lifetime.run(call, (signal) => changes.setTags(id, tags, { ...call, signal })),
    rebootMachine: (id, mode, call) =>
      lifetime.run(call, (signal) => changes.rebootMachine(id, mode, { ...call, signal })),
    setPower: (id, want, call) =>
      lifetime.run(call, (signal) => changes.setPower(id, want, { ...call, signal })),
    reinstallMachine: (id, request, call) =>
      lifetime.run(call, (signal) => {
        background.end(id);
        watch.begin();
        return changes.reinstallMachine(id, request, { ...call, signal });
      }),
    verifyHostKey: () =>
      Promise.reject(new ProviderError('not-implemented', 'Robot knows no host keys of systems')),
    capacityGroup,
    hostnameFor: (slotId) => hostnameOf(config, slotId),
    prepare: (call) =>
      lifetime.run(call, async (signal) => {
        watch.begin();
        const { servers } = await parts.servers.list({ signal });
        requireServers(config, new Set(servers.map(({ number }) => number)));
        await parts.ourKey.ensure({ signal });
      }),
    sweep: ({ dryRun, ...call }) =>
      lifetime.run(call, (signal) => sweepLeftovers(parts, { dryRun, signal })),
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

const capacityGroup = ({ name, location }: Plan): string => `${location ?? ''} ${name}`;

/** @throws {ProviderError} `invalid`: the configuration names servers that the account does not have. */
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
  overlaps(one, other) {
    if (one.baseUrl !== other.baseUrl || areOfTwoAccounts(one, other)) return null;
    if (nested(one.namePrefix, other.namePrefix)) return 'namePrefix';
    const crossing =
      nested(one.freePrefix, other.freePrefix) ||
      nested(one.freePrefix, other.namePrefix) ||
      nested(one.namePrefix, other.freePrefix);
    return crossing ? 'freePrefix' : null;
  },
  givingBack:
    'the server boots into the rescue system, the signatures of all its drives are removed (unless wipe: ' +
    'none), and its name says that it is free; the server stays in the account, and is paid for',
};

/**
 * Two users may be of one account, and nothing in a user's name tells: only servers that are listed by their
 * numbers, which no two accounts share, are surely others.
 */
const areOfTwoAccounts = (one: RobotSettings, other: RobotSettings): boolean =>
  one.user !== other.user &&
  one.servers !== undefined &&
  other.servers !== undefined &&
  !one.servers.some((server) => other.servers!.includes(server));
