import type { ProblemBody } from '../api/ask.ts';
import type { Cells, Frame, Machine } from '../api/types.ts';
import { createStore } from './store.ts';

/** The fleet as a whole; with its cells where the page of the fleet is looked at. */
export interface ShownFrame extends Frame {
  readonly cells?: Cells;
}
/** Null: nothing was told yet. */
export const frame = createStore<ShownFrame | null>(null);

/** The one machine that is looked at. */
export type ShownMachine = Machine | { readonly slot: string; readonly gone: true };
export const machine = createStore<ShownMachine | null>(null);

/** Of the daemon that answers. */
export const version = createStore<string | null>(null);
/** Of the daemon that the page came from, as its document says; null: it says nothing. */
export const pageVersion =
  document.querySelector('meta[name=shepherd-version]')?.getAttribute('content') ?? null;

export type Phase = 'connecting' | 'live' | 'lost';
export interface Link {
  readonly phase: Phase;
  /** By `performance.now()`: when anything was heard last. */
  readonly heardAt: number;
  /** What the console answered when it refused the stream; absent: it did not refuse it. */
  readonly refusal?: ProblemBody;
}
export const link = createStore<Link>({ phase: 'connecting', heardAt: 0 });
