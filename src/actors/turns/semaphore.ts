import TinyQueue from 'tinyqueue';
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
  /** Position in the order of asking. */
  readonly askedAt: number;
  grant(): void;
  refuse(): void;
}

const UNKNOWN: Seniority = { lastAttemptMs: null, machineId: '' };
/** Those that left may stay in the queue until they are so many, and more than those that wait. */
const LEFT_MAX = 64;

const inOrder = (a: Waiter, b: Waiter): number =>
  bySeniority(a.seniority, b.seniority) || a.askedAt - b.askedAt;

export function createSemaphore(count: number): Semaphore {
  const waiting = new Set<Waiter>();
  /** Those that wait, and some that left already. */
  let queue = new TinyQueue<Waiter>([], inOrder);
  let asked = 0;
  let taken = 0;
  let closed = false;
  const refused = () => new Cancelled('no turn is given any more');
  const leave = (waiter: Waiter) => {
    waiting.delete(waiter);
    if (queue.length - waiting.size > Math.max(LEFT_MAX, waiting.size)) {
      queue = new TinyQueue([...waiting], inOrder);
    }
  };
  const nextWaiter = (): Waiter | undefined => {
    let next = queue.pop();
    while (next && !waiting.has(next)) next = queue.pop();
    return next;
  };
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
        const end = () => {
          leave(waiter);
          signal.removeEventListener('abort', onAbort);
        };
        const waiter: Waiter = {
          seniority,
          askedAt: (asked += 1),
          grant: () => (end(), resolve()),
          refuse: () => (end(), reject(refused())),
        };
        waiting.add(waiter);
        queue.push(waiter);
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    release: () => {
      const next = nextWaiter();
      if (next) next.grant();
      else taken -= 1;
    },
    close: () => {
      closed = true;
      for (const waiter of waiting) waiter.refuse();
    },
  };
}
