import type { SessionId } from '../../../src/domain/ids.ts';

/** What the parts of a session ask before they write. */
export interface SessionGate {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly signal: AbortSignal;
  /** @throws {SessionExpired} */
  check(): void;
}
