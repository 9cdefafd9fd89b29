import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import { nullIfGone } from '../../driver-kit/errors.ts';
import type { CallOptions, SweepReport } from '../port.ts';
import type { Server } from './api.ts';
import type { Sending } from './client.ts';
import {
  addressOf,
  standingOf,
  classifyName,
  freeName,
  hostnameOf,
  isStrangers,
  leavingName,
  ourName,
} from './mapping.ts';
import {
  newClaim,
  NO_RESETS,
  RESET_FLOOR_MS,
  WAITING,
  type Claim,
  type RobotParts,
} from './parts.ts';
import type { RescueTrip } from './rescue.ts';
import { wipeScript } from './scripts.ts';
import { rescueKeyRule } from './systems.ts';
import type { Showing } from './view.ts';

const HARD_RESETS_MAX = 3;

/** Gives machines back. Each call takes the next step, whichever daemon began. */
export function createGiveBack(
  parts: RobotParts,
  { showing, trip }: { readonly showing: Showing; readonly trip: RescueTrip },
) {
  const { config, servers, claims, systems, clock, log, locks } = parts;
  const alarmed = new Set<number>();

  /** From here on the server is no machine any more. */
  async function leave(server: Server, claim: Claim | null, witness: string, how: Sending) {
    const change = { ...NO_RESETS, phase: 'leaving' as const, sinceMs: clock.now() };
    if (claim) return claims.change(claim, change, how);
    const { number, name: oldName } = server;
    const hostname = hostnameOf(config, String(number));
    const set = config.instanceSetId;
    return claims.make(number, newClaim({ set, witness, oldName, hostname, ...change }), how);
  }

  async function rename(claim: Claim, name: string, how: Sending): Promise<void> {
    if ((await servers.get(claim.server, how)).name === name) return;
    const { name: now } = await servers.rename(claim.server, name, how);
    if (now === name || (await servers.read(claim.server, how)).name === name) return;
    const what = `server ${claim.server} does not have its new name`;
    throw new ProviderError('transient', what, { outcome: 'unknown' });
  }

  /**
   * The name is changed before the claim is dropped: a server without a claim is free as soon as
   * its name says so.
   */
  async function release(claim: Claim, how: Sending): Promise<void> {
    await rename(claim, freeName(config, claim.server), how);
    await claims.drop(claim, how);
  }

  /** Whether somebody renamed the server: then it is theirs, and nothing more is done to it. */
  async function isTaken(claim: Claim, how: Sending): Promise<boolean> {
    const { name } = await servers.read(claim.server, how);
    if (!isStrangers(name, config)) return false;
    log.warn(
      { server: claim.server, name },
      'somebody renamed a server that was given back; it is left as it is',
    );
    await claims.drop(claim, how);
    return true;
  }

  /** Wipes the drives if the rescue system is up and lets us in. */
  async function wipe(claim: Claim, how: Sending): Promise<Claim | 'taken' | null> {
    const address = addressOf(await servers.known(claim.server, how));
    const answer = await systems.look(address, claim.witness, rescueKeyRule(claim), how.signal);
    const isRescue = answer.kind === 'rescue' && !answer.seen.isOthers && !answer.seen.guard;
    if (address === null || answer.kind !== 'rescue' || !isRescue) return null;
    if (await isTaken(claim, how)) return 'taken';
    try {
      const told = await systems.run(address, answer, wipeScript(), how.signal);
      if (!/^wiped [1-9]\d*$/m.test(told)) return null;
    } catch (error) {
      if (how.signal.aborted) throw error;
      const fields = { server: claim.server, cause: explain(error) };
      log.warn(fields, 'a server that was given back could not be wiped yet');
      return null;
    }
    return claims.change(claim, { phase: 'wiped', sinceMs: clock.now() }, how);
  }

  function alarm({ server }: Claim): void {
    if (alarmed.has(server)) return;
    alarmed.add(server);
    log.error(
      { server, alarm: 'unwiped-server' },
      'a server that was given back cannot be wiped, and stays out of use until a person checks it',
    );
  }

  /** Takes the next step. @returns true if it was the last. */
  async function advance(claim: Claim, how: Sending): Promise<boolean> {
    if (claim.phase === 'wiped' || config.wipe === 'none') {
      if (!(await isTaken(claim, how))) await release(claim, how);
      return true;
    }
    if (claim.resetAtMs === null) {
      if (await isTaken(claim, how)) return true;
      await rename(claim, leavingName(config, claim.server), how);
      await trip.strike(claim, null, how);
      return false;
    }
    const sinceMs = clock.now() - claim.resetAtMs;
    if (sinceMs < RESET_FLOOR_MS) return false;
    const wiped = await wipe(claim, how);
    if (wiped === 'taken') return true;
    if (wiped) {
      await release(wiped, how);
      return true;
    }
    if (sinceMs < config.rescueTimeout) return false;
    if (claim.hardResets >= HARD_RESETS_MAX) {
      alarm(claim);
      return false;
    }
    if (await isTaken(claim, how)) return true;
    await trip.strike(claim, null, how);
    return false;
  }

  /** Checks its number and the list of all servers: a single reply may be an error of Robot's. */
  async function hasLeft(number: number, how: Sending): Promise<boolean> {
    if (await servers.read(number, how).catch(nullIfGone)) return false;
    const { servers: there, unreadable, nameless } = await servers.list(how);
    const isThere = there.some((server) => server.number === number);
    return !isThere && !unreadable.includes(number) && nameless === 0;
  }

  /** @returns false if the list still shows the server. */
  async function forgetIfLeft(number: number, how: Sending): Promise<boolean> {
    if (!(await hasLeft(number, how))) return false;
    const claim = (await claims.all(how)).ours.get(number);
    if (!claim) return true;
    const fields = { server: number };
    log.warn(fields, 'a server that was given back has left the account');
    await claims.drop(claim, how);
    return true;
  }

  /** Like `advance`, for a server that may have left the account. */
  async function advanceOrForget(claim: Claim, how: Sending): Promise<boolean> {
    try {
      return await advance(claim, how);
    } catch (error) {
      if (!isProviderError(error, 'not-found')) throw error;
      return forgetIfLeft(claim.server, how);
    }
  }

  const locked = <T>(server: number, { signal }: Sending, task: () => Promise<T>): Promise<T> =>
    locks.alone(String(server), signal, { what: WAITING, task });

  return {
    /** Resolves once the machine's give-back has begun, or if there is no such machine. */
    async deprovision(id: string, given: Sending): Promise<void> {
      const how = { ...given, urgent: true };
      const found = await showing.find(id, how).catch(nullIfGone);
      if (!found) return;
      await locked(found.server.number, how, async () => {
        const again = await showing.find(id, how).catch(nullIfGone);
        if (!again) return;
        const { server, claim } = again;
        const name = classifyName(server.name, config);
        const witness = name.kind === 'ours' ? name.witness : '';
        await advanceOrForget(await leave(server, claim, witness, how), how);
      });
    },
    /** Whether the server is free or no longer ours. */
    isReusable: (number: number, witness: string, given: Sending): Promise<boolean> => {
      const how = { ...given, urgent: true };
      return locked(number, how, async () => {
        if (config.servers && !config.servers.includes(number)) return true;
        const all = await claims.all(how);
        const claim = all.ours.get(number);
        if (claim?.phase === 'leaving' || claim?.phase === 'wiped') {
          return advanceOrForget(claim, how);
        }
        const server = await servers.read(number, how).catch(nullIfGone);
        if (!server) return forgetIfLeft(number, how);
        const standing = standingOf(server, all, config);
        // Only its name marks the give-back: begins again, including the wipe.
        if (standing === 'leaving') {
          return advanceOrForget(await leave(server, null, witness, how), how);
        }
        return standing !== 'unusable';
      });
    },
  };
}
const HOUR_MS = 3_600_000;

/**
 * Drops claims of creations that never renamed their server, and deletes our earlier SSH keys. Both
 * must be at least an hour old; keys may also be of unknown age.
 */
export async function sweepLeftovers(
  { config, client, servers, claims, ourKey, clock }: RobotParts,
  { dryRun, ...how }: Pick<CallOptions, 'signal'> & { readonly dryRun: boolean },
): Promise<SweepReport> {
  const removed: { kind: string; id: string }[] = [];
  const { ours } = await claims.all(how);
  for (const claim of ours.values()) {
    if (claim.phase !== 'claimed' || clock.now() - claim.sinceMs < HOUR_MS) continue;
    // A hidden server may appear again.
    const server = await servers.read(claim.server, how).catch(nullIfGone);
    if (!server || server.name === ourName(config, claim.witness)) continue;
    if (!dryRun) await claims.drop(claim, how);
    removed.push({ kind: 'claim', id: String(claim.server) });
  }
  const old = `${config.sshKeyName}-old-`;
  for (const { name, md5, createdAt } of await client.listKeys(how)) {
    const ageMs = clock.now() - Date.parse(createdAt ?? '');
    if (!name.startsWith(old) || !ourKey.isPrevious(md5) || ageMs < HOUR_MS) continue;
    if (!dryRun) await client.deleteKey(md5, how);
    removed.push({ kind: 'ssh-key', id: md5 });
  }
  return { removed };
}
