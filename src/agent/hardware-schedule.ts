import { createHash } from 'node:crypto';
import { hardwareReportCodec, type HardwareReport } from '../wire/codec.ts';

export interface HardwareScheduleDeps {
  /** Problems are the report's warnings. */
  readonly collect: () => Promise<HardwareReport>;
  /** Only differences mean anything, milliseconds. */
  readonly now: () => number;
  readonly log: (message: string) => void;
}

const AGAIN_MS = 24 * 3600_000;
/** How often it is looked whether anything changed. */
const CHECK_MS = 10 * 60_000;

/**
 * When the hardware report goes along: not with the first heartbeat, then with each until one came
 * through; again once a day, when it is asked for, and when it is another than before.
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
    /** The report that the next heartbeat is to carry; null for none. */
    get report(): HardwareReport | null {
      return report;
    },
    /** A heartbeat came through; `carried` is the report it had. */
    accepted(carried: HardwareReport | null, wanted: boolean): void {
      if (carried) {
        deliveredHash = hashOf(carried);
        againAtMs = now() + AGAIN_MS;
        if (report === carried) report = null;
      }
      isDue ||= wanted || now() >= againAtMs;
      if (isCollecting || report) return;
      // Heartbeats do not wait for it: programs that are asked may take their time.
      if (isDue || now() >= checkAtMs) void check();
    },
  };
}

const hashOf = (report: HardwareReport): string =>
  createHash('sha256').update(hardwareReportCodec.encode(report)).digest('base64');
