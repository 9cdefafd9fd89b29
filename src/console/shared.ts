import type { Clock } from '../adapters/clock/port.ts';

/**
 * One look for all who ask within `freshMs`, so that readers cost no more for being many. A look
 * that fails is tried again by whoever asks next. It belongs to no single reader, so none ends it.
 */
export function sharedLook<Answer>(
  { monotonic }: Pick<Clock, 'monotonic'>,
  freshMs: number,
  look: (signal: AbortSignal) => Promise<Answer>,
): () => Promise<Answer> {
  let last: { readonly atMs: number; readonly answer: Promise<Answer> } | null = null;
  return () => {
    if (last !== null && monotonic() - last.atMs < freshMs) return last.answer;
    const begun = { atMs: monotonic(), answer: look(new AbortController().signal) };
    last = begun;
    begun.answer.catch(() => {
      if (last === begun) last = null;
    });
    return begun.answer;
  };
}
