import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import { sleep } from '../../clock/port.ts';
import { isLost } from '../../driver-kit/errors.ts';
import type { Rescue } from './api.ts';
import type { ResetType, Sending } from './client.ts';
import { addressOf, isStrangers } from './mapping.ts';
import {
  LOOK_GAP_MS,
  RESET_FLOOR_MS,
  type Claim,
  type RobotParts,
  type ClaimValue,
} from './parts.ts';
import { rebootScript } from './scripts.ts';
import {
  ANY_NEW_KEY,
  isRescueKey,
  rescueKeyRule,
  type SystemReply,
  type SystemAnswer,
} from './systems.ts';

/** The rescue system of the next boot, and resets. */
export function createResets({
  client,
  ourKey,
  claims,
  log,
}: Pick<RobotParts, 'client' | 'ourKey' | 'claims' | 'log'>) {
  async function disarm(server: number, how: Sending): Promise<void> {
    const { isRescueArmed, others } = await client.bootState(server, how);
    const strange = others.filter((kind) => kind !== 'linux');
    if (strange.length > 0) {
      const what = `server ${server} would begin an installation that somebody ordered in Robot (${strange.join(', ')}); it is not reset until that is taken back there`;
      throw new ProviderError('conflict', what);
    }
    if (isRescueArmed) await client.disarmRescue(server, how);
    if (others.length === 0) return;
    const fields = { server };
    log.warn(fields, 'a stock installation that was ordered in Robot is cancelled before a reset');
    await client.disarmLinux(server, how);
  }

  return {
    /** Arms the rescue system with our key only; disarms an older one first. */
    async arm(server: number, how: Sending): Promise<Rescue> {
      const key = await ourKey.ensure(how);
      await disarm(server, how);
      try {
        const armed = await client.armRescue(server, [key], how);
        if (armed.isArmed) return armed;
      } catch (error) {
        const mayBe = isProviderError(error, 'conflict') || isLost(error);
        if (!mayBe) throw error;
        const now = await client.rescue(server, how);
        if (now.isArmed && now.keys.includes(key)) return now;
        throw error;
      }
      const what = `the rescue system of server ${server} is not armed, although Robot said so`;
      throw new ProviderError('transient', what);
    },
    /**
     * Makes a reboot lead to the system on the disks, unless the rescue system is about to be used;
     * a manually ordered installation must not begin.
     * @throws {ProviderError} `conflict`: something is armed that we cannot disarm.
     */
    async disarm(server: number, how: Sending): Promise<void> {
      try {
        await disarm(server, how);
      } catch (error) {
        // A server without a rescue system cannot boot into one.
        if (!isProviderError(error, 'not-implemented')) throw error;
      }
    },
    /**
     * Makes sure that a reboot leads to the system on the disks, and changes nothing for it: what
     * is armed on an adopted server is somebody's.
     * @throws {ProviderError} `conflict`: something else is armed.
     */
    async requireUnarmed(server: number, how: Sending): Promise<void> {
      const { isRescueArmed, others } = await client
        .bootState(server, how)
        .catch((error: unknown) => {
          if (!isProviderError(error, 'not-implemented')) throw error;
          return { isRescueArmed: false, others: [] };
        });
      const armed = [...(isRescueArmed ? ['rescue'] : []), ...others];
      if (armed.length === 0) return;
      const what = `the next boot of server ${server} would start what somebody ordered in Robot (${armed.join(', ')}); it is adopted, and is not reset until that is cancelled there, or has expired`;
      throw new ProviderError('conflict', what);
    },
    /**
     * Presses the button. The claim already records it, so that a later attempt waits. If Robot
     * definitely did not press it, the claim is restored.
     */
    async press(
      type: ResetType,
      { before, noted }: { readonly before: Claim; readonly noted: Claim },
      how: Sending,
    ): Promise<void> {
      try {
        await client.reset(noted.server, type, how);
      } catch (error) {
        if (isProviderError(error) && error.outcome === 'not-done') await takeBack();
        throw error;
      }
      async function takeBack(): Promise<void> {
        const { resets, hardResets, resetAtMs, bootBefore } = before;
        const unsent = { resets, hardResets, resetAtMs, bootBefore };
        await claims.change(noted, unsent, how).catch((error: unknown) => {
          const fields = { server: noted.server, cause: explain(error) };
          log.debug(fields, 'a reset that was not sent stays counted');
        });
      }
    },
    /** The first type that the server supports. @throws {ProviderError} `not-implemented`. */
    async choose<Type extends ResetType>(
      server: number,
      wanted: readonly Type[],
      how: Sending,
    ): Promise<Type> {
      const { types } = await client.resetOptions(server, how);
      const found = wanted.find((type) => types.includes(type));
      if (found !== undefined) return found;
      const what = `server ${server} cannot be reset by ${wanted.join(' or ')}`;
      throw new ProviderError('not-implemented', what);
    },
  };
}
export type Resets = ReturnType<typeof createResets>;

export interface Arrival {
  readonly claim: Claim;
  readonly address: string;
  /** A system installed by this claim counts too: then nothing is left to do. */
  readonly answer: SystemAnswer<'rescue'> | SystemAnswer<'system'>;
}

/** After this time, another system's answer means that the reset led elsewhere. */
const OTHER_SYSTEM_MS = 60_000;
const HARD_RESETS_MAX = 2;

/** Boots a server into the rescue system, and verifies that it is there. */
export function createRescueTrip(parts: RobotParts, resets: Resets) {
  const { config, client, servers, claims, systems, clock, log } = parts;
  const addressFor = async (claim: Claim, how: Sending) =>
    addressOf(await servers.known(claim.server, how));

  async function arm(claim: Claim, change: Partial<ClaimValue>, how: Sending): Promise<Claim> {
    const { hostKeys } = await resets.arm(claim.server, how);
    return claims.change(claim, { ...change, rescueKeys: hostKeys, startedAtMs: null }, how);
  }

  /** Noted before the request, so that a later attempt waits instead of resetting again. */
  const noteReset = (
    claim: Claim,
    type: 'sw' | 'hw' | null,
    before: SystemReply | null,
    how: Sending,
  ) =>
    claims.change(
      claim,
      {
        resets: claim.resets + 1,
        hardResets: claim.hardResets + (type === 'hw' ? 1 : 0),
        resetAtMs: clock.now(),
        bootBefore: before && 'seen' in before ? before.seen.bootId : null,
      },
      how,
    );

  async function reset(claim: Claim, type: 'sw' | 'hw', before: SystemReply | null, how: Sending) {
    const noted = await noteReset(claim, type, before, how);
    await resets.press(type, { before: claim, noted }, how);
    return noted;
  }

  /** Only a system with our secret is told to reboot itself; its answer does not matter. */
  async function rebootBySelf(claim: Claim, before: SystemReply, how: Sending): Promise<Claim> {
    const noted = await noteReset(claim, null, before, how);
    const address = await addressFor(claim, how);
    if (address === null || before.kind !== 'system') return noted;
    try {
      await systems.run(address, before, rebootScript(), how.signal);
    } catch (error) {
      if (how.signal.aborted) throw error;
      const fields = { server: claim.server, cause: explain(error) };
      log.debug(fields, 'a system did not answer the request to reboot');
    }
    return noted;
  }

  /** Whether the reset has finally led elsewhere than to the rescue system. */
  async function isElsewhere(claim: Claim, answer: SystemReply, how: Sending): Promise<boolean> {
    const sinceMs = clock.now() - (claim.resetAtMs ?? -Infinity);
    if (sinceMs >= config.rescueTimeout) return true;
    const answers = answer.kind === 'system' || answer.kind === 'stranger';
    if (!answers || sinceMs < OTHER_SYSTEM_MS) return false;
    const { isArmed } = await client.rescue(claim.server, how);
    if (isArmed || answer.kind === 'system') return true;
    // A system on the disks also has a key unknown to Robot.
    const address = await addressFor(claim, how);
    const open = await systems.look(address, claim.witness, ANY_NEW_KEY, how.signal);
    if (open.kind !== 'rescue') return true;
    // The rescue system has booted with another key than Robot reported.
    const what = `the rescue system of server ${claim.server} shows a host key that Robot did not report`;
    log.error({ server: claim.server, alarm: 'rescue-host-key' }, what);
    throw new ProviderError('conflict', what, { outcome: 'unknown' });
  }

  async function sendAgain(claim: Claim, before: SystemReply, how: Sending): Promise<Claim> {
    if (claim.hardResets >= HARD_RESETS_MAX) {
      // The next attempt starts over.
      await claims.change(claim, { resets: 0, hardResets: 0, resetAtMs: null }, how);
      const what = `server ${claim.server} does not come up in the rescue system`;
      throw new ProviderError('transient', what, { outcome: 'unknown' });
    }
    const { name } = await servers.read(claim.server, how);
    if (isStrangers(name, config)) {
      const what = `server ${claim.server} was renamed to "${name}" in Robot, and is no longer reset`;
      throw new ProviderError('conflict', what, { outcome: 'unknown' });
    }
    return strike(claim, before, how);
  }

  async function strike(claim: Claim, before: SystemReply | null, how: Sending): Promise<Claim> {
    const type = await resets.choose(claim.server, ['hw'], how);
    return reset(await arm(claim, {}, how), type, before, how);
  }

  return {
    /**
     * Arms the rescue system and presses the button. @param before the system that answers now;
     * null: ignored.
     */
    strike,
    /**
     * Arms the rescue system and records in the claim that the server is on its way there, together
     * with `change`.
     */
    arm,
    /**
     * Sends the server there for the first time, as gently as possible. Resolves once that is
     * accepted.
     * @param secretHash of our system, if one may run: it identifies the system, which then shuts
     *   down cleanly.
     */
    async send(claim: Claim, secretHash: string | null, how: Sending): Promise<Claim> {
      const address = await addressFor(claim, how);
      const before = await systems.look(address, claim.witness, ANY_NEW_KEY, how.signal);
      const isProven =
        before.kind === 'system' && secretHash !== null && before.seen.secretHash === secretHash;
      if (isProven) return rebootBySelf(claim, before, how);
      return reset(claim, await resets.choose(claim.server, ['sw', 'hw'], how), before, how);
    },
    /**
     * Waits until the rescue system answers; sends the server there again if necessary.
     * @throws {ProviderError} `transient`, `outcome: 'unknown'`: it does not come up. `conflict`:
     *   its key is not the one that Robot reported.
     */
    async arrive(begun: Claim, how: Sending): Promise<Arrival> {
      let claim = begun;
      const address = await addressFor(claim, how);
      for (;;) {
        const sinceMs = clock.now() - (claim.resetAtMs ?? -Infinity);
        if (sinceMs < RESET_FLOOR_MS) {
          await pause(RESET_FLOOR_MS - sinceMs, how.signal);
          continue;
        }
        const answer = await lookFor(claim, address, how.signal);
        if (address !== null && hasArrived(claim, answer)) {
          if (answer.kind === 'rescue') tellUnprovenKey(claim, answer);
          return { claim, address, answer };
        }
        const mayStillInstall =
          claim.startedAtMs !== null && clock.now() - claim.startedAtMs < config.installTimeout;
        if (!mayStillInstall && (await isElsewhere(claim, answer, how))) {
          claim = await sendAgain(claim, answer, how);
        } else await pause(LOOK_GAP_MS, how.signal);
      }
    },
  };

  /**
   * If an installation has begun, the installed system may answer with an unknown key. A rescue
   * system must always have its known key.
   */
  async function lookFor(
    claim: Claim,
    address: string | null,
    signal: AbortSignal,
  ): Promise<SystemReply> {
    const rule = claim.startedAtMs === null ? rescueKeyRule(claim) : ANY_NEW_KEY;
    const answer = await systems.look(address, claim.witness, rule, signal);
    const isStranger = answer.kind === 'rescue' && !isRescueKey(claim, answer);
    return isStranger ? { kind: 'stranger' } : answer;
  }

  function tellUnprovenKey(claim: Claim, { fingerprint }: SystemAnswer<'rescue'>): void {
    if (claim.rescueKeys.length > 0) return;
    const fields = { server: claim.server, fingerprint };
    log.info(fields, 'Robot reported no host key of the rescue system; its own key is accepted');
  }

  function pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return sleep(clock, delayMs, signal).catch((cause: unknown) => {
      const what = 'cancelled while a server boots';
      throw new ProviderError('aborted', what, { cause, outcome: 'unknown' });
    });
  }
}
export type RescueTrip = ReturnType<typeof createRescueTrip>;

/**
 * True for the rescue system booted for this claim, or the system installed from it. False for a
 * system that has not shut down since the reset, and for a rescue system with another installation.
 */
function hasArrived(claim: Claim, answer: SystemReply): answer is Arrival['answer'] {
  if (!('seen' in answer)) return false;
  const { seen } = answer;
  if (claim.bootBefore !== null && seen.bootId === claim.bootBefore) return false;
  if (answer.kind === 'rescue') return seen.guard !== null || !seen.isOthers;
  return claim.order === 'create' && seen.installed?.witness === claim.witness;
}
