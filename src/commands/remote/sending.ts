import { FleetError } from '../../domain/errors.ts';
import { interruptOf, MaybeSubmitted, NoConsole, Refused } from './failures.ts';
import type { Session } from './session.ts';

/** A request whose answer is lost is repeated at least this long. */
export const ASK_AGAIN_MS = 10_000;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 5_000;

/** After these errors the request may still be in force. */
const DOUBTFUL: ReadonlySet<string> = new Set(['unavailable', 'still-filing', 'internal']);
/** These errors say nothing about an earlier attempt. */
const SILENT: ReadonlySet<string> = new Set(['not-signed-in', 'not-allowed', 'limited']);

const leavesDoubt = (error: FleetError): boolean =>
  error instanceof NoConsole ? error.wasSent : error instanceof Refused && DOUBTFUL.has(error.code);

/** Whether another attempt may help after an error that left doubt. */
const passes = (error: FleetError): boolean =>
  error instanceof NoConsole ||
  (error instanceof Refused && (error.retryable || leavesDoubt(error)));

const settlesDoubt = (error: FleetError): boolean =>
  error instanceof Refused && !SILENT.has(error.code);

/**
 * Sends a request. If the answer is lost, sends it again with the same key.
 * @throws {MaybeSubmitted} no attempt got an answer in time.
 */
export async function sendOnce<Result>(
  key: string,
  send: () => Promise<Result>,
  untilMs: number,
  { monotonic, sleep, signal }: Pick<Session, 'monotonic' | 'sleep' | 'signal'>,
): Promise<Result> {
  let doubt: FleetError | null = null;
  for (let pauseMs = RETRY_FIRST_MS; ; pauseMs = Math.min(RETRY_MAX_MS, pauseMs * 2)) {
    try {
      return await send();
    } catch (error) {
      if (signal.aborted) throw new MaybeSubmitted(key, interruptOf(signal));
      if (!(error instanceof FleetError)) throw error;
      if (leavesDoubt(error)) doubt = error;
      if (doubt === null || (!passes(error) && settlesDoubt(error))) throw error;
      const leftMs = untilMs - monotonic();
      if (!passes(error) || leftMs <= 0) throw new MaybeSubmitted(key, doubt);
      await sleep(Math.min(pauseMs, leftMs));
      if (signal.aborted) throw new MaybeSubmitted(key, interruptOf(signal));
    }
  }
}
