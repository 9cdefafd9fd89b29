import type { HostListener } from './host.ts';
import type { HostsLog } from './options.ts';

/** A listener, once it listens. */
export interface Listening {
  freeze(on: boolean): void;
  close(): Promise<void>;
}

export interface HostListenerOptions {
  /** For the log: what cannot listen, and where. */
  readonly what: string;
  readonly where: () => object;
  readonly log: HostsLog;
  /** @throws {Error} the port is taken. */
  listen(): Promise<Listening>;
  /** Runs it after all earlier calls to the host. */
  inTurn(work: () => Promise<void>): Promise<void>;
}

const RETRY_MS = 250;

/** Lets a machine listen at a port as soon as the port is free. */
export function createHostListener({
  what,
  where,
  log,
  listen,
  inTurn,
}: HostListenerOptions): HostListener {
  let listening: Listening | undefined;
  let isFrozen = false;
  let isWanted = false;
  let retry: NodeJS.Timeout | undefined;

  async function open(): Promise<void> {
    clearTimeout(retry);
    isWanted = true;
    if (listening) return;
    try {
      listening = await listen();
      listening.freeze(isFrozen);
    } catch (err) {
      log.error({ ...where(), what, err }, 'a machine cannot listen; trying again');
      retry = setTimeout(() => void inTurn(tryAgain), RETRY_MS);
    }
  }

  const tryAgain = async () => {
    if (isWanted) await open();
  };

  return {
    open,
    async close() {
      clearTimeout(retry);
      isWanted = false;
      const closing = listening;
      listening = undefined;
      await closing?.close();
    },
    freeze(on) {
      isFrozen = on;
      listening?.freeze(on);
    },
  };
}
