import type { Tags } from '../../../domain/provisioning/provider-tags.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import type { Clock } from '../../clock/port.ts';

/** For so long an API may still show what was there before. */
const LATE_MS = 10 * 60_000;

/** The tags of ours that were written from here, since they may be read late. */
export interface WrittenTags {
  /** What was written last to a machine; nothing once it must have become readable. */
  of(id: string): Tags;
  /** Writes, and remembers it; forgets what was there when nobody knows what is there now. */
  during<T>(id: string, tags: Tags, write: () => Promise<T>): Promise<T>;
  /** This was written with the machine itself. */
  note(id: string, tags: Tags): void;
}

export function createWrittenTags(clock: Clock): WrittenTags {
  const written = new Map<string, { readonly tags: Tags; readonly untilMs: number }>();

  function sweep(): void {
    for (const [id, { untilMs }] of written) {
      if (untilMs > clock.monotonic()) return;
      written.delete(id);
    }
  }
  function note(id: string, tags: Tags): void {
    // At its end: the map is kept in the order of time.
    written.delete(id);
    written.set(id, { tags, untilMs: clock.monotonic() + LATE_MS });
  }

  return {
    of(id) {
      sweep();
      return written.get(id)?.tags ?? {};
    },
    note,
    async during(id, tags, write) {
      try {
        const answer = await write();
        note(id, tags);
        return answer;
      } catch (error) {
        if (facetsOf(error).outcome === 'unknown') written.delete(id);
        throw error;
      }
    },
  };
}
