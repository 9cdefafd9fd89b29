import { createHash } from 'node:crypto';
import { hardwareReportCodec, type HardwareReport } from '../wire/codec.ts';

export interface HardwareScheduleDeps {
  /** Problems appear as warnings in the report. */
  readonly collect: () => Promise<HardwareReport>;
  /** Monotonic milliseconds; only differences count. */
  readonly now: () => number;
  readonly log: (message: string) => void;
}

const AGAIN_MS = 24 * 3600_000;
/** Interval of checks for changes. */
const CHECK_MS = 10 * 60_000;

/**
 * Decides which heartbeats carry the hardware report. Skips the first heartbeat, then uses each
 * until one succeeds. Repeats the report once a day, on request, and after a change.
 */
export function createHardwareSchedule(deps: HardwareScheduleDeps) {
  const { collect, now, log } = deps;
  let report: HardwareReport | null = null;
  let deliveredHash: string | null = null;
  let isDue = true;
  let isCollecting = false;
  let [againAtMs, checkAtMs] = [Infinity, -Infinity];

  const check = async () => {
    isCollecting = true;
    checkAtMs = now() + CHECK_MS;
    try {
      const fresh = await collect();
      if (isDue || hashOf(fresh) !== deliveredHash) report = fresh;
      isDue = false;
    } catch (error) {
      log(`no hardware report: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      isCollecting = false;
    }
  };
  return {
    /** The report for the next heartbeat; null: none. */
    get report(): HardwareReport | null {
      return report;
    },
    /** To be called after a successful heartbeat; `carried` is its report. */
    accepted(carried: HardwareReport | null, wanted: boolean): void {
      if (carried) {
        deliveredHash = hashOf(carried);
        againAtMs = now() + AGAIN_MS;
        if (report === carried) report = null;
      }
      isDue ||= wanted || now() >= againAtMs;
      if (isCollecting || report) return;
      // Heartbeats do not wait, because the called programs may be slow.
      if (isDue || now() >= checkAtMs) void check();
    },
  };
}

const hashOf = (report: HardwareReport): string =>
  createHash('sha256').update(hardwareReportCodec.encode(report)).digest('base64');
