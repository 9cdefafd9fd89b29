/** Keys that are left alone until a time of their own. In memory, bounded, sweeping itself. */
export interface Penalties<Key> {
  /** A later `untilMs` extends, an earlier one never shortens. */
  add(key: Key, untilMs: number, nowMs: number): void;
  /** True as long as `nowMs <= untilMs`; an entry that is over is removed. Unknown: false. */
  penalised(key: Key, nowMs: number): boolean;
  remove(key: Key): void;
  /** For people: keys with their end, oldest entry first. */
  list(): readonly { readonly key: Key; readonly untilMs: number }[];
  readonly size: number;
}

const SIZE_MAX = 10_000;
const SWEEP_MS = 60_000;

/** @param sizeMax beyond this the oldest entry makes room for a new one. */
export function createPenalties<Key>(sizeMax: number = SIZE_MAX): Penalties<Key> {
  const entries = new Map<Key, number>();
  let sweptAtMs = -Infinity;

  const sweep = (nowMs: number) => {
    if (nowMs - sweptAtMs < SWEEP_MS) return;
    sweptAtMs = nowMs;
    for (const [key, untilMs] of entries) if (untilMs < nowMs) entries.delete(key);
  };
  return {
    add(key, untilMs, nowMs) {
      sweep(nowMs);
      const before = entries.get(key);
      if (before === undefined && entries.size >= sizeMax) {
        entries.delete(entries.keys().next().value as Key);
      }
      entries.set(key, Math.max(before ?? untilMs, untilMs));
    },
    penalised(key, nowMs) {
      const untilMs = entries.get(key);
      if (untilMs === undefined) return false;
      if (nowMs <= untilMs) return true;
      entries.delete(key);
      return false;
    },
    remove: (key) => void entries.delete(key),
    list: () => [...entries].map(([key, untilMs]) => ({ key, untilMs })),
    get size() {
      return entries.size;
    },
  };
}
