import {
  CommandFailed,
  Denied,
  FleetError,
  NoCommonProtocol,
  NotListening,
  RemoteFailure,
  TimedOut,
  Unreachable,
  UploadFailed,
} from '../../domain/errors.ts';
import { remedyFor } from './algorithms.ts';

/** SSH_DISCONNECT_PROTOCOL_ERROR: how OpenSSH says "Too many authentication failures". */
const protocolError = 2;
/** SSH_DISCONNECT_NO_MORE_AUTH_METHODS_AVAILABLE (RFC 4253 §11.1). */
const noMoreAuthMethods = 14;

/**
 * What a broken connection means, by ssh2's `level`, errno or disconnect reason. `what` says what
 * was being done to which machine, such as "connect to root@10.0.0.1:22".
 */
export function toFleetError(cause: unknown, what: string, authenticating = false): FleetError {
  if (cause instanceof FleetError) return inContext(cause, what);
  const { level, code } = (cause ?? {}) as { level?: unknown; code?: unknown };
  const refused = level === 'client-authentication' || level === 'agent';
  const gaveUpOnUs = code === noMoreAuthMethods || (authenticating && code === protocolError);
  if (refused || gaveUpOnUs) return new Denied(`${what}: every key was refused`, { cause });
  if (level === 'client-timeout' || code === 'ETIMEDOUT') {
    return new TimedOut(`${what}: no answer`, { cause });
  }
  // What ssh2 cannot read has a level, or neither that nor a code; a socket's error has a code.
  const unread = authenticating && level === undefined && code === undefined;
  if (level === 'protocol' || level === 'handshake' || unread) {
    const remedy = remedyFor(cause instanceof Error ? cause.message : '');
    return new NoCommonProtocol(`${what}: ${remedy ?? 'no SSH that we understand'}`, { cause });
  }
  return new Unreachable(`${what} failed`, { cause });
}

/** Says what was being done; our own verdicts (cancelled, timed out) have said it already. */
function inContext(error: FleetError, what: string): FleetError {
  const message = `${what}: ${error.message}`;
  const options = error.cause === undefined ? {} : { cause: error.cause };
  if (error instanceof CommandFailed) return new CommandFailed(message, error, options);
  if (error instanceof UploadFailed) return new UploadFailed(message, options);
  if (error instanceof RemoteFailure) return new RemoteFailure(message, options);
  if (error instanceof NotListening) return new NotListening(message, options);
  if (error instanceof Unreachable) return new Unreachable(message, options);
  return error;
}
