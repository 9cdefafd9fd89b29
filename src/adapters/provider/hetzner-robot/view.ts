import { ProviderError, explain } from '../../../domain/errors.ts';
import { SECRET_TAG } from '../../../domain/provisioning/provider-tags.ts';
import { createNews } from '../../log/port.ts';
import type { DriverListing, DriverMachine } from '../port.ts';
import type { Server } from './api.ts';
import type { Sending } from './client.ts';
import {
  countStandings,
  isAnothers,
  standingOf,
  toListing,
  toMachine,
  classifyName,
  ourName,
  serverOfId,
  addressOf,
  isUnfinished,
  shortWitness,
} from './mapping.ts';
import { lastTouchedMs, NO_RESETS, WAITING, type Claim, type Claims, type Parts } from './parts.ts';
import { logScript } from './scripts.ts';
import { ANY_NEW_KEY, isRescueKey, type Answer, type SystemAnswer } from './systems.ts';

/** Our machine as an order finds it. */
export interface Found {
  readonly server: Server;
  /** Null: only the name says that it is ours. */
  readonly claim: Claim | null;
}

/** What the fleet sees. */
export function createShowing(parts: Pick<Parts, 'config' | 'servers' | 'claims' | 'log'>) {
  const { config, servers, claims, log } = parts;
  const tellNews = createNews(log);
  const tell = (counts: object): void =>
    tellNews(config.name, { ...counts }, 'servers of the account');

  const cancelledTold = new Set<string>();
  function tellCancelled(list: readonly Server[], { ours }: Claims): void {
    for (const { number: server, isCancelled, paidUntil } of list) {
      const key = `${server} ${paidUntil}`;
      if (!isCancelled || !ours.has(server) || cancelledTold.has(key)) continue;
      cancelledTold.add(key);
      log.warn({ server, paidUntil }, 'a server of ours was cancelled');
    }
  }

  async function seen(id: string, how: Sending): Promise<Found & { readonly all: Claims }> {
    const number = serverOfId(id);
    if (number === null) throw new ProviderError('not-found', `there is no machine ${id}`);
    const all = await claims.all(how);
    const server = await servers.get(number, how);
    if (toMachine(server, all, config)?.id === id) {
      return { server, claim: all.ours.get(number) ?? null, all };
    }
    throw new ProviderError('not-found', `there is no machine ${id}`);
  }

  return {
    async list(how: Sending): Promise<DriverListing> {
      const list = await servers.list(how);
      const all = await claims.all(how);
      tell(countStandings(list, all, config));
      tellCancelled(list.servers, all);
      return toListing(list, all, config);
    },
    /** @throws {ProviderError} `not-found`. */
    async get(id: string, how: Sending): Promise<DriverMachine> {
      const { server, all } = await seen(id, how);
      return toMachine(server, all, config)!;
    },
    /** @throws {ProviderError} `not-found`. `conflict`: it belongs to another set. */
    async find(id: string, how: Sending): Promise<Found> {
      const { server, claim, all } = await seen(id, how);
      if (!isAnothers(server, all, config)) return { server, claim };
      const { number, name } = server;
      const what = `server ${number}, named "${name}" in Robot, is claimed by another set, or its name does not belong to this set; nothing is done to it`;
      throw new ProviderError('conflict', what);
    },
    /** The machine after our change. @throws {ProviderError} `permanent`: it is no machine. */
    async show(claim: Claim, how: Sending): Promise<DriverMachine> {
      const server = await servers.get(claim.server, how);
      const all = { ours: new Map([[claim.server, claim]]), untouchable: new Set<number>() };
      const machine = toMachine(server, all, config);
      if (machine) return machine;
      throw new ProviderError('permanent', `server ${claim.server} is not a machine`, {
        outcome: 'unknown',
      });
    },
    /** Reads claim and name again. @throws {ProviderError} `race-lost`. */
    async byWitness(witness: string, number: number, how: Sending): Promise<DriverMachine | null> {
      const all = await claims.all(how);
      const server = await servers.read(number, how);
      const claim = all.ours.get(number);
      if (all.untouchable.has(number) || (claim && claim.witness !== witness)) {
        throw new ProviderError('race-lost', `another creation has taken server ${number}`);
      }
      const standing = standingOf(server, all, config);
      // A creation before its installation is resumed, not found.
      if (standing === 'free' || standing === 'unfinished') return null;
      const { kind } = classifyName(server.name, config);
      const isOurs = claim ? standing === 'machine' : server.name === ourName(config, witness);
      if (isOurs) return toMachine(server, all, config);
      if (kind === 'ours' || kind === 'other') {
        throw new ProviderError('race-lost', `another creation has taken server ${number}`);
      }
      return null;
    },
  };
}
export type Showing = ReturnType<typeof createShowing>;

const GAP_MS = 60_000;
const AT_ONCE = 8;
/** Anything in an installer's output that may be a secret. */
const SECRET = /[0-9a-f]{32,}/gi;

/** Checks installations periodically, whichever daemon began them. */
export function createWatch(parts: Parts, lifetime: AbortSignal) {
  const { config, servers, claims, systems, clock, log, locks } = parts;
  const renamed = new Set<string>();
  let timer: unknown;
  let hasBegun = false;

  async function round(signal: AbortSignal): Promise<void> {
    try {
      const all = [...(await claims.all({ signal })).ours.values()];
      const watched = all.filter(({ phase }) => phase === 'installing');
      for (let at = 0; at < watched.length; at += AT_ONCE) {
        await Promise.all(watched.slice(at, at + AT_ONCE).map((claim) => quietly(claim, signal)));
      }
      for (const claim of all.filter(isLeftBehind)) await quietly(claim, signal, letGo);
      if (all.length > 0) await mendNames(all, signal);
    } catch (error) {
      if (signal.aborted) return;
      log.debug({ cause: explain(error) }, 'a round of checks failed');
    }
  }

  /**
   * A reinstallation whose daemon is gone: another daemon does not know the first-boot script, so
   * only a new order can continue.
   */
  function isLeftBehind(claim: Claim): boolean {
    const { order, phase } = claim;
    if (order !== 'reinstall' || phase !== 'rescue' || claim.resetAtMs === null) return false;
    const patienceMs =
      claim.startedAtMs === null ? 2 * config.rescueTimeout : config.installTimeout;
    return clock.now() - lastTouchedMs(claim) >= patienceMs;
  }

  /** From then on its state is shown as unknown, so that the next order is possible. */
  async function letGo(claim: Claim, signal: AbortSignal): Promise<void> {
    await claims.change(claim, NO_RESETS, { signal });
    log.warn({ server: claim.server }, 'a reinstallation was abandoned by a daemon that is gone');
  }

  async function quietly(
    claim: Claim,
    signal: AbortSignal,
    work: (claim: Claim, signal: AbortSignal) => Promise<unknown> = look,
  ): Promise<void> {
    try {
      await work(claim, signal);
    } catch (error) {
      if (signal.aborted) return;
      // Another daemon was faster, or the next round will succeed.
      const fields = { server: claim.server, cause: explain(error) };
      log.debug(fields, 'an installation cannot be checked now');
    }
  }

  async function look(claim: Claim, signal: AbortSignal): Promise<Claim> {
    const how = { signal };
    const address = addressOf(await servers.known(claim.server, how));
    const answer = await systems.look(address, claim.witness, ANY_NEW_KEY, signal);
    if (isInstalled(claim, answer)) {
      const systemKey = answer.fingerprint;
      const change = { phase: 'ready', systemKey, sinceMs: clock.now() } as const;
      const ready = await claims.change(claim, change, how);
      log.info({ server: claim.server }, 'a server is installed');
      return ready;
    }
    const isRescue = answer.kind === 'rescue' && isRescueKey(claim, answer);
    const hasFailed = isRescue && answer.seen.guard?.ended === 'failed';
    if (!hasFailed && clock.now() - claim.sinceMs < config.installTimeout) return claim;
    const told = isRescue && address !== null ? await logOf(claim, address, answer, signal) : [];
    const failed = await claims.change(claim, { phase: 'failed', sinceMs: clock.now() }, how);
    const fields = { server: claim.server, alarm: 'installation-failed', lines: told };
    log.error(fields, 'the installation of a server failed');
    return failed;
  }

  /** Checks the hostname and the data left on disk, because the old system may still answer. */
  function isInstalled(claim: Claim, answer: Answer): answer is SystemAnswer<'system'> {
    if (answer.kind !== 'system' || answer.seen.hostname !== claim.hostname) return false;
    const { installed } = answer.seen;
    if (installed?.witness !== claim.witness) return false;
    return Object.entries(installed.tags).every(
      ([key, value]) => key !== SECRET_TAG || claim.tags[key] === value,
    );
  }

  async function logOf(
    claim: Claim,
    address: string,
    answer: SystemAnswer<'rescue'>,
    signal: AbortSignal,
  ): Promise<string[]> {
    try {
      const script = logScript(shortWitness(claim.witness));
      const text = await systems.run(address, answer, script, signal);
      return text
        .split('\n')
        .slice(-50)
        .map((line) => line.replace(SECRET, '[redacted]').slice(0, 300));
    } catch (error) {
      if (signal.aborted) throw error;
      return [`the log cannot be read: ${explain(error)}`];
    }
  }

  /** Sets a cleared or reset name at Robot again, once; leaves another owner's name alone. */
  async function mendNames(all: readonly Claim[], signal: AbortSignal): Promise<void> {
    const { servers: list } = await servers.list({ signal });
    const byNumber = new Map(list.map((server) => [server.number, server]));
    for (const claim of all) {
      if (!isNamed(claim)) continue;
      const name = byNumber.get(claim.server)?.name;
      const wanted = ourName(config, claim.witness);
      const key = `${claim.server} ${name}`;
      if (name === undefined || name === wanted || renamed.has(key)) continue;
      renamed.add(key);
      const fields = { server: claim.server, name };
      log.warn(fields, 'a server of ours has another name than the one given');
      const { kind } = classifyName(name, config);
      if (kind !== 'free' && name !== '') continue;
      await renameAgain(claim, name, signal);
    }
  }

  /** A running creation checks its own name; a disputed server is not ours to name. */
  const isNamed = (claim: Claim): boolean =>
    ['rescue', 'installing', 'ready', 'failed'].includes(claim.phase) &&
    !isUnfinished(claim) &&
    (!config.servers || config.servers.includes(claim.server));

  /** Checks again, because the server may have been given back meanwhile, and be free. */
  async function renameAgain(known: Claim, name: string, signal: AbortSignal): Promise<void> {
    const { server } = known;
    const task = async () => {
      const claim = await claims.of(server, { signal });
      if (claim?.witness !== known.witness || !isNamed(claim)) return;
      if ((await servers.read(server, { signal })).name !== name) return;
      await servers.rename(server, ourName(config, claim.witness), { signal });
    };
    await locks.alone(String(server), signal, { what: WAITING, task });
  }

  function next(): void {
    timer = clock.setTimeout(() => {
      void round(lifetime).finally(() => {
        if (!lifetime.aborted) next();
      });
    }, GAP_MS);
  }

  return {
    /** Checks an installation once; returns the claim as it is afterwards. */
    look,
    /** One round. Never rejects. */
    round,
    /** Starts the rounds with the provider's first call; later calls do nothing. */
    begin(): void {
      if (hasBegun || lifetime.aborted) return;
      hasBegun = true;
      next();
    },
    stop: (): void => clock.clearTimeout(timer),
  };
}
