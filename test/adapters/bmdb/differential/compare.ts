import { expect } from 'vitest';
import type { Side } from './side.ts';

/** Two implementations may be this far apart in time; every limit is farther away. */
const TOLERANCE_MS = 3_500;
/** Each implementation counts and has a clock of its own. */
const OWN = new Set(['nowMs', 'seq', 'version']);
const TIMES = /^(at|until|since|\w+At|\w+Since)Ms$/;

/**
 * A value as both implementations would tell it: ids by name, times relative to now, what has no
 * order sorted.
 */
export function normalise(side: Side, value: unknown, nowMs: number, key = ''): unknown {
  if (typeof value === 'number' && TIMES.test(key)) return { sinceNowMs: value - nowMs };
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') {
    return side.names.get(key === 'epoch' ? `epoch ${value}` : value) ?? withoutTimes(value);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value instanceof Map) {
    return normalise(side, Object.fromEntries(value as Map<string, unknown>), nowMs, key);
  }
  if (Array.isArray(value)) {
    const all = value.map((each) => normalise(side, each, nowMs, key));
    return UNORDERED.has(key) ? all.toSorted(byIdentity) : all;
  }
  const entries = Object.entries(value).filter(([name]) => !OWN.has(name));
  return Object.fromEntries(
    entries.map(([name, each]) => [name, normalise(side, each, nowMs, name)]),
  );
}

/** Texts for people tell until when something holds. */
const withoutTimes = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time');

/** The same with all times so much earlier. */
export function aged(value: unknown, ms: number, key = ''): unknown {
  if (typeof value === 'number' && TIMES.test(key)) return value - ms;
  if (Array.isArray(value)) return value.map((each) => aged(each, ms));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, aged(each, ms, name)]),
  );
}

const UNORDERED = new Set([
  ...['machines', 'work', 'backoffs', 'intents', 'holds', 'penalties', 'sessions'],
  ...['providerHolds', 'leases', 'gone', 'requests', 'guard'],
]);
const IDENTITY = [
  ...['machineId', 'witness', 'slotId', 'kind', 'process', 'sessionId', 'provider'],
  ...['key', 'name', 'scope'],
];
const identityOf = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? IDENTITY.map((key) => String((value as Record<string, unknown>)[key])).join(' ')
    : String(value);
const byIdentity = (a: unknown, b: unknown): number => (identityOf(a) < identityOf(b) ? -1 : 1);

interface Time {
  readonly sinceNowMs: number;
}
const isTime = (value: unknown): value is Time =>
  typeof value === 'object' && value !== null && 'sinceNowMs' in value;

/** The first, with its times put where the second has them if they are near enough. */
function aligned(value: unknown, model: unknown): unknown {
  if (isTime(value) && isTime(model)) {
    return Math.abs(value.sinceNowMs - model.sinceNowMs) <= TOLERANCE_MS ? model : value;
  }
  if (Array.isArray(value) && Array.isArray(model)) {
    return value.map((each, at) => aligned(each, model[at]));
  }
  if (typeof value !== 'object' || typeof model !== 'object' || !value || !model) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      aligned(each, (model as Record<string, unknown>)[key]),
    ]),
  );
}

/** @param what is said when they differ. */
export function expectSame(onPostgres: unknown, inMemory: unknown, what: string): void {
  expect(aligned(onPostgres, inMemory), what).toEqual(inMemory);
}
