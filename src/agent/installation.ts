import type { InstallationReport, InstallationRequest } from '../wire/codec.ts';

/** Installs an operating system. A rejection's message becomes the report's error. */
export type Installer = (request: InstallationRequest, signal: AbortSignal) => Promise<void>;

/** Runs installation requests one at a time and keeps the report until it was delivered. */
export interface Installation {
  readonly phase: 'idle' | 'installing' | 'reporting';
  /** The result that waits for delivery. */
  readonly report: InstallationReport | null;
  /** Starts the request, unless one runs or this generation was dealt with already. */
  consider(request: InstallationRequest): void;
  /** The report came through. Answers whether it was one of success. */
  delivered(report: InstallationReport): boolean;
}

const LIMIT_MS = 15 * 60_000;

/** `onResult` runs when a report is ready to be sent. */
export function createInstallation(install: Installer, onResult: () => void): Installation {
  let generation: bigint | null = null;
  let phase: Installation['phase'] = 'idle';
  let report: InstallationReport | null = null;
  const finish = (result: InstallationReport) => {
    report = result;
    phase = 'reporting';
    onResult();
  };
  return {
    get phase() {
      return phase;
    },
    get report() {
      return report;
    },
    consider(request) {
      const wanted = request.generation ?? 0n;
      if (phase !== 'idle' || wanted === generation) return;
      generation = wanted;
      phase = 'installing';
      void attempt(install, request, wanted).then(finish);
    },
    delivered(done) {
      if (report !== done) return false;
      report = null;
      phase = 'idle';
      return done.success !== undefined && done.success !== null;
    },
  };
}

async function attempt(
  install: Installer,
  request: InstallationRequest,
  generation: bigint,
): Promise<InstallationReport> {
  try {
    if (generation < 1n) throw new Error(`generation ${generation} is not positive`);
    await install(request, AbortSignal.timeout(LIMIT_MS));
    return { generation, success: {} };
  } catch (error) {
    return { generation, error: { error: error instanceof Error ? error.message : String(error) } };
  }
}

/**
 * For an agent that runs inside the throw-away system it was copied to: its disk is in use, so no
 * image can be written. Says so instead of leaving the request without an answer.
 */
export const refuseInstallation: Installer = (request) =>
  Promise.reject(
    new Error(`this agent cannot install ${request.type ?? 'an operating system of unknown type'}`),
  );
