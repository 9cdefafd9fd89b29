import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Claim } from './claims.ts';
import type { ResetType, Sending } from './client/client.ts';
import type { Rescue } from './client/schema.ts';
import type { Parts } from './deps.ts';

/** The rescue system that the next boot goes to, and the button. */
export interface Resets {
  /**
   * Arms the rescue system with our key alone; what was armed before, perhaps with an older key, is
   * disarmed first.
   */
  arm(server: number, how: Sending): Promise<Rescue>;
  /**
   * A reboot must lead to the system on the disks, unless somebody is about to use the rescue system; it
   * must begin no installation that was ordered by hand.
   * @throws {ProviderError} `conflict`: one is armed that cannot be taken back from here.
   */
  disarm(server: number, how: Sending): Promise<void>;
  /**
   * Presses the button. The claim says so already, so that a later life waits; where Robot surely did not
   * press it, the claim is put back to how it was.
   */
  press(
    type: ResetType,
    claim: { readonly before: Claim; readonly noted: Claim },
    how: Sending,
  ): Promise<void>;
  /** The first of these types that the server has. @throws {ProviderError} `not-implemented`. */
  choose<Type extends ResetType>(
    server: number,
    wanted: readonly Type[],
    how: Sending,
  ): Promise<Type>;
}

export function createResets({
  client,
  ourKey,
  claims,
  config,
  log,
}: Pick<Parts, 'client' | 'ourKey' | 'claims' | 'config' | 'log'>): Resets {
  async function disarm(server: number, how: Sending): Promise<void> {
    const { isRescueArmed, others } = await client.bootState(server, how);
    const strange = others.filter((kind) => kind !== 'linux');
    if (strange.length > 0) {
      const what = `server ${server} would begin an installation that somebody ordered in Robot (${strange.join(', ')}); it is not reset until that is taken back there`;
      throw new ProviderError('conflict', what);
    }
    if (isRescueArmed) await client.disarmRescue(server, how);
    if (others.length === 0) return;
    const fields = { provider: config.name, server };
    log.warn(fields, 'a stock installation that was ordered in Robot is taken back before a reset');
    await client.disarmLinux(server, how);
  }

  return {
    async arm(server, how) {
      const key = await ourKey.ensure(how);
      await disarm(server, how);
      try {
        const armed = await client.armRescue(server, [key], how);
        if (armed.isArmed) return armed;
      } catch (error) {
        const mayBe =
          isProviderError(error, 'conflict') ||
          (isProviderError(error) && error.outcome === 'unknown');
        if (!mayBe) throw error;
        const now = await client.rescue(server, how);
        if (now.isArmed && now.keys.includes(key)) return now;
        throw error;
      }
      const what = `the rescue system of server ${server} is not armed, though Robot said so`;
      throw new ProviderError('transient', what);
    },
    async disarm(server, how) {
      try {
        await disarm(server, how);
      } catch (error) {
        // A server without a rescue system cannot be sent there.
        if (!isProviderError(error, 'not-implemented')) throw error;
      }
    },
    async press(type, { before, noted }, how) {
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
          const fields = { provider: config.name, server: noted.server, cause: explain(error) };
          log.debug(fields, 'a reset that was not sent stays counted');
        });
      }
    },
    async choose(server, wanted, how) {
      const { types } = await client.resetOptions(server, how);
      const found = wanted.find((type) => types.includes(type));
      if (found !== undefined) return found;
      const what = `server ${server} cannot be reset by ${wanted.join(' or ')}`;
      throw new ProviderError('not-implemented', what);
    },
  };
}
