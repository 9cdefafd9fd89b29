/**
 * The closed set of errors. Adapters translate at their boundary; no other code looks at a message,
 * an HTTP status or an SQLSTATE. `retryable` means that the same call may succeed later.
 */
export abstract class FleetError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
  override get name() {
    return this.code;
  }
}

/** Makes the base class of the errors with this code. */
const errorClass = <const Code extends string>(
  code: Code,
  { retryable }: { readonly retryable: boolean },
) =>
  class extends FleetError {
    readonly code = code;
    readonly retryable = retryable;
  };

/** There was no connection, or it broke before an answer came. */
export class Unreachable extends errorClass('unreachable', { retryable: true }) {}
/** Nobody listens there: the connection was refused or had no route. */
export class NotListening extends Unreachable {}
/** The peer answers, but shares no protocol with us. */
export class NoCommonProtocol extends Unreachable {}
/** The peer answers, but cannot store anything for now: it is read-only, or out of space. */
export class NotWritable extends Unreachable {}
/** A step took longer than its own limit. */
export class TimedOut extends errorClass('timed-out', { retryable: true }) {}
/** Another party held what the step needs and did not release it in time; nothing was done. */
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
export class Denied extends errorClass('denied', { retryable: false }) {}
/** The host key differs from the pinned one, or none is known under the strict policy. */
export class HostKeyRejected extends errorClass('host-key-rejected', { retryable: false }) {}
/** The answering host is provably not the known host. */
export class HostKeyChanged extends HostKeyRejected {}
export class NotFound extends errorClass('not-found', { retryable: false }) {}
/** The input or answer does not have the agreed form. */
export class Malformed extends errorClass('malformed', { retryable: false }) {}
/** The peer understood and refused the request, or a remote command failed. */
export class RemoteFailure extends errorClass('remote-failure', { retryable: false }) {}
/** A file could not be put on a machine; the message says what to do, if we know it. */
export class UploadFailed extends RemoteFailure {}
/** Result of a command on a machine. */
export interface CommandEnd {
  /** Null: a signal ended the command. */
  readonly exitCode: number | null;
  /** Such as `SIGKILL`. */
  readonly signalName?: string | undefined;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}
/** A command on a machine ended with a non-zero status; the error keeps its output. */
export class CommandFailed extends RemoteFailure implements CommandEnd {
  readonly exitCode: number | null;
  readonly signalName: string | undefined;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  constructor(message: string, end: CommandEnd, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = end.exitCode;
    this.signalName = end.signalName;
    this.stdout = end.stdout;
    this.stderr = end.stderr;
  }
}
/** Our own side aborted the call: shutdown, fencing, or a crash of the machine's actor. */
export class Cancelled extends errorClass('cancelled', { retryable: true }) {}
/** The capability does not exist here; nothing was changed. */
export class NotImplemented extends errorClass('not-implemented', { retryable: false }) {}

// Providers
export const PROVIDER_ERROR_KINDS = [
  'not-found',
  'not-implemented',
  'race-lost',
  'auth',
  'invalid',
  'conflict',
  'transient',
  'permanent',
  'stopped',
  'aborted',
] as const;
/**
 * Kinds of a provider's errors. `race-lost`: another party took the free capacity. `conflict`: the
 * existing state contradicts the wanted state. `transient`: the same call may succeed later.
 * `stopped`: the provider was stopped. `aborted`: the caller's signal or deadline ended the call.
 */
export type ProviderErrorKind = (typeof PROVIDER_ERROR_KINDS)[number];

/** Independent facets of a provider's error: an error may carry several, and each is handled. */
export interface ProviderErrorFacets {
  /** Whether the request may have taken effect; absent: `not-done`. */
  readonly outcome?: 'not-done' | 'unknown';
  /** No request of this kind may be sent before `retryAt`. */
  readonly rateLimit?: { readonly retryAt: Date };
  /** We already have our maximum number of machines. */
  readonly quota?: true;
  /** No capacity is left: of the requested plan, of its quota group, or at all. */
  readonly capacity?: { readonly scope: 'all' | 'group' | 'plan' };
  /** The vendor API's answer, or its missing answer, that caused the error. */
  readonly answer?: VendorAnswer;
}

/** A vendor API's answer as data: for its driver and for logs. Never holds a token or a request. */
export interface VendorAnswer {
  /** HTTP status; absent: no answer caused the error. */
  readonly status?: number;
  /** The API's messages, shortened and without secrets, or our own words. */
  readonly messages: readonly string[];
  /** HTTP attempts of the whole operation. */
  readonly attempts: number;
  readonly elapsedMs: number;
}

const PASSING: readonly ProviderErrorKind[] = ['transient', 'stopped', 'aborted'];

/** The one error of the provider port. Its code is its kind. */
export class ProviderError extends FleetError implements ProviderErrorFacets {
  readonly code: ProviderErrorKind;
  readonly retryable: boolean;
  readonly outcome: 'not-done' | 'unknown';
  declare readonly rateLimit?: { readonly retryAt: Date };
  declare readonly quota?: true;
  declare readonly capacity?: { readonly scope: 'all' | 'group' | 'plan' };
  declare readonly answer?: VendorAnswer;
  constructor(
    kind: ProviderErrorKind,
    message: string,
    options: ErrorOptions & ProviderErrorFacets = {},
  ) {
    const { outcome = 'not-done', rateLimit, quota, capacity, answer, ...cause } = options;
    super(message, cause);
    this.code = kind;
    this.retryable = PASSING.includes(kind) && outcome === 'not-done';
    this.outcome = outcome;
    if (rateLimit) this.rateLimit = rateLimit;
    if (quota) this.quota = quota;
    if (capacity) this.capacity = capacity;
    if (answer) this.answer = answer;
  }
  get kind(): ProviderErrorKind {
    return this.code;
  }
}

/** Whether this is a provider's error of one of these kinds; without kinds: of any kind. */
export const isProviderError = (
  error: unknown,
  ...kinds: readonly ProviderErrorKind[]
): error is ProviderError =>
  error instanceof ProviderError && (kinds.length === 0 || kinds.includes(error.kind));

// BMDB
/** Our session's deadline passed: all work of this session must stop at once (fencing). */
export class SessionExpired extends errorClass('session-expired', { retryable: true }) {}
/** Another session works on the machine, or another process of the exclusion group does. */
export class WorkConflict extends errorClass('work-conflict', { retryable: true }) {}
/** The machine is not eligible for this process now. */
export class NothingToDo extends errorClass('nothing-to-do', { retryable: true }) {}
/** Another daemon holds the job's lease now: nothing was written. */
export class LeaseLost extends errorClass('lease-lost', { retryable: true }) {}
/** The fleet's recovery budget is spent; ask again later. */
export class NoPermit extends errorClass('no-permit', { retryable: true }) {}
/** The work row to end was gone or belonged to another epoch; nothing was written. */
export class WorkLost extends errorClass('work-lost', { retryable: false }) {}
export class AlreadyFinished extends errorClass('already-finished', { retryable: false }) {}
/** The connection broke during COMMIT, and the outcome remains unknown. */
export class AmbiguousCommit extends errorClass('ambiguous-commit', { retryable: false }) {}
export class RetryExhausted extends errorClass('retry-exhausted', { retryable: true }) {}
/** The database's schema is older or newer than this program. */
export class SchemaMismatch extends errorClass('schema-mismatch', { retryable: false }) {}

/** Wrong configuration or command line. The process prints the message and exits with 2. */
export class UsageError extends errorClass('usage', { retryable: false }) {}

/** The key was already used for a different request; repeating the same request is harmless. */
export class KeyReused extends UsageError {}
/** One request of a batch, and why it cannot be submitted. */
export interface BatchRefusal {
  readonly key: string;
  readonly cause: FleetError;
}
/** Some requests of a batch cannot be submitted: none was submitted. */
export class BatchRefused extends NothingToDo {
  readonly refusals: readonly BatchRefusal[];
  constructor(refusals: readonly BatchRefusal[]) {
    const [first] = refusals;
    const more = refusals.length > 1 ? `, and ${refusals.length - 1} more` : '';
    super(`no request was submitted: ${first?.cause.message}${more}`);
    this.refusals = refusals;
  }
}

const CAUSES_MAX = 8;
/** Error codes for a full disk or an exhausted disk quota. */
const NO_ROOM: readonly unknown[] = ['ENOSPC', 'EDQUOT'];
/** The fault and the remedy, for people; details follow this text. */
export const DISK_FULL = 'the disk is full; make room on it';

/** Whether the error comes from a full disk of this host. */
export function isDiskFull(error: unknown): boolean {
  let at = error;
  for (let depth = 0; at instanceof Error && depth < CAUSES_MAX; depth += 1) {
    const { code, syscall } = at as NodeJS.ErrnoException;
    // Linux gives the same code when its limit of watched files is reached.
    if (NO_ROOM.includes(code) && syscall !== 'watch') return true;
    at = at.cause;
  }
  return false;
}

/** The text of an error, preceded by the full disk if this is the cause. */
export const withDiskFull = (error: unknown, text: string): string =>
  isDiskFull(error) && !text.includes(DISK_FULL) ? `${DISK_FULL}: ${text}` : text;

/**
 * One line for logs and pages: the message and the messages of its causes, outermost first. Leaves
 * out a cause that an earlier message quotes. A full disk comes first.
 */
export function explain(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at !== undefined && at !== null && parts.length < CAUSES_MAX;) {
    const text = at instanceof Error ? at.message || at.name : String(at);
    if (!parts.some((part) => part.includes(text))) parts.push(text);
    at = at instanceof Error ? at.cause : undefined;
  }
  return withDiskFull(error, parts.join(': '));
}
export const codeOf = (error: unknown): string =>
  error instanceof FleetError ? error.code : 'internal';
export const isRetryable = (error: unknown): boolean =>
  error instanceof FleetError && error.retryable;
