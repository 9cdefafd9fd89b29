/**
 * The closed set of things that go wrong. Adapters translate at their door; nobody else looks at a
 * message, an HTTP status or an SQLSTATE. `retryable` means: the same call may succeed later.
 */
export abstract class FleetError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
  override get name() {
    return this.code;
  }
}

/** No connection, or it broke before an answer came. */
export class Unreachable extends FleetError {
  readonly code = 'unreachable';
  readonly retryable = true;
}
/** Nobody listens there: the connection was refused or had no way. */
export class NotListening extends Unreachable {}
/** The peer answers, but can store nothing for now: it is read-only, or out of room. */
export class NotWritable extends Unreachable {}
/** A step took longer than its own limit. */
export class TimedOut extends FleetError {
  readonly code = 'timed-out';
  readonly retryable = true;
}
/** Somebody else held what the step needs, and did not let go in time: nothing was done. */
export class Locked extends TimedOut {}
/** The peer asked us to slow down until `retryAtMs` (epoch, milliseconds). */
export class Throttled extends FleetError {
  readonly code = 'throttled';
  readonly retryable = true;
  readonly retryAtMs: number;
  constructor(message: string, retryAtMs: number, options?: ErrorOptions) {
    super(message, options);
    this.retryAtMs = retryAtMs;
  }
}
/** The peer refused our credentials or our right to do this. */
export class Denied extends FleetError {
  readonly code = 'denied';
  readonly retryable = false;
}
/** The host key differs from the pinned one, or none is known under the strict policy. */
export class HostKeyRejected extends FleetError {
  readonly code = 'host-key-rejected';
  readonly retryable = false;
}
export class NotFound extends FleetError {
  readonly code = 'not-found';
  readonly retryable = false;
}
/** Input or an answer that does not have the agreed form. */
export class Malformed extends FleetError {
  readonly code = 'malformed';
  readonly retryable = false;
}
/** The peer understood and refused, or a remote command failed. */
export class RemoteFailure extends FleetError {
  readonly code = 'remote-failure';
  readonly retryable = false;
}
/** Aborted by our own side: shutdown, fencing, a crash of the machine's actor. */
export class Cancelled extends FleetError {
  readonly code = 'cancelled';
  readonly retryable = true;
}
/** A mutation was sent and its outcome is not known. It must not be repeated blindly. */
export class OutcomeUnknown extends FleetError {
  readonly code = 'outcome-unknown';
  readonly retryable = false;
}
/** Someone else took the free capacity first. */
export class RaceLost extends FleetError {
  readonly code = 'race-lost';
  readonly retryable = false;
}
/** The provider has nothing left of the kind asked for. */
export class CapacityExhausted extends FleetError {
  readonly code = 'capacity';
  readonly retryable = true;
}
/** The capability does not exist here; nothing was changed. */
export class NotImplemented extends FleetError {
  readonly code = 'not-implemented';
  readonly retryable = false;
}

// BMDB
/** Our session's deadline passed: all work of this session must stop at once (fencing). */
export class SessionExpired extends FleetError {
  readonly code = 'session-expired';
  readonly retryable = true;
}
/** Another session works on the machine (or another process of the exclusion group). */
export class WorkConflict extends FleetError {
  readonly code = 'work-conflict';
  readonly retryable = true;
}
/** The machine is not eligible for this process now. */
export class NothingToDo extends FleetError {
  readonly code = 'nothing-to-do';
  readonly retryable = true;
}
/** The fleet's recovery budget is spent; ask again later. */
export class NoPermit extends FleetError {
  readonly code = 'no-permit';
  readonly retryable = true;
}
/** The work row was gone or belonged to another epoch when we wanted to end it; nothing was written. */
export class WorkLost extends FleetError {
  readonly code = 'work-lost';
  readonly retryable = false;
}
export class AlreadyFinished extends FleetError {
  readonly code = 'already-finished';
  readonly retryable = false;
}
/** The connection broke during COMMIT, and what became of it could not be found out. */
export class AmbiguousCommit extends FleetError {
  readonly code = 'ambiguous-commit';
  readonly retryable = false;
}
export class RetryExhausted extends FleetError {
  readonly code = 'retry-exhausted';
  readonly retryable = true;
}
/** The database's schema is older or newer than this program. */
export class SchemaMismatch extends FleetError {
  readonly code = 'schema-mismatch';
  readonly retryable = false;
}

/** Wrong configuration or command line. The process prints the message and exits with 2. */
export class UsageError extends FleetError {
  readonly code = 'usage';
  readonly retryable = false;
}

/** One line for logs and pages: the message and those of its causes, outermost first. */
export function explain(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at !== undefined && at !== null && parts.length < 8;) {
    const text = at instanceof Error ? at.message || at.name : String(at);
    if (parts.at(-1) !== text) parts.push(text);
    at = at instanceof Error ? at.cause : undefined;
  }
  return parts.join(': ');
}
export const codeOf = (error: unknown): string =>
  error instanceof FleetError ? error.code : 'internal';
export const isRetryable = (error: unknown): boolean =>
  error instanceof FleetError && error.retryable;
