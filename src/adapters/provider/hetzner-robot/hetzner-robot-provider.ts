import { ProviderError } from '../../../domain/errors.ts';
import type { Clock, Random } from '../../clock/port.ts';
import { createLifetime } from '../../kit/lifetime.ts';
import { createLocks } from '../../kit/locks.ts';
import type { Log } from '../../log/port.ts';
import type { Capabilities, DriverShell, Plan, Provider, Records } from '../port.ts';
import { createBackground } from './background.ts';
import { createChanges } from './changes.ts';
import { createClaimStore } from './claims.ts';
import type { RobotClient } from './client/client.ts';
import { createCreation } from './creation.ts';
import { asUnknown, type Parts } from './deps.ts';
import { createGiveBack } from './give-back.ts';
import { createInstall } from './installing.ts';
import { hostnameOf, serverOfSlot } from './names.ts';
import { createOurKey } from './our-key.ts';
import { createRescueTrip } from './rescue.ts';
import { createResets } from './resets.ts';
import { createServers } from './servers.ts';
import type { RobotConfig } from './settings.ts';
import { sweepLeftovers } from './sweep.ts';
import { createSystems } from './systems.ts';
import { createShowing } from './view.ts';
import { createWatch } from './watch.ts';

export interface RobotProviderDeps {
  readonly client: RobotClient;
  readonly shell: DriverShell;
  readonly records: Records;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** OpenSSH line of the one key that lets in; may change. */
  readonly publicKey: () => string;
  /** OpenSSH lines of our earlier keys; may change. */
  readonly previousKeys?: () => readonly string[];
  daemons(): number;
}

/**
 * Dedicated servers of one account. A server's name says whose it is, and a record what became of it so
 * far. No call is made before the first one asked for.
 */
export function createRobotProvider(config: RobotConfig, deps: RobotProviderDeps): Provider {
  const { client, shell, records, clock, log, publicKey, previousKeys, daemons } = deps;
  const lifetime = createLifetime();
  const freshMs = () => config.listCache * Math.max(1, daemons());
  const parts: Parts = {
    config,
    client,
    servers: createServers(client, { clock, freshMs }),
    claims: createClaimStore(records, config.instanceSetId),
    systems: createSystems(shell, config.sshPort),
    ourKey: createOurKey(client, {
      name: config.sshKeyName,
      line: publicKey,
      previousLines: previousKeys ?? (() => []),
    }),
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
