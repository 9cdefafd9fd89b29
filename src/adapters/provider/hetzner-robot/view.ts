import { ProviderError } from '../../../domain/errors.ts';
import { createNews } from '../../log/port.ts';
import type { DriverListing, DriverMachine } from '../port.ts';
import type { Claim, Claims } from './claims.ts';
import type { Sending } from './client/client.ts';
import type { Server } from './client/schema.ts';
import type { Parts } from './deps.ts';
import { countStandings, isAnothers, standingOf, toListing, toMachine } from './mapping.ts';
import { classifyName, ourName, serverOfId } from './names.ts';

/** A machine of ours as an order finds it. */
export interface Found {
  readonly server: Server;
  /** Null: only the name says that it is ours. */
  readonly claim: Claim | null;
}

/** What the fleet is shown. */
export interface Showing {
  list(how: Sending): Promise<DriverListing>;
  /** @throws {ProviderError} `not-found`. */
  get(id: string, how: Sending): Promise<DriverMachine>;
  /** @throws {ProviderError} `not-found`. `conflict`: it is another set's. */
  find(id: string, how: Sending): Promise<Found>;
  /** As it is after a change of ours. @throws {ProviderError} `permanent`: it is no machine. */
  show(claim: Claim, how: Sending): Promise<DriverMachine>;
  /** By the claim and the name, both read anew. @throws {ProviderError} `race-lost`. */
  byWitness(witness: string, server: number, how: Sending): Promise<DriverMachine | null>;
}

export function createShowing(
  parts: Pick<Parts, 'config' | 'servers' | 'claims' | 'log'>,
): Showing {
  const { config, servers, claims, log } = parts;
  const tellNews = createNews(log);
  const tell = (counts: object): void =>
    tellNews(config.name, { provider: config.name, ...counts }, 'servers of the account');

  /** Only names that are not as they should be are worth a word. */
  function tellNames(list: readonly Server[], { ours }: Claims): void {
    for (const { number, isCancelled, paidUntil } of list) {
      const claim = ours.get(number);
      if (claim && isCancelled) tellCancelled(number, paidUntil);
    }
  }

  const cancelledTold = new Set<string>();
  function tellCancelled(server: number, paidUntil: string | null): void {
    const key = `${server} ${paidUntil}`;
    if (cancelledTold.has(key)) return;
    cancelledTold.add(key);
    log.warn({ provider: config.name, server, paidUntil }, 'a server of ours is cancelled');
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
    async list(how) {
      const list = await servers.list(how);
      const all = await claims.all(how);
      tell(countStandings(list, all, config));
      tellNames(list.servers, all);
      return toListing(list, all, config);
    },
    async get(id, how) {
      const { server, all } = await seen(id, how);
      return toMachine(server, all, config)!;
    },
    async find(id, how) {
      const { server, claim, all } = await seen(id, how);
      if (!isAnothers(server, all, config)) return { server, claim };
      const { number, name } = server;
      const what = `server ${number}, called "${name}" in Robot, is claimed by another set or was given a name that is none of this set; nothing is done to it`;
      throw new ProviderError('conflict', what);
    },
    async show(claim, how) {
      const server = await servers.get(claim.server, how);
      const all = { ours: new Map([[claim.server, claim]]), untouchable: new Set<number>() };
      const machine = toMachine(server, all, config);
      if (machine) return machine;
      throw new ProviderError('permanent', `server ${claim.server} is no machine`, {
        outcome: 'unknown',
      });
    },
    async byWitness(witness, number, how) {
      const all = await claims.all(how);
      const server = await servers.read(number, how);
      const claim = all.ours.get(number);
      if (all.untouchable.has(number) || (claim && claim.witness !== witness)) {
        throw new ProviderError('race-lost', `server ${number} is taken by another creation`);
      }
      const standing = standingOf(server, all, config);
      // A creation that has not come to its installation is taken up, and not found.
      if (standing === 'free' || standing === 'unfinished') return null;
      const { kind } = classifyName(server.name, config);
      const isOurs = claim ? standing === 'machine' : server.name === ourName(config, witness);
      if (isOurs) return toMachine(server, all, config);
      if (kind === 'ours' || kind === 'other') {
        throw new ProviderError('race-lost', `server ${number} is taken by another creation`);
      }
      return null;
    },
  };
}
