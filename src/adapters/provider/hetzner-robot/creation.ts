import { asUnknown } from '../../driver-kit/errors.ts';
import { ProviderError, explain, isProviderError } from '../../../domain/errors.ts';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { CallOptions, CreateRequest } from '../port.ts';
import type { Server } from './api.ts';
import type { Sending } from './client.ts';
import {
  shortWitness,
  isUnfinished,
  classifyName,
  isStrangers,
  ourName,
  serverOfSlot,
  witnessText,
} from './mapping.ts';
import { lastTouchedMs, newClaim, WAITING, type Claim, type Parts } from './parts.ts';
import type { Arrival, RescueTrip, Resets } from './rescue.ts';
import {
  ALREADY_BEGUN,
  NO_IMAGE,
  NO_INSTALLER,
  startScript,
  type Installation,
} from './scripts.ts';
import { isImageFile } from './settings.ts';
import { rescueKeyRule, ScriptFailed } from './systems.ts';

/** Contents of an installation order. */
export interface Order {
  readonly image: string | null;
  readonly tags: Tags;
  /** Secret. */
  readonly initCommand: string;
  readonly publicKey: string;
}

/**
 * Starts the installation in the rescue system, once. If it has already begun, its tags become the
 * machine's. Resolves with the claim in phase `installing`.
 * @throws {ProviderError} `invalid`: no installer, or no such image.
 */
export type Install = (arrival: Arrival, order: Order, how: Sending) => Promise<Claim>;

export function createInstall(parts: Parts): Install {
  const { config, claims, systems, clock } = parts;

  const installationOf = (claim: Claim, order: Order): Installation => ({
    witness: claim.witness,
    shortWitness: shortWitness(claim.witness),
    hostname: claim.hostname,
    image: imageOf(order.image, claim.server),
    drives: config.drives === 'all' ? 'all' : (config.drives[String(claim.server)] ?? 'all'),
    layout: config.layout ?? null,
    publicKey: order.publicKey,
    initCommand: order.initCommand,
    tags: order.tags,
  });

  const installing = (claim: Claim, tags: Tags, how: Sending) =>
    claims.change(claim, { phase: 'installing', tags, sinceMs: clock.now() }, how);

  /** Tags of an installation in the rescue system, or of its result; null if there is none. */
  function begunIn({ seen }: Arrival['answer']): Tags | null {
    if (seen.guard) return seen.guard.tags;
    return seen.installed?.tags ?? null;
  }

  /** The command may have run although its answer was lost. */
  async function lookAgain({ claim, address }: Arrival, cause: unknown, how: Sending) {
    const answer = await systems.look(address, claim.witness, rescueKeyRule(claim), how.signal);
    const tags = answer.kind === 'rescue' ? answer.seen.guard?.tags : undefined;
    if (tags) return tags;
    throw new ProviderError('transient', 'an installation may have begun', {
      cause,
      outcome: 'unknown',
    });
  }

  return async ({ claim, address, answer }, order, how) => {
    const begun = answer.kind === 'system' || answer.seen.guard ? begunIn(answer) : null;
    if (begun) return installing(claim, begun, how);
    const noted = await claims.change(claim, { startedAtMs: clock.now() }, how);
    const script = startScript(installationOf(noted, order));
    try {
      await systems.run(address, answer, script, how.signal);
    } catch (error) {
      if (error instanceof ScriptFailed && error.exitCode !== ALREADY_BEGUN) {
        throw refusalOf(error, claim.server);
      }
      if (how.signal.aborted) throw error;
      return installing(noted, await lookAgain({ claim: noted, address, answer }, error, how), how);
    }
    return installing(noted, order.tags, how);
  };

  function imageOf(image: string | null, server: number): Installation['image'] {
    if (image !== null && isImageFile(image)) return { file: image };
    if (image === null && config.imageUrl !== undefined) return { url: config.imageUrl };
    throw new ProviderError('invalid', `server ${server} cannot be installed: no image is given`);
  }
}

/** Quotes only names of existing files from the script's output. */
function refusalOf(error: ScriptFailed, server: number): ProviderError {
  const isNamed = error.exitCode === NO_INSTALLER || error.exitCode === NO_IMAGE;
  if (!isNamed) {
    const what = `the installation of server ${server} did not start: status ${error.exitCode}`;
    return new ProviderError('transient', what, { outcome: 'unknown' });
  }
  const told = error.stderr.replace(/\s+/g, ' ').slice(0, 1_000);
  return new ProviderError('invalid', `server ${server} cannot be installed: ${told.trim()}`);
}

const HOUR_MS = 3_600_000;
const NEW_MS = 1_000;

/**
 * Takes a free server and has it installed, or continues an earlier attempt from its claim.
 * Resolves with the claim once the installation runs.
 */
export function createCreation(
  parts: Parts,
  {
    trip,
    resets,
    install,
  }: { readonly trip: RescueTrip; readonly resets: Resets; readonly install: Install },
) {
  const { config, servers, claims, clock, log, locks } = parts;

  function serverOf({ unused }: CreateRequest): number {
    const server = serverOfSlot(unused.reservationId ?? '');
    const isOffered = !config.servers || (server !== null && config.servers.includes(server));
    if (server !== null && isOffered && unused.availability === 'KnownUnused') return server;
    throw new ProviderError('invalid', 'a creation needs a free server of this provider');
  }

  /** @throws {ProviderError} `race-lost`: another claim has it. `invalid`: not installable. */
  function requireUsable(server: Server, mayBe: string | null): void {
    const { number, name } = server;
    const isFree = classifyName(name, config).kind === 'free' || name === mayBe;
    if (!isFree) throw new ProviderError('race-lost', `server ${number} is no longer free`);
    const fault =
      (server.isCancelled && 'it is cancelled') ||
      (!server.isReady && 'it is not ready') ||
      (server.canReset === false && 'it cannot be reset') ||
      (server.canRescue === false && 'it has no rescue system');
    if (fault) throw new ProviderError('invalid', `server ${number} is unusable: ${fault}`);
  }

  /** A claim whose creation was abandoned long ago does not block the server. */
  const isDead = (claim: Claim): boolean =>
    isUnfinished(claim) && clock.now() - lastTouchedMs(claim) > HOUR_MS;

  async function claimIt(server: number, request: CreateRequest, how: CallOptions): Promise<Claim> {
    const { operationId: witness } = how;
    const found = await claims.of(server, how);
    if (found?.witness === witness) return found;
    if (found && !isDead(found)) {
      throw new ProviderError('race-lost', `another creation has taken server ${server}`);
    }
    const now = await readOffered(server, how);
    const deadName = found && ourName(config, found.witness);
    requireUsable(now, deadName);
    await request.onAttempt({ attempts: 1, ambiguous: request.resumed });
    if (how.signal.aborted) throw new ProviderError('aborted', 'cancelled before the first step');
    if (found && now.name === deadName) await servers.rename(server, found.oldName, how);
    const value = newClaim({
      ...{ set: config.instanceSetId, witness, phase: 'claimed', sinceMs: clock.now() },
      ...{ tags: { ...request.tags }, hostname: request.hostname },
      oldName: found?.oldName ?? now.name,
    });
    return found ? claims.change(found, value, how) : claims.make(server, value, how);
  }

  async function readOffered(server: number, how: Sending): Promise<Server> {
    try {
      return await servers.read(server, how);
    } catch (cause) {
      if (!isProviderError(cause, 'not-found')) throw cause;
      throw new ProviderError('race-lost', `server ${server} is gone`, { cause });
    }
  }

  /** The name is the mark: a server without it is never changed. */
  async function takeName(claim: Claim, how: Sending): Promise<void> {
    const wanted = ourName(config, claim.witness);
    // A new claim's creation read the server a moment ago; a resumed one reads again.
    const isNew = clock.now() - claim.sinceMs < NEW_MS;
    const before = isNew
      ? await servers.get(claim.server, how)
      : await servers.read(claim.server, how);
    if (before.name === wanted) return;
    if (before.name !== claim.oldName) await loseTo(claim, before.name, how);
    let now = await servers.rename(claim.server, wanted, how);
    if (now.name !== wanted) now = await servers.read(claim.server, how);
    if (now.name === wanted) return;
    if (now.name === claim.oldName) {
      const what = `server ${claim.server} still has its old name`;
      throw new ProviderError('transient', what);
    }
    if (!wanted.startsWith(now.name) || now.name === '') await loseTo(claim, now.name, how);
    await restoreName(claim, how);
    await claims.drop(claim, how);
    const what = `Robot shows another name of server ${claim.server} than the one given`;
    throw new FinalError('invalid', what);
  }

  /** One of our names without a claim would be a machine with nothing else known about it. */
  async function restoreName({ server, oldName }: Claim, how: Sending): Promise<void> {
    const { name } = await servers.rename(server, oldName, how);
    if (name === oldName || (await servers.read(server, how)).name === oldName) return;
    const what = `server ${server} does not have its old name again`;
    throw new ProviderError('transient', what, { outcome: 'unknown' });
  }

  /** Whoever renamed the server meanwhile has taken it. */
  async function keepName(claim: Claim, how: Sending): Promise<void> {
    const { name } = await servers.read(claim.server, how);
    if (isStrangers(name, config)) await loseTo(claim, name, how);
    const wanted = ourName(config, claim.witness);
    if (name !== wanted) await servers.rename(claim.server, wanted, how);
  }

  async function loseTo(claim: Claim, name: string, how: Sending): Promise<never> {
    await claims.drop(claim, how);
    log.warn({ server: claim.server, name }, 'somebody else took a server');
    throw new FinalError('race-lost', `somebody else has renamed server ${claim.server}`);
  }

  /**
   * Returns a server that cannot be installed to its former state; if that fails, the next attempt
   * continues.
   */
  async function undo(claim: Claim, how: Sending): Promise<boolean> {
    try {
      await resets.disarm(claim.server, how);
      await restoreName(claim, how);
      await claims.drop(claim, how);
      return true;
    } catch (error) {
      const fields = { server: claim.server, cause: explain(error) };
      log.warn(fields, 'an unusable server was not given back yet');
      return false;
    }
  }

  async function goOn(begun: Claim, request: CreateRequest, how: CallOptions): Promise<Claim> {
    let claim = begun;
    if (claim.phase === 'claimed') {
      await takeName(claim, how);
      claim = await trip.arm(claim, { phase: 'rescue', sinceMs: clock.now() }, how);
    } else await keepName(claim, how);
    // A server on its way is awaited, and sent again if it does not arrive.
    if (claim.resetAtMs === null) {
      const armed = begun.phase === 'claimed' ? claim : await trip.arm(claim, {}, how);
      claim = await trip.send(armed, null, how);
    }
    const arrival = await trip.arrive(claim, how);
    claim = arrival.claim;
    await keepName(claim, how);
    try {
      return await install(arrival, request, how);
    } catch (error) {
      if (!isProviderError(error, 'invalid')) throw error;
      const current = (await claims.of(claim.server, how)) ?? claim;
      if (await undo(current, how))
        throw new FinalError('invalid', error.message, { cause: error });
      throw error;
    }
  }

  return async (request: CreateRequest, how: CallOptions): Promise<Claim> => {
    witnessText(how.operationId);
    const server = serverOf(request);
    const task = async () => {
      const claim = await claimIt(server, request, how);
      if (claim.phase === 'leaving' || claim.phase === 'wiped') {
        throw new ProviderError('race-lost', `server ${server} is being given back`);
      }
      if (!isUnfinished(claim)) return claim;
      return goOn(claim, request, how).catch((error: unknown) => {
        throw error instanceof FinalError ? error : asUnknown(error);
      });
    };
    return locks.alone(String(server), how.signal, { what: WAITING, task });
  };
}

/** The server is as it was before. */
class FinalError extends ProviderError {}
