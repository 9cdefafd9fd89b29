import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import { SECRET_TAG, TAG_PREFIX, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import { sleep, type Clock } from '../../clock/port.ts';
import type { CallOptions, OperationRef, Provider, ReinstallRequest } from '../port.ts';
import type { Sending } from './client.ts';
import type { Install } from './creation.ts';
import { serverOfId, isBrokenOff, classifyName, hostnameOf } from './mapping.ts';
import { newClaim, NO_RESETS, LOOK_GAP_MS, WAITING, type RobotParts, type Claim } from './parts.ts';
import type { RescueTrip, Resets } from './rescue.ts';
import type { OwnServer, Showing } from './view.ts';

/** Work that continues after its call: one task per server, with a time limit. */
export function createBackground(
  { config, clock, log }: Pick<RobotParts, 'config' | 'clock' | 'log'>,
  lifetime: AbortSignal,
) {
  const running = new Map<
    number,
    { readonly stopping: AbortController; readonly work: Promise<void> }
  >();

  return {
    run(server: number, work: (signal: AbortSignal) => Promise<void>): void {
      running.get(server)?.stopping.abort();
      const stopping = new AbortController();
      const timer = clock.setTimeout(() => stopping.abort(), config.installTimeout);
      const signal = AbortSignal.any([lifetime, stopping.signal]);
      const done = work(signal)
        .catch((error: unknown) => {
          log.warn({ server, cause: explain(error) }, 'a reinstallation did not finish');
        })
        .finally(() => {
          clock.clearTimeout(timer);
          if (running.get(server)?.stopping === stopping) running.delete(server);
        });
      running.set(server, { stopping, work: done });
    },
    /** A later order for the machine replaces the task. */
    end(id: string): void {
      const server = serverOfId(id);
      if (server !== null) running.get(server)?.stopping.abort();
    },
    /** Resolves when no task is running. */
    async ended(): Promise<void> {
      await Promise.allSettled([...running.values()].map(({ work }) => work));
    },
  };
}
/** Robot has no names for resets. */
export const refOf = (what: string, id: string, clock: Pick<Clock, 'now'>): OperationRef => ({
  operationRef: `${what}/${id}/${new Date(clock.now()).toISOString()}`,
});

type Changes = Required<
  Pick<Provider, 'setTags' | 'rebootMachine' | 'setPower' | 'reinstallMachine'>
>;

const POWER_WAIT_MS = 60_000;
/** The power of a server is read for this long after it was switched: requests are few. */
const POWER_WORK_MS = 30 * 60_000;
/** Any other word may describe a running server. */
const OFF = /^((shut|powered|switched)[ _-]?)?off$|^stopped$|^not running$/i;

/** Buttons of servers, whoever installed them. */
export function createButtons(
  { client, clock, log }: Pick<RobotParts, 'client' | 'clock' | 'log'>,
  resets: Resets,
) {
  const toldStatuses = new Set<string>();
  const switchedMs = new Map<number, number>();

  function tellStatus(status: string | null): void {
    const text = status ?? 'none';
    if (status === 'running' || toldStatuses.has(text)) return;
    toldStatuses.add(text);
    log.info({ operatingStatus: text }, 'Robot reports an unknown operating status');
  }

  /** Whether the server runs; null if Robot cannot tell. */
  async function isRunning(server: number, how: Sending): Promise<boolean | null> {
    const { operatingStatus } = await client.resetOptions(server, how);
    tellStatus(operatingStatus);
    if (operatingStatus === 'running') return true;
    return OFF.test(operatingStatus ?? '') ? false : null;
  }

  async function awaitPower(server: number, want: 'on' | 'off', how: Sending): Promise<boolean> {
    const untilMs = clock.monotonic() + POWER_WAIT_MS;
    while (clock.monotonic() < untilMs) {
      await sleep(clock, LOOK_GAP_MS, how.signal);
      if ((await isRunning(server, how)) === (want === 'on')) return true;
    }
    return false;
  }

  return {
    /** As Robot reports it now; unknown if this process did not switch it lately. */
    async powerOf(server: number, how: Sending): Promise<'on' | 'off' | 'unknown'> {
      const atMs = switchedMs.get(server) ?? -Infinity;
      if (clock.monotonic() - atMs > POWER_WORK_MS) return 'unknown';
      const running = await isRunning(server, how);
      if (running === null) return 'unknown';
      return running ? 'on' : 'off';
    },
    /** @param ready awaited just before the reset. */
    async reboot(
      server: number,
      mode: 'graceful' | 'force',
      how: Sending,
      ready: (how: Sending) => Promise<void>,
    ): Promise<void> {
      const sending = { ...how, urgent: mode === 'force' };
      const type = await resets.choose(server, mode === 'force' ? ['hw'] : ['sw', 'hw'], sending);
      await ready(sending);
      await client.reset(server, type, sending);
    },
    /**
     * Pressing the button of a running machine shuts it down. So nothing is switched if Robot
     * cannot tell whether the machine runs.
     * @param ready awaited just before the server is switched on.
     */
    async switchPower(
      number: number,
      want: 'on' | 'off',
      how: Sending,
      ready: (how: Sending) => Promise<void>,
    ): Promise<void> {
      const { types } = await client.resetOptions(number, how);
      if (!types.includes('power') || !types.includes('power_long')) {
        throw new ProviderError('not-implemented', `server ${number} cannot be switched`);
      }
      const running = await isRunning(number, how);
      if (running === null) {
        const what = `Robot cannot tell whether server ${number} runs, so its power is not switched`;
        throw new ProviderError('not-implemented', what);
      }
      switchedMs.set(number, clock.monotonic());
      if (running === (want === 'on')) return;
      if (want === 'on') await ready(how);
      try {
        await client.reset(number, want === 'on' ? 'power' : 'power_long', how);
      } catch (error) {
        const mayBe = isProviderError(error) && error.outcome === 'unknown';
        if (!mayBe || !(await awaitPower(number, want, how))) throw error;
        return;
      }
      if (await awaitPower(number, want, how)) return;
      const what = `server ${number} was switched ${want}, but Robot does not show it`;
      throw new ProviderError('transient', what, { outcome: 'unknown' });
    },
  };
}
export type Buttons = ReturnType<typeof createButtons>;

/** Changes to our machines that keep them. */
export function createChanges(
  parts: RobotParts,
  more: {
    readonly showing: Showing;
    readonly trip: RescueTrip;
    readonly resets: Resets;
    readonly buttons: Buttons;
    readonly install: Install;
    /** Checks an installation once; returns the claim as it is afterwards. */
    readonly lookAt: (claim: Claim, signal: AbortSignal) => Promise<Claim>;
    /** Continues after the call until done or until the provider stops. */
    readonly inBackground: (server: number, work: (signal: AbortSignal) => Promise<void>) => void;
  },
): Changes {
  const { config, servers, claims, clock, locks } = parts;
  const { showing, trip, resets, buttons, install, lookAt, inBackground } = more;

  /** Must not disturb an installation, so checks first whether it has ended. */
  async function findSettled(id: string, how: Sending): Promise<OwnServer> {
    const { server, claim: before } = await showing.find(id, how);
    const isInstalling = before?.phase === 'installing';
    const claim = isInstalling ? await lookAt(before, how.signal) : before;
    if (claim?.phase !== 'installing') return { server, claim };
    throw new ProviderError('conflict', `server ${server.number} is being installed`);
  }

  async function reboot(id: string, mode: 'graceful' | 'force', how: Sending): Promise<void> {
    const { server, claim } = await findSettled(id, how);
    // If the rescue system is armed but not about to be used, the reboot would start it.
    const isOnItsWay = claim?.phase === 'rescue' && !isBrokenOff(claim);
    await buttons.reboot(server.number, mode, how, async (sending) => {
      if (!isOnItsWay) await resets.disarm(server.number, sending);
    });
  }

  async function switchPower(id: string, want: 'on' | 'off', how: Sending): Promise<void> {
    const { number } = (await findSettled(id, how)).server;
    await buttons.switchPower(number, want, how, (sending) => resets.disarm(number, sending));
  }

  /** Creates a claim again for a machine of which only the name is left. */
  async function claimOf({ server, claim }: OwnServer, tags: Tags, how: Sending): Promise<Claim> {
    if (claim) return claim;
    const name = classifyName(server.name, config);
    const value = newClaim({
      ...{ set: config.instanceSetId, phase: 'ready', tags: { ...tags }, oldName: server.name },
      witness: name.kind === 'ours' ? name.witness : '',
      hostname: hostnameOf(config, String(server.number)),
      sinceMs: clock.now(),
    });
    return claims.make(server.number, value, how);
  }

  async function beginReinstall(
    id: string,
    request: ReinstallRequest,
    how: Sending,
  ): Promise<Claim> {
    const found = await findSettled(id, how);
    const claim = await claimOf(found, request.tags, how);
    const secretHash = claim.tags[SECRET_TAG] ?? null;
    const foreign = Object.entries(claim.tags).filter(([key]) => !key.startsWith(TAG_PREFIX));
    const change = {
      ...NO_RESETS,
      phase: 'rescue' as const,
      order: 'reinstall' as const,
      tags: { ...Object.fromEntries(foreign), ...request.tags },
      sinceMs: clock.now(),
    };
    const armed = await trip.arm(claim, change, how);
    return trip.send(armed, secretHash, how);
  }

  return {
    async setTags(id, tags, how) {
      const found = await showing.find(id, how);
      const claim = await claimOf(found, tags, how);
      const foreign = Object.entries(claim.tags).filter(([key]) => !key.startsWith(TAG_PREFIX));
      await claims.change(claim, { tags: { ...Object.fromEntries(foreign), ...tags } }, how);
    },
    async rebootMachine(id, mode, how) {
      await reboot(id, mode, how);
      return refOf(`reboot-${mode}`, id, clock);
    },
    async setPower(id, want, how) {
      await switchPower(id, want, how);
      return refOf(`power-${want}`, id, clock);
    },
    async reinstallMachine(id, request, how: CallOptions) {
      const { server } = await showing.find(id, how);
      const task = async () => {
        const sent = await beginReinstall(id, request, how);
        inBackground(server.number, async (signal) => {
          const arrival = await trip.arrive(sent, { signal });
          await servers.read(server.number, { signal });
          await showing.find(id, { signal });
          await install(arrival, { ...request, tags: arrival.claim.tags }, { signal });
        });
      };
      await locks.alone(String(server.number), how.signal, { what: WAITING, task });
      return refOf('reinstall', id, clock);
    },
  };
}
