import ssh2 from 'ssh2';
import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Client } from 'ssh2';
import {
  Cancelled,
  CommandFailed,
  Denied,
  FleetError,
  HostKeyRejected,
  NoCommonProtocol,
  NotListening,
  RemoteFailure,
  TimedOut,
  Unreachable,
  UploadFailed,
  UsageError,
} from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import type { HostKeyRule, SeenHostKey } from '../provider/port.ts';
import { remedyFor } from './algorithms.ts';
import { fingerprintOf, type ShellTarget } from './port.ts';

/** A socket and its SSH client. Handles all their errors: none is ever left without a listener. */
export interface Link {
  readonly client: Client;
  readonly socket: ReturnType<typeof connect>;
  /** `user@host:port`, for messages. */
  readonly name: string;
  /** Why the link is lost; undefined while it stands. */
  lost(): Error | undefined;
  /** Calls back once when the link is lost; returns a function that removes the listener. */
  onLost(listener: (why: Error) => void): () => void;
  /** Closes the socket at once. Steps that still wait on the link fail with `why`. */
  destroy(why: Error): void;
  /** Disconnects properly, then closes the socket. */
  end(why: Error): void;
}

/** Connects without Nagle's algorithm, which ssh2 leaves on (212 ms against 49 ms). */
export function openLink({ host, port, username }: ShellTarget): Link {
  const socket = connect({ host, port, noDelay: true });
  writeTogether(socket);
  const client = new ssh2.Client();
  const listeners = new Set<(why: Error) => void>();
  let lost: Error | undefined;
  const lose = (why: Error) => {
    if (lost) return;
    lost = why;
    for (const listener of listeners) listener(why);
    listeners.clear();
  };
  const destroy = (why: Error) => {
    lose(why);
    socket.destroy();
  };
  const closed = () => destroy(new Unreachable('the connection was closed'));
  socket.on('error', destroy).on('close', closed);
  client.on('error', destroy).on('close', closed);
  client.on('handshake', () => readKeysOnce(client));
  return {
    client,
    socket,
    name: `${username}@${host}:${port}`,
    lost: () => lost,
    onLost(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    destroy,
    end(why) {
      lose(why);
      client.end();
      socket.destroySoon();
    },
  };
}

/**
 * Sends everything written in one turn of the event loop with one system call. ssh2 writes a packet
 * in three pieces, and without Nagle's algorithm each would be sent separately.
 */
function writeTogether(socket: Socket): void {
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  socket.write = (...given: unknown[]) => {
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    return write(...given);
  };
}

/** Private fields of ssh2 with the ciphers of one key exchange, for AES-GCM. */
interface Ciphers {
  readonly _cipher?: { _encKey?: Buffer | KeyObject };
  readonly _decipher?: { _decipherKey?: Buffer | KeyObject };
}

/**
 * ssh2 creates a cipher for each packet from plain bytes. Node parses them as a key each time, with
 * two errors thrown and caught on the way (24.21). That was a sixth of an upload's cost. A parsed
 * key avoids it. If ssh2 keeps its keys elsewhere, nothing is gained and everything works.
 */
function readKeysOnce(client: Client): void {
  const { _cipher, _decipher } = (client as unknown as { _protocol?: Ciphers })._protocol ?? {};
  if (Buffer.isBuffer(_cipher?._encKey)) _cipher._encKey = createSecretKey(_cipher._encKey);
  if (Buffer.isBuffer(_decipher?._decipherKey)) {
    _decipher._decipherKey = createSecretKey(_decipher._decipherKey);
  }
}

export interface LinkStep {
  /** Verb and object, such as "upload /root/agent to root@10.0.0.1:22". */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly authenticating?: boolean;
  /** The limit begins anew at each progress. */
  readonly isRenewable?: boolean;
}

/**
 * Runs one step on the link. If `work` fails while the link stands, its error passes unchanged.
 * @throws {TimedOut} the limit passed, and the link was closed.
 * @throws {Cancelled} the signal fired, and the link was closed.
 * @throws {Unreachable} the link was lost meanwhile.
 */
export function runStep<T>(
  link: Link,
  clock: Clock,
  step: LinkStep,
  work: (onProgress: () => void) => Promise<T>,
): Promise<T> {
  const { what, timeoutMs, signal, isRenewable = false } = step;
  const cancelled = () => new Cancelled(`${what}: cancelled`, { cause: signal.reason });
  if (signal.aborted) {
    const why = cancelled();
    link.destroy(why);
    return Promise.reject(why);
  }
  const gone = link.lost();
  if (gone) return Promise.reject(lostBefore(gone, what));
  return new Promise((resolve, reject) => {
    let isOver = false;
    const stop = () => {
      isOver = true;
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      forget();
    };
    const giveUp = (why: FleetError) => {
      stop();
      reject(why);
      link.destroy(why);
    };
    const onAbort = () => giveUp(cancelled());
    const missing = isRenewable ? 'progress for' : 'result after';
    const onLimit = () => giveUp(new TimedOut(`${what}: no ${missing} ${timeoutMs} ms`));
    let timer = clock.setTimeout(onLimit, timeoutMs);
    const onProgress = () => {
      clock.clearTimeout(timer);
      if (!isOver) timer = clock.setTimeout(onLimit, timeoutMs);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const forget = link.onLost((why) => {
      stop();
      reject(toFleetError(why, what, step.authenticating));
    });
    work(onProgress).then(
      (result) => {
        stop();
        resolve(result);
      },
      (error: unknown) => {
        stop();
        reject(toFleetError(error, what, step.authenticating));
      },
    );
  });
}

/**
 * Error of a step on a lost link. The earlier step has reported the loss, unless the link was lost
 * between two steps because of the host key.
 */
const lostBefore = (why: Error, what: string) => {
  if (why instanceof HostKeyRejected) return why;
  return why instanceof Cancelled
    ? new Cancelled(`${what}: the connection was closed by us`, { cause: why })
    : new Unreachable(`${what}: the connection is lost`, { cause: why });
};

/** SSH_DISCONNECT_PROTOCOL_ERROR: OpenSSH's code for "Too many authentication failures". */
const protocolError = 2;
/** SSH_DISCONNECT_NO_MORE_AUTH_METHODS_AVAILABLE (RFC 4253 §11.1). */
const noMoreAuthMethods = 14;

/**
 * Translates a broken connection's error by ssh2's `level`, errno or disconnect reason. `what`
 * gives the operation and the machine, such as "connect to root@10.0.0.1:22".
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
  // An ssh2 parse error has a level, or neither level nor code; a socket's error has a code.
  const unread = authenticating && level === undefined && code === undefined;
  if (level === 'protocol' || level === 'handshake' || unread) {
    const remedy = remedyFor(cause instanceof Error ? cause.message : '');
    return new NoCommonProtocol(`${what}: ${remedy ?? 'no SSH that we understand'}`, { cause });
  }
  return new Unreachable(`${what} failed`, { cause });
}

/** Adds the operation; our own errors (cancelled, timed out) already contain it. */
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

/** @param hostKey base64 of the wire form. */
export const seenHostKey = (hostKey: string): SeenHostKey => ({
  hostKey,
  fingerprint: fingerprintOf(hostKey),
});

/**
 * Accepts or rejects a host key.
 * @throws {HostKeyRejected} the rule does not allow it. @throws {UsageError} the rule contains no
 *   valid fingerprint.
 */
export function assertAllowed({ hostKey, fingerprint }: SeenHostKey, rule: HostKeyRule): void {
  const named = ('told' in rule ? rule.told : rule.unlike).map(spelled);
  const isNamed = [fingerprint, md5Of(hostKey)].some((each) => named.includes(each));
  if ('told' in rule) {
    if (named.length === 0) throw new UsageError('no expected host key is known');
    if (!isNamed) {
      throw new HostKeyRejected(`the host key ${fingerprint} is not an expected one`);
    }
  } else if (isNamed) {
    throw new HostKeyRejected(`the host key ${fingerprint} must not answer here`);
  }
}

const md5Of = (hostKey: string): string => {
  const hex = createHash('md5').update(Buffer.from(hostKey, 'base64')).digest('hex');
  return hex.replaceAll(/(..)(?!$)/g, '$1:');
};

const MD5 = /^(?:MD5:)?((?:[0-9a-f]{2}:){15}[0-9a-f]{2})$/i;

/** Normalizes a fingerprint. @throws {UsageError} the text is no fingerprint. */
function spelled(text: string): string {
  const md5 = MD5.exec(text)?.[1];
  if (md5 !== undefined) return md5.toLowerCase();
  if (/^SHA256:[A-Za-z0-9+/]{43}=?$/.test(text)) return text.replace(/=$/, '');
  throw new UsageError('this is not a host key fingerprint');
}
