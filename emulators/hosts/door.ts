import type { HostDoor } from './host.ts';
import type { HostsLog } from './options.ts';

/** Something that listens, once it does. */
export interface Listening {
  freeze(on: boolean): void;
  close(): Promise<void>;
}

export interface DoorOptions {
  /** For the log: what cannot be listened for, and where. */
  readonly what: string;
  readonly where: () => object;
  readonly log: HostsLog;
  /** @throws {Error} the port is taken. */
  listen(): Promise<Listening>;
  /** Runs it after all that the host was asked before. */
  inTurn(work: () => Promise<void>): Promise<void>;
}

const RETRY_MS = 250;

/** Where a machine listens at a port, as soon as that is free. */
export function createDoor({ what, where, log, listen, inTurn }: DoorOptions): HostDoor {
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
