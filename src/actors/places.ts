import { Cancelled } from '../domain/errors.ts';

/** A bounded number of places, given out in the order of asking. */
export interface Places {
  /** Resolves when a place is taken; rejects with `Cancelled` when the signal fires first. */
  take(signal: AbortSignal): Promise<void>;
  give(): void;
  /** From now on nobody gets a place; those who wait are refused. */
  close(): void;
  readonly taken: number;
}

interface Waiter {
  grant(): void;
  refuse(): void;
}

export function createPlaces(count: number): Places {
  const waiters = new Set<Waiter>();
  let taken = 0;
  let closed = false;
  const refused = () => new Cancelled('no turn is given any more');
  return {
    get taken() {
      return taken;
    },
    take: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted || closed) return reject(refused());
        if (taken < count) {
          taken += 1;
          return resolve();
        }
        const onAbort = () => waiter.refuse();
        const leave = () => {
          waiters.delete(waiter);
          signal.removeEventListener('abort', onAbort);
        };
        const waiter: Waiter = {
          grant: () => (leave(), resolve()),
          refuse: () => (leave(), reject(refused())),
        };
        waiters.add(waiter);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    give: () => {
      const [next] = waiters;
      if (next) next.grant();
      else taken -= 1;
    },
    close: () => {
      closed = true;
      for (const waiter of waiters) waiter.refuse();
    },
  };
}
