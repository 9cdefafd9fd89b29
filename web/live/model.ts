import type { ProblemBody } from '../api/ask.ts';
import type { Cells, Frame, Machine } from '../api/types.ts';
import { createStore } from './store.ts';

/** The fleet as a whole. It includes the cells while the page of the fleet is open. */
export interface ShownFrame extends Frame {
  readonly cells?: Cells;
}
/** Null: no data arrived yet. */
export const frame = createStore<ShownFrame | null>(null);

/** The machine of the machine page. */
export type ShownMachine = Machine | { readonly slot: string; readonly gone: true };
export const machine = createStore<ShownMachine | null>(null);

/** Of the daemon that serves the page. */
export const version = createStore<string | null>(null);
/** The version in the document of the page. Null: the document names none. */
export const pageVersion =
  document.querySelector('meta[name=shepherd-version]')?.getAttribute('content') ?? null;

export type Phase = 'connecting' | 'live' | 'lost';
export interface Link {
  readonly phase: Phase;
  /** Time of the last message, by `performance.now()`. */
  readonly heardAt: number;
  /** The answer of the console that refused the stream. Absent: the console did not refuse it. */
  readonly refusal?: ProblemBody;
}
export const link = createStore<Link>({ phase: 'connecting', heardAt: 0 });
