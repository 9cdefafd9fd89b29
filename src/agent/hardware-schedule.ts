import { createHash } from 'node:crypto';
import {
  conditionCodec,
  hardwareReportCodec,
  type Condition,
  type HardwareReport,
} from '../wire/codec.ts';

export interface HardwareScheduleDeps {
  /** Problems appear as warnings in the report. */
  readonly collect: () => Promise<HardwareReport>;
  /** What is wrong with the machine according to a new report. Default: nothing is known. */
  readonly judge?: (report: HardwareReport) => readonly Condition[];
  /** Monotonic milliseconds; only differences count. */
  readonly now: () => number;
  readonly log: (message: string) => void;
}

const AGAIN_MS = 24 * 3600_000;
/** Interval of checks for changes. */
const CHECK_MS = 10 * 60_000;

/** What a heartbeat carries beside itself. */
export interface Carried {
  readonly hardwareReport: HardwareReport | null;
  readonly conditions: readonly Condition[] | null;
}

/**
 * Decides which heartbeats carry the hardware report, and which the conditions. Skips the first
 * heartbeat, then uses each until one succeeds. Repeats both once a day, on request, and each after
 * a change. An acceptance is a request, too.
 */
export function createHardwareSchedule(deps: HardwareScheduleDeps) {
  const { collect, judge = () => [], now, log } = deps;
  let report: HardwareReport | null = null;
  let conditions: readonly Condition[] | null = null;
  let deliveredHash: string | null = null;
  let deliveredConditions: string | null = null;
  let isDue = true;
  let collecting: Promise<void> | null = null;
  let [againAtMs, checkAtMs] = [Infinity, -Infinity];

  const check = async () => {
    checkAtMs = now() + CHECK_MS;
    try {
      const fresh = await collect();
      if (isDue || hashOf(fresh) !== deliveredHash) report = fresh;
      const judged = judge(fresh);
      const isNews = isDue || hashOfConditions(judged) !== deliveredConditions;
      if (isNews && judged.length > 0) conditions = judged;
      isDue = false;
    } catch (error) {
      log(`no hardware report: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      collecting = null;
    }
  };
  /** Repeats both with the next heartbeat. Never rejects. */
  const look = (): Promise<void> => {
    isDue = true;
    return (collecting ??= check());
  };
  return {
    look,
    /** The report for the next heartbeat; null: none. */
    get report(): HardwareReport | null {
      return report;
    },
    /** The conditions for the next heartbeat; null: none. */
    get conditions(): readonly Condition[] | null {
      return conditions;
    },
    /** To be called after a successful heartbeat with what it carried. */
    accepted(carried: Carried, wanted: boolean): void {
      const { hardwareReport } = carried;
      if (hardwareReport) {
        deliveredHash = hashOf(hardwareReport);
        againAtMs = now() + AGAIN_MS;
        if (report === hardwareReport) report = null;
      }
      if (carried.conditions) deliveredConditions = hashOfConditions(carried.conditions);
      if (conditions === carried.conditions) conditions = null;
      isDue ||= wanted || now() >= againAtMs;
      if (collecting || report) return;
      // Heartbeats do not wait, because the called programs may be slow.
      if (isDue || now() >= checkAtMs) collecting = check();
    },
  };
}

const hashOfConditions = (conditions: readonly Condition[]): string =>
  JSON.stringify(
    conditions.map((each) => Buffer.from(conditionCodec.encode(each)).toString('base64')),
  );
const hashOf = (report: HardwareReport): string =>
  createHash('sha256').update(hardwareReportCodec.encode(report)).digest('base64');
