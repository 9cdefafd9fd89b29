import type { SessionId } from '../../../src/domain/ids.ts';
import type { ListingRepository } from '../../../src/adapters/bmdb/port.ts';
import type { Memory } from './tables.ts';

/** See `ListingRepository`. */
export const createListingRepository = (memory: Memory): ListingRepository => {
  const isAlive = (id: SessionId) =>
    (memory.sessions.get(id)?.deadlineMs ?? -Infinity) > memory.now();
  /** Removes the listings that dead daemons stored about a provider. */
  const takeDead = (provider: string) => {
    const dead = memory.unlisted.filter(
      (each) => each.provider === provider && !isAlive(each.sessionId),
    );
    memory.unlisted = memory.unlisted.filter((each) => !dead.includes(each));
    return dead;
  };
  return {
    failed: async ({ provider, sessionId, cause }) => {
      const isMine = (each: { readonly provider: string; readonly sessionId: SessionId }) =>
        each.provider === provider && each.sessionId === sessionId;
      const mine = memory.unlisted.find(isMine);
      memory.unlisted = memory.unlisted.filter((each) => !isMine(each));
      const dead = takeDead(provider).map(({ sinceMs }) => sinceMs);
      const sinceMs = mine?.sinceMs ?? Math.min(memory.now(), ...dead);
      memory.unlisted.push({ provider, sessionId, cause, sinceMs });
    },
    succeeded: async (provider, sessionId) => {
      takeDead(provider);
      memory.unlisted = memory.unlisted.filter(
        (each) => each.provider !== provider || each.sessionId !== sessionId,
      );
    },
    unlisted: async () => {
      const order = (each: (typeof memory.unlisted)[number]) => each.sinceMs;
      return memory.unlisted
        .filter(({ sessionId }) => isAlive(sessionId))
        .toSorted((a, b) =>
          a.provider === b.provider ? order(a) - order(b) : a.provider < b.provider ? -1 : 1,
        );
    },
  };
};
