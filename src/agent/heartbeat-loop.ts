import type {
  AcceptanceResult,
  HardwareReport,
  HeartbeatRequest,
  HeartbeatResponse,
} from '../wire/codec.ts';
import { GrpcError, GrpcStatus } from '../wire/grpc.ts';
import type { CallbackClient } from './callback-client.ts';
import { createHardwareSchedule, type Carried } from './hardware-schedule.ts';
import { clockSkewMs, type JudgeConditions } from './hardware/conditions.ts';
import { createAcceptance, type AcceptanceRunner } from './acceptance.ts';
import { createInstallation, type Installation, type Installer } from './installation.ts';

export interface HeartbeatLoopDeps {
  readonly client: CallbackClient;
  readonly machineId: string;
  readonly bootId: string;
  /** The system is disposable: after an installation, the server may have it rebooted. */
  readonly isThrowAway: boolean;
  readonly agentVersion: string;
  /** Seconds since the machine's boot. */
  readonly uptime: () => number;
  /** Problems appear as warnings in the report. */
  readonly hardwareReport: () => Promise<HardwareReport>;
  /** Default: nothing is known. */
  readonly judge?: JudgeConditions;
  readonly install: Installer;
  /** Absent: requests for an acceptance are ignored, as by an older agent. */
  readonly accept?: AcceptanceRunner;
  readonly time: LoopTime;
  /** Called when the loop starts to succeed or to fail, not for every call. */
  readonly log: (message: string) => void;
}

/** Time and chance. */
export interface LoopTime {
  /** Monotonic milliseconds; only differences count. */
  now(): number;
  /** The machine's clock, epoch milliseconds. */
  wallMs(): number;
  /** Resolves after the delay, or as soon as the signal aborts. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

/**
 * Why the loop ended. `disowned`: our key was unknown for half an hour. `installed`: an image was
 * installed, and the server wants a reboot.
 */
export type LoopEnd = 'stopped' | 'disowned' | 'installed';

const PERIOD_MS = 30_000;
const PERIOD_SPREAD = 0.1;
const PERIOD_MAX_SECONDS = 3600n;
const DISOWNED_AFTER_MS = 30 * 60_000;
const REFUSALS: ReadonlySet<number> = new Set([
  GrpcStatus.unauthenticated,
  GrpcStatus.permissionDenied,
]);
/** Shortest pause, even for urgent reports, so that no answer makes the loop spin. */
const BREATH_MS = 200;
const PHASES = { idle: 0, installing: 1, reporting: 2 } as const;

/** Reports until the signal aborts. Every iteration pauses, whatever its result. */
export async function runHeartbeatLoop(
  deps: HeartbeatLoopDeps,
  signal: AbortSignal,
): Promise<LoopEnd> {
  const turn = createTurn(deps);
  try {
    while (!signal.aborted) {
      const result = await turn.next(signal);
      if (signal.aborted) break;
      if (typeof result === 'string') return result;
      await turn.pause(result.delayMs, signal);
    }
    return 'stopped';
  } finally {
    turn.stop();
  }
}

function createTurn(deps: HeartbeatLoopDeps) {
  let wake = new AbortController();
  const { time, log } = deps;
  const installation = createInstallation({
    install: deps.install,
    onResult: () => wake.abort(),
    sleep: (delayMs, signal) => time.sleep(delayMs, signal),
  });
  let skewMs: number | null = null;
  const hardware = createHardwareSchedule({
    collect: deps.hardwareReport,
    judge: (report) => deps.judge?.(report, skewMs) ?? [],
    now: () => time.now(),
    log,
  });
  const { accept: check } = deps;
  /** The server gets the result together with what the machine has now, for example a new disk. */
  const run: AcceptanceRunner = async (...request) => {
    await hardware.look();
    return check!(...request);
  };
  const acceptance = check ? createAcceptance({ run, onResult: () => wake.abort() }) : null;
  const failing = createFailureTrack(deps);
  let periodMs = PERIOD_MS;
  let isHardwareLeftOut = false;

  const accept = (request: HeartbeatRequest, response: HeartbeatResponse): LoopEnd | null => {
    failing.cleared();
    const carried = {
      hardwareReport: request.hardwareReport ?? null,
      conditions: request.condition ?? null,
    };
    hardware.accepted(carried, response.sendHardwareReport === true);
    periodMs = periodOf(response) ?? periodMs;
    if (request.acceptance) acceptance?.delivered(request.acceptance);
    if (response.acceptance) acceptance?.consider(response.acceptance, skewMs);
    const { installationReport: report } = request;
    if (report?.success && deps.isThrowAway) {
      if (response.reboot === true) return 'installed';
      // Each heartbeat carries it until the server says that it is too early or wants another
      // image.
      const wanted = response.installationRequest?.generation ?? report.generation;
      if (wanted === report.generation) return null;
      installation.delivered(report);
    } else if (report && installation.delivered(report)) {
      log('an image was installed; the machine is not rebooted, because its system must be kept');
    }
    if (response.installationRequest) installation.consider(response.installationRequest);
    return null;
  };
  /** Drops a report that the server rejects, because heartbeats come first. */
  const lighten = (request: HeartbeatRequest, { status }: GrpcError) => {
    const { hardwareReport, installationReport } = request;
    const isInvalid = status === GrpcStatus.invalidArgument;
    if (isInvalid && installationReport) {
      installation.refused(installationReport);
      log('the server rejects the installation report; it is dropped');
    } else if (isInvalid || status === GrpcStatus.resourceExhausted) {
      isHardwareLeftOut = Boolean(hardwareReport);
    }
  };

  return {
    /** Makes one call. Returns why to end, or the pause before the next call. */
    async next(signal: AbortSignal): Promise<LoopEnd | { delayMs: number }> {
      wake = new AbortController();
      const { report, conditions } = hardware;
      const carried = { hardwareReport: isHardwareLeftOut ? null : report, conditions };
      isHardwareLeftOut = false;
      const request = buildRequest(deps, installation, {
        ...carried,
        acceptance: acceptance?.result ?? null,
      });
      const sentMs = time.wallMs();
      try {
        const response = await deps.client.heartbeat(request, signal);
        const serverMs = Number(response.clockMs ?? 0);
        skewMs = clockSkewMs({ serverMs, sentMs, receivedMs: time.wallMs() });
        const end = accept(request, response);
        return end ?? { delayMs: spread(periodMs, PERIOD_SPREAD, deps.time.random()) };
      } catch (error) {
        if (signal.aborted) return 'stopped';
        if (error instanceof GrpcError) lighten(request, error);
        return failing.failed(error) ? 'disowned' : { delayMs: failing.delayMs() };
      }
    },
    /** Ends early if an installation report is ready. */
    async pause(delayMs: number, signal: AbortSignal): Promise<void> {
      const breathMs = Math.min(delayMs, BREATH_MS);
      await time.sleep(breathMs, signal);
      await time.sleep(delayMs - breathMs, AbortSignal.any([signal, wake.signal]));
    },
    stop: () => installation.stop(),
  };
}

function periodOf({ heartbeatIntervalSeconds }: HeartbeatResponse): number | null {
  const seconds = heartbeatIntervalSeconds ?? 0n;
  if (seconds < 1n) return null;
  return Number(seconds > PERIOD_MAX_SECONDS ? PERIOD_MAX_SECONDS : seconds) * 1000;
}

function buildRequest(
  deps: HeartbeatLoopDeps,
  installation: Installation,
  { hardwareReport, conditions, acceptance }: Carried & { acceptance: AcceptanceResult | null },
): HeartbeatRequest {
  return {
    machineId: deps.machineId,
    bootId: deps.bootId,
    agentVersion: deps.agentVersion,
    phase: PHASES[installation.phase],
    uptimeSeconds: BigInt(Math.floor(deps.uptime())),
    ...(hardwareReport ? { hardwareReport } : {}),
    ...(conditions ? { condition: conditions } : {}),
    ...(acceptance ? { acceptance } : {}),
    ...(installation.report ? { installationReport: installation.report } : {}),
  };
}

function createFailureTrack({ log, time }: HeartbeatLoopDeps) {
  let failures = 0;
  let last: string | null = null;
  let refusedSinceMs: number | null = null;
  const say = (state: string) => {
    if (state !== last) log(state);
    last = state;
  };
  return {
    delayMs: () => failureDelayMs(failures, time.random()),
    cleared() {
      failures = 0;
      refusedSinceMs = null;
      say('heartbeats are accepted');
    },
    /** Returns whether only refusals have come for too long. */
    failed(error: unknown): boolean {
      failures += 1;
      const refused = error instanceof GrpcError && REFUSALS.has(error.status);
      refusedSinceMs = refused ? (refusedSinceMs ?? time.now()) : null;
      say(`heartbeats fail: ${error instanceof Error ? error.message : String(error)}`);
      return refusedSinceMs !== null && time.now() - refusedSinceMs > DISOWNED_AFTER_MS;
    },
  };
}

const FIRST_MS = 500;
const FACTOR = 1.5;
const SPREAD = 0.5;
const MAX_MS = 60_000;

/**
 * Pause after the `failures`-th failure in a row (from 1), milliseconds: 500 ms, growing by half
 * each time, ±50 %, at most a minute. `random` is uniform in [0, 1).
 */
export function failureDelayMs(failures: number, random: number): number {
  const base = Math.min(FIRST_MS * FACTOR ** (failures - 1), MAX_MS);
  return Math.min(spread(base, SPREAD, random), MAX_MS);
}

/** Moves the value by up to ± its share, so that agents do not run in step. */
export const spread = (value: number, share: number, random: number): number =>
  value * (1 + share * (2 * random - 1));
