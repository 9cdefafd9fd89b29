import type { Ref } from '../../../domain/balancing/objects.ts';
import type { Clock } from '../../clock/port.ts';
import { type EngineObject, phaseOf } from './forms.ts';

/**
 * What this process has read of objects, so that a look that follows its own changes need not read all
 * of them again. An object is kept while it was ready when it was read, and nothing was done to it
 * here since. Nothing of it tells that something is there: that is what lists are for.
 */
export interface Readings {
  /** To be taken before something is read: what is changed after it makes that worthless. */
  mark(): number;
  /** Keeps what was read, if it is worth that; forgets what was read before in any case. */
  keep(owner: string, object: EngineObject, since: number): void;
  /** As it was read last; null: it has to be read. */
  recall(id: string): EngineObject | null;
  /** It is being changed, or was, or is gone. */
  changed(ref: Ref): void;
  /** It was made just now. */
  made(ref: Ref): void;
  /** Whether what a list says of it may be older than what was done to it here. */
  isDoubtful(object: EngineObject): boolean;
  /** Forgets what is of the owner and is not among these. */
  retain(owner: string, ids: ReadonlySet<string>): void;
}

/** Lists are believed to lag no longer. */
const LAG_MS = 10 * 60_000;

interface Deed {
  readonly serial: number;
  readonly atMs: number;
  /** It was made, and not changed since: it never was otherwise. */
  readonly isMade: boolean;
}

export function createReadings(clock: Pick<Clock, 'monotonic'>): Readings {
  const read = new Map<string, { readonly owner: string; readonly object: EngineObject }>();
  const deeds = new Map<string, Deed>();
  let serial = 0;

  function note({ id }: Ref, isMade: boolean): void {
    read.delete(id);
    serial += 1;
    deeds.set(id, { serial, atMs: clock.monotonic(), isMade });
  }

  return {
    mark: () => serial,
    keep(owner, object, since) {
      const { identifier: id } = object;
      const isOld = (deeds.get(id)?.serial ?? 0) > since;
      if (isOld || phaseOf(object) !== 'ready') read.delete(id);
      else read.set(id, { owner, object });
    },
    recall: (id) => read.get(id)?.object ?? null,
    changed: (ref) => note(ref, false),
    made: (ref) => note(ref, true),
    isDoubtful(object) {
      const deed = deeds.get(object.identifier);
      if (!deed || clock.monotonic() - deed.atMs > LAG_MS) return false;
      return !deed.isMade || phaseOf(object) !== 'ready';
    },
    retain(owner, ids) {
      for (const [id, reading] of read)
        if (reading.owner === owner && !ids.has(id)) read.delete(id);
      for (const [id, { atMs }] of deeds) if (clock.monotonic() - atMs > LAG_MS) deeds.delete(id);
    },
  };
}
