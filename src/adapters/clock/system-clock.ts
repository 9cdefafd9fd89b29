import { randomUUID } from 'node:crypto';
import type { Clock, Random } from './port.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, timeoutMs) => setTimeout(fn, timeoutMs),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
};

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };
