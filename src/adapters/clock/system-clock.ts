import { randomUUID } from 'node:crypto';
import type { Clock, Random } from './port.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Timers that set each other run in succession without a check of sockets, because Node compares
  // with a time taken before the first. An immediate runs after that check.
  setTimeout: (fn, timeoutMs) => (timeoutMs <= 0 ? setImmediate(fn) : setTimeout(fn, timeoutMs)),
  // Each call ignores a handle of the other kind.
  clearTimeout(id) {
    clearTimeout(id as NodeJS.Timeout);
    clearImmediate(id as NodeJS.Immediate);
  },
};

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };
