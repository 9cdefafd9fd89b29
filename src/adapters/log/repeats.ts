import type { Clock } from '../clock/port.ts';

/** So many of a kind are written in full. */
export const REPEATS_SHOWN = 5;
/** Over this time; what else came in it is told as a number when it is over, milliseconds. */
export const REPEATS_SPAN_MS = 600_000;
/** Kinds that are counted at once. A kind beyond them is written as if it were new. */
const KINDS_MAX = 10_000;

interface Span {
  endsAtMs: number;
  shown: number;
  more: number;
  readonly tell: (more: number) => void;
  timer: unknown;
}

export interface Repeats {
  /**
   * Whether one more of this kind is to be written. @param tell writes how many were not; called at
   * the end of each span in which there were some. While they go on, that is all that is written.
   */
  admits(kind: string, tell: (more: number) => void): boolean;
  /** Lines that were counted instead of written, ever. */
  suppressed(): number;
  /** Tells what has not been told yet, and forgets all. */
  close(): void;
}

/** Counts what is said again and again. */
export function createRepeats(clock: Clock): Repeats {
  const spans = new Map<string, Span>();
  let suppressed = 0;

  function next(kind: string, span: Span): void {
    const { more, tell } = span;
    // Who was silent for a span is news again.
    if (more === 0) {
      spans.delete(kind);
      return;
    }
    tell(more);
    Object.assign(span, { more: 0, endsAtMs: clock.monotonic() + REPEATS_SPAN_MS });
    span.timer = clock.setTimeout(() => next(kind, span), REPEATS_SPAN_MS);
  }

  /** Of kinds that came seldom no timer is kept: what is over is forgotten when room is wanted. */
  function makeRoom(nowMs: number): void {
    for (const [kind, { endsAtMs, more }] of spans) {
      if (more === 0 && endsAtMs <= nowMs) spans.delete(kind);
    }
  }

  return {
    admits(kind, tell) {
      const nowMs = clock.monotonic();
      const known = spans.get(kind);
      if (!known || (known.timer === null && known.endsAtMs <= nowMs)) {
        if (!known && spans.size >= KINDS_MAX) makeRoom(nowMs);
        if (!known && spans.size >= KINDS_MAX) return true;
        const endsAtMs = nowMs + REPEATS_SPAN_MS;
        spans.set(kind, { endsAtMs, shown: 1, more: 0, tell, timer: null });
        return true;
      }
      if (known.shown < REPEATS_SHOWN) {
        known.shown += 1;
        return true;
      }
      known.more += 1;
      suppressed += 1;
      known.timer ??= clock.setTimeout(() => next(kind, known), known.endsAtMs - nowMs);
      return false;
    },
    suppressed: () => suppressed,
    close() {
      for (const { more, tell, timer } of spans.values()) {
        if (timer !== null) clock.clearTimeout(timer);
        if (more > 0) tell(more);
      }
      spans.clear();
    },
  };
}
