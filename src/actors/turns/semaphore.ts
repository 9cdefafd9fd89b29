import { bySeniority, type Seniority } from '../../domain/eligibility.ts';
import { Cancelled } from '../../domain/errors.ts';

/** A bounded number of places, given to the oldest attempt first, or else in the order of asking. */
export interface Semaphore {
  /** Resolves when a place is taken; rejects with `Cancelled` when the signal fires first. */
  acquire(signal: AbortSignal, seniority?: Seniority): Promise<void>;
  release(): void;
  /** From now on nobody gets a place; those who wait are refused. */
  close(): void;
  readonly taken: number;
}

interface Waiter {
  readonly seniority: Seniority;
  grant(): void;
  refuse(): void;
}

const UNKNOWN: Seniority = { lastAttemptMs: null, machineId: '' };

function firstOf(waiters: Iterable<Waiter>): Waiter | undefined {
  let first: Waiter | undefined;
  for (const each of waiters) {
    if (!first || bySeniority(each.seniority, first.seniority) < 0) first = each;
  }
  return first;
}

export function createSemaphore(count: number): Semaphore {
  const waiters = new Set<Waiter>();
  let taken = 0;
  let closed = false;
  const refused = () => new Cancelled('no turn is given any more');
  return {
    get taken() {
      return taken;
    },
    acquire: (signal, seniority = UNKNOWN) =>
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
          seniority,
          grant: () => (leave(), resolve()),
          refuse: () => (leave(), reject(refused())),
        };
        waiters.add(waiter);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    release: () => {
      const next = firstOf(waiters);
      if (next) next.grant();
      else taken -= 1;
    },
    close: () => {
      closed = true;
      for (const waiter of waiters) waiter.refuse();
    },
  };
}
