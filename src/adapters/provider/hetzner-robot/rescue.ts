import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import { sleep } from '../../clock/port.ts';
import { isLost } from '../../driver-kit/errors.ts';
import type { Rescue } from './api.ts';
import type { ResetType, Sending } from './client.ts';
import { addressOf, isStrangers } from './mapping.ts';
import { LOOK_GAP_MS, RESET_FLOOR_MS, type Claim, type Parts, type ClaimValue } from './parts.ts';
import { rebootScript } from './scripts.ts';
import {
  ANY_NEW_KEY,
  isRescueKey,
  rescueKeyRule,
  type Answer,
  type SystemAnswer,
} from './systems.ts';

/** The rescue system that the next boot goes to, and the button. */
export function createResets({
  client,
  ourKey,
  claims,
  log,
}: Pick<Parts, 'client' | 'ourKey' | 'claims' | 'log'>) {
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
    log.warn(fields, 'a stock installation that was ordered in Robot is taken back before a reset');
    await client.disarmLinux(server, how);
  }

  return {
    /**
     * Arms the rescue system with our key alone; what was armed before, perhaps with an older key, is
     * disarmed first.
     */
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
      const what = `the rescue system of server ${server} is not armed, though Robot said so`;
      throw new ProviderError('transient', what);
    },
    /**
     * A reboot must lead to the system on the disks, unless somebody is about to use the rescue system; it
     * must begin no installation that was ordered by hand.
     * @throws {ProviderError} `conflict`: one is armed that cannot be taken back from here.
     */
    async disarm(server: number, how: Sending): Promise<void> {
      try {
        await disarm(server, how);
      } catch (error) {
        // A server without a rescue system cannot be sent there.
        if (!isProviderError(error, 'not-implemented')) throw error;
      }
    },
    /**
     * Presses the button. The claim says so already, so that a later life waits; where Robot surely did not
     * press it, the claim is put back to how it was.
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
    /** The first of these types that the server has. @throws {ProviderError} `not-implemented`. */
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
  /** A system that was installed by this very claim counts too: nothing is to be done any more. */
  readonly answer: SystemAnswer<'rescue'> | SystemAnswer<'system'>;
}

/** Another system that answers so long after a reset is no rescue system that is coming up. */
const OTHER_SYSTEM_MS = 60_000;
const HARD_RESETS_MAX = 2;

/** How a server gets into the rescue system, and how one knows that it is there. */
export function createRescueTrip(parts: Parts, resets: Resets) {
  const { config, client, servers, claims, systems, clock, log } = parts;
  const addressFor = async (claim: Claim, how: Sending) =>
    addressOf(await servers.known(claim.server, how));

  async function arm(claim: Claim, change: Partial<ClaimValue>, how: Sending): Promise<Claim> {
    const { hostKeys } = await resets.arm(claim.server, how);
    return claims.change(claim, { ...change, rescueKeys: hostKeys, startedAtMs: null }, how);
  }

  /** Noted before it is asked for, so that a later life waits instead of asking again. */
  const noteReset = (claim: Claim, type: 'sw' | 'hw' | null, before: Answer | null, how: Sending) =>
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

  async function reset(claim: Claim, type: 'sw' | 'hw', before: Answer | null, how: Sending) {
    const noted = await noteReset(claim, type, before, how);
    await resets.press(type, { before: claim, noted }, how);
    return noted;
  }

  /** Only the system that has our secret is asked to end by itself; what it answers is of no account. */
  async function rebootBySelf(claim: Claim, before: Answer, how: Sending): Promise<Claim> {
    const noted = await noteReset(claim, null, before, how);
    const address = await addressFor(claim, how);
    if (address === null || before.kind !== 'system') return noted;
    try {
      await systems.run(address, before, rebootScript(), how.signal);
    } catch (error) {
      if (how.signal.aborted) throw error;
      const fields = { server: claim.server, cause: explain(error) };
      log.debug(fields, 'a system was asked to reboot and did not answer');
    }
    return noted;
  }

  /** Whether the reset led somewhere else for good, or can still lead to the rescue system. */
  async function isElsewhere(claim: Claim, answer: Answer, how: Sending): Promise<boolean> {
    const sinceMs = clock.now() - (claim.resetAtMs ?? -Infinity);
    if (sinceMs >= config.rescueTimeout) return true;
    const answers = answer.kind === 'system' || answer.kind === 'stranger';
    if (!answers || sinceMs < OTHER_SYSTEM_MS) return false;
    const { isArmed } = await client.rescue(claim.server, how);
    if (isArmed || answer.kind === 'system') return true;
    // A system on the disks has a key that Robot knows nothing of, too.
    const address = await addressFor(claim, how);
    const open = await systems.look(address, claim.witness, ANY_NEW_KEY, how.signal);
    if (open.kind !== 'rescue') return true;
    // The rescue system has booted, and shows another key than Robot told.
    const what = `the rescue system of server ${claim.server} shows a host key that Robot did not tell`;
    log.error({ server: claim.server, alarm: 'rescue-host-key' }, what);
    throw new ProviderError('conflict', what, { outcome: 'unknown' });
  }

  async function sendAgain(claim: Claim, before: Answer, how: Sending): Promise<Claim> {
    if (claim.hardResets >= HARD_RESETS_MAX) {
      // The next attempt begins anew.
      await claims.change(claim, { resets: 0, hardResets: 0, resetAtMs: null }, how);
      const what = `server ${claim.server} does not come up in the rescue system`;
      throw new ProviderError('transient', what, { outcome: 'unknown' });
    }
    const { name } = await servers.read(claim.server, how);
    if (isStrangers(name, config)) {
      const what = `server ${claim.server} was given the name "${name}" in Robot, and is not reset any more`;
      throw new ProviderError('conflict', what, { outcome: 'unknown' });
    }
    return strike(claim, before, how);
  }

  async function strike(claim: Claim, before: Answer | null, how: Sending): Promise<Claim> {
    const type = await resets.choose(claim.server, ['hw'], how);
    return reset(await arm(claim, {}, how), type, before, how);
  }

  return {
    /** Arms the rescue system and presses the button. @param before what answers now; null: of no account. */
    strike,
    /**
     * Arms the rescue system and remembers in the claim that it is on its way there; `change` is written
     * with it.
     */
    arm,
    /**
     * Sends the server there, for the first time: as gently as it can be. Resolves once that is accepted.
     * @param secretHash of our system, if one may be there: it proves itself by that, and ends cleanly.
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
     * Waits until the rescue system answers, and sends the server there again if that does not help.
     * @throws {ProviderError} `transient`, `outcome: 'unknown'`: it does not come up. `conflict`: the key
     *   that it shows is not the one that Robot told.
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
   * Where an installation was begun, the system that came of it may answer, with a key that nobody knows
   * yet. A rescue system is always held to its key.
   */
  async function lookFor(
    claim: Claim,
    address: string | null,
    signal: AbortSignal,
  ): Promise<Answer> {
    const rule = claim.startedAtMs === null ? rescueKeyRule(claim) : ANY_NEW_KEY;
    const answer = await systems.look(address, claim.witness, rule, signal);
    const isStranger = answer.kind === 'rescue' && !isRescueKey(claim, answer);
    return isStranger ? { kind: 'stranger' } : answer;
  }

  function tellUnprovenKey(claim: Claim, { fingerprint }: SystemAnswer<'rescue'>): void {
    if (claim.rescueKeys.length > 0) return;
    const fields = { server: claim.server, fingerprint };
    log.info(fields, 'Robot told no host key of the rescue system; the one that it shows is taken');
  }

  function pause(delayMs: number, signal: AbortSignal): Promise<void> {
    return sleep(clock, delayMs, signal).catch((cause: unknown) => {
      const what = 'called off while a server boots';
      throw new ProviderError('aborted', what, { cause, outcome: 'unknown' });
    });
  }
}
export type RescueTrip = ReturnType<typeof createRescueTrip>;

/**
 * The rescue system that was booted for this claim, or what was installed from it. What answered before the
 * reset has not gone yet, and so has a rescue system in which somebody else's installation was begun.
 */
function hasArrived(claim: Claim, answer: Answer): answer is Arrival['answer'] {
  if (!('seen' in answer)) return false;
  const { seen } = answer;
  if (claim.bootBefore !== null && seen.bootId === claim.bootBefore) return false;
  if (answer.kind === 'rescue') return seen.guard !== null || !seen.isOthers;
  return claim.order === 'create' && seen.installed?.witness === claim.witness;
}
