import { channel } from 'node:diagnostics_channel';

/** A request to the API and its answer, as they went over the wire: nothing is masked. */
export interface Exchange {
  readonly method: string;
  /** With placeholders below the base path; null when no route fits. */
  readonly route: string | null;
  /** The path below the base. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Parsed; undefined when nothing was sent. */
  readonly body: unknown;
  readonly userAgent: string;
  readonly status: number;
  /** The text of the answer; empty for none. */
  readonly reply: string;
  /** A fault rule made this answer, spoiled it, or kept it back: only the request is genuine. */
  readonly isInjected: boolean;
  /** States that somebody put devices into by hand; the service may not know them. */
  readonly forcedStates: ReadonlySet<string>;
}

/**
 * Where every emulator of this process publishes its exchanges, for a judge to look at: Node's
 * diagnostics channel `shepherd:equinix:exchange`. Costs nothing while nobody listens.
 */
export const exchanges = channel('shepherd:equinix:exchange');
