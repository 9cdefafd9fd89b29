import { channel } from 'node:diagnostics_channel';

/** A request to the API and its answer, exactly as on the wire, without masking. */
export interface Exchange {
  readonly method: string;
  /** With placeholders below the base path; null when no route fits. */
  readonly route: string | null;
  /** The path below the base. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Parsed; undefined for an empty body. */
  readonly body: unknown;
  readonly userAgent: string;
  readonly status: number;
  /** The answer's text; may be empty. */
  readonly reply: string;
  /** A fault rule made, spoiled or delayed this answer: only the request is genuine. */
  readonly isInjected: boolean;
  /** Device states set by hand, which the service may not know. */
  readonly forcedStates: ReadonlySet<string>;
}

/**
 * Node's diagnostics channel `shepherd:equinix:exchange`, on which every emulator of this process
 * publishes its exchanges for a judge. Free of cost without a listener.
 */
export const exchanges = channel('shepherd:equinix:exchange');
