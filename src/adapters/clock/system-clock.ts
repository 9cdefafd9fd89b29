import { randomUUID } from 'node:crypto';
import type { Clock, Random } from './port.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Timers that arm each other follow one another without a look at sockets: Node compares with a
  // time that it took before the first of them. An immediate comes after that look.
  setTimeout: (fn, timeoutMs) => (timeoutMs <= 0 ? setImmediate(fn) : setTimeout(fn, timeoutMs)),
  // Each leaves alone what the other one made.
  clearTimeout(id) {
    clearTimeout(id as NodeJS.Timeout);
    clearImmediate(id as NodeJS.Immediate);
  },
};

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };
