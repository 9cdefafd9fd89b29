import { expect } from 'vitest';
import type { Side } from './side.ts';

/** Each implementation counts for itself. */
const OWN = new Set(['seq', 'version']);

/**
 * A value as both implementations would tell it: ids by name, what has no order sorted. Their clocks
 * are the same.
 */
export function normalise(side: Side, value: unknown, key = ''): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') {
    return side.names.get(key === 'epoch' ? `epoch ${value}` : value) ?? value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value instanceof Map) {
    return normalise(side, Object.fromEntries(value as Map<string, unknown>), key);
  }
  if (Array.isArray(value)) {
    const all = value.map((each) => normalise(side, each, key));
    return UNORDERED.has(key) ? all.toSorted(byIdentity) : all;
  }
  const entries = Object.entries(value).filter(([name]) => !OWN.has(name));
  return Object.fromEntries(entries.map(([name, each]) => [name, normalise(side, each, name)]));
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

/** @param what is said when they differ. */
export function expectSame(onPostgres: unknown, inMemory: unknown, what: string): void {
  expect(onPostgres, what).toEqual(inMemory);
}
