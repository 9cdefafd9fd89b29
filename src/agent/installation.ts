import type { InstallationReport, InstallationRequest } from '../wire/codec.ts';

/** Installs an operating system. The message of a rejection becomes the report's error. */
export type Installer = (request: InstallationRequest, signal: AbortSignal) => Promise<void>;

export type Installation = ReturnType<typeof createInstallation>;

export interface InstallationDeps {
  readonly install: Installer;
  /** Called when a report is ready. */
  readonly onResult: () => void;
  /** Resolves after the delay, or as soon as the signal aborts. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

const LIMIT_MS = 15 * 60_000;
/** Time for a cancelled installation to end, because a disk may hang forever. */
const END_MS = 10_000;
const ERROR_MAX = 4096;

/** Runs installation requests one at a time and keeps the report until its delivery. */
export function createInstallation(deps: InstallationDeps) {
  let generation: bigint | null = null;
  let phase: Installation['phase'] = 'idle';
  let report: InstallationReport | null = null;
  const cancel = new AbortController();
  const drop = (done: InstallationReport): boolean => {
    if (report !== done) return false;
    report = null;
    phase = 'idle';
    return true;
  };
  const finish = (result: InstallationReport) => {
    if (cancel.signal.aborted) return;
    report = result;
    phase = 'reporting';
    deps.onResult();
  };
  return {
    get phase(): 'idle' | 'installing' | 'reporting' {
      return phase;
    },
    /** The result to deliver. */
    get report(): InstallationReport | null {
      return report;
    },
    /** Starts the request, unless one is running or this generation was handled already. */
    consider(request: InstallationRequest): void {
      const wanted = request.generation ?? 0n;
      if (phase !== 'idle' || wanted === generation) return;
      generation = wanted;
      phase = 'installing';
      void attempt(deps, request, cancel.signal).then(finish);
    },
    /** The report was delivered. Returns whether it reported success. */
    delivered: (done: InstallationReport): boolean =>
      drop(done) && done.success !== undefined && done.success !== null,
    /** The server will never accept the report; its generation is not tried again. */
    refused: (done: InstallationReport): void => void drop(done),
    /** Cancels the current installation and drops its result. */
    stop: (): void => cancel.abort(new Error('the agent ends')),
  };
}

async function attempt(
  deps: InstallationDeps,
  request: InstallationRequest,
  cancelled: AbortSignal,
): Promise<InstallationReport> {
  const generation = request.generation ?? 0n;
  try {
    if (generation < 1n) throw new Error(`generation ${generation} is not positive`);
    await withinLimit(deps, request, cancelled);
    return { generation, success: {} };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { generation, error: { error: message.slice(0, ERROR_MAX) } };
  }
}

/** Ends soon after the limit, even if the installer does not. */
async function withinLimit(
  { install, sleep }: InstallationDeps,
  request: InstallationRequest,
  cancelled: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const done = new AbortController();
  const signal = AbortSignal.any([over.signal, cancelled]);
  const limit = async () => {
    await sleep(LIMIT_MS, done.signal);
    const tooLong = new Error(`it took longer than ${LIMIT_MS / 60_000} minutes`);
    over.abort(tooLong);
    await sleep(END_MS, done.signal);
    throw tooLong;
  };
  const running = install(request, signal).catch((error: unknown) => {
    // The abort's reason says more than the installer's error.
    signal.throwIfAborted();
    throw error;
  });
  try {
    await Promise.race([running, limit()]);
  } finally {
    done.abort();
  }
}
