import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { textOf } from './messages.ts';

export interface RingLimits {
  readonly ageMaxMs: number;
  /** Characters of messages, roughly bytes. */
  readonly sizeMax: number;
}

interface Kept {
  readonly message: StatelyInspectionEvent;
  readonly text: string;
  readonly atMs: number;
}

/** What came last, as far as the limits go, and what must be known to read it. */
export interface Ring {
  add(message: StatelyInspectionEvent): void;
  readonly messages: number;
  readonly size: number;
  /** A message per line: the actors that were there before the first kept message, then what is kept. */
  text(): string;
}

export function createRing({ ageMaxMs, sizeMax }: RingLimits): Ring {
  let kept: Kept[] = [];
  /** Where in `kept` the oldest is that is not dropped. */
  let first = 0;
  let size = 0;
  /** Of actors that live longer than what is kept: how they were registered, and their state then. */
  const heads = new Map<string, StatelyInspectionEvent[]>();

  const drop = ({ message, text }: Kept) => {
    size -= text.length;
    const { sessionId, type } = message;
    if (type === '@xstate.actor') heads.set(sessionId, [message]);
    if (type !== '@xstate.snapshot') return;
    const [registration] = heads.get(sessionId) ?? [];
    const isOver = (message.snapshot as { status?: unknown }).status !== 'active';
    if (isOver) heads.delete(sessionId);
    else if (registration) heads.set(sessionId, [registration, message]);
  };
  return {
    add(message) {
      const text = textOf(message);
      const atMs = Number(message.createdAt);
      kept.push({ message, text, atMs });
      size += text.length;
      const isTooMuch = () => kept[first]!.atMs < atMs - ageMaxMs || size > sizeMax;
      for (; first < kept.length - 1 && isTooMuch(); first += 1) drop(kept[first]!);
      if (first < kept.length / 2) return;
      kept = kept.slice(first);
      first = 0;
    },
    get messages() {
      return kept.length - first;
    },
    get size() {
      return size;
    },
    text: () =>
      [...[...heads.values()].flat().map(textOf), ...kept.slice(first).map(({ text }) => text)]
        .map((line) => `${line}\n`)
        .join(''),
  };
}
