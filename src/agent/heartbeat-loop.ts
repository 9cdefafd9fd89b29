import type { HardwareReport, HeartbeatRequest, HeartbeatResponse } from '../wire/codec.ts';
import { GrpcError, GrpcStatus } from '../wire/grpc.ts';
import { failureDelayMs, spread } from './backoff.ts';
import type { CallbackClient } from './callback-client.ts';
import { createInstallation } from './installation.ts';
import type { Installation, Installer } from './installation.ts';

export interface HeartbeatLoopDeps {
  readonly client: CallbackClient;
  readonly machineId: string;
  readonly bootId: string;
  readonly agentVersion: string;
  /** Seconds since the machine's boot. */
  readonly uptime: () => number;
  /** Never rejects; problems are the report's warnings. */
  readonly hardwareReport: () => Promise<HardwareReport>;
  readonly install: Installer;
  readonly time: LoopTime;
  /** Called when the loop starts to succeed or to fail, not for every call. */
  readonly log: (message: string) => void;
}

/** Time and chance. */
export interface LoopTime {
  /** Only differences mean anything, milliseconds. */
  now(): number;
  /** Resolves after the time, or as soon as the signal is aborted. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Why the loop ended. `disowned`: for half an hour nobody knew our key. */
export type LoopEnd = 'stopped' | 'disowned' | 'installed';

const PERIOD_MS = 30_000;
const PERIOD_SPREAD = 0.1;
const PERIOD_MAX_SECONDS = 3600n;
const DISOWNED_AFTER_MS = 30 * 60_000;
const REPORT_AGAIN_MS = 24 * 3600_000;
const PHASES = { idle: 0, installing: 1, reporting: 2 } as const;

/** Reports until the signal says stop. Every turn of the loop sleeps, whatever it met. */
export async function runHeartbeatLoop(
  deps: HeartbeatLoopDeps,
  signal: AbortSignal,
): Promise<LoopEnd> {
  const turn = createTurn(deps);
  while (!signal.aborted) {
    const result = await turn.next(signal);
    if (signal.aborted) break;
    if (typeof result === 'string') return result;
    await turn.pause(result.delayMs, signal);
  }
  return 'stopped';
}

function createTurn(deps: HeartbeatLoopDeps) {
  let wake = new AbortController();
  const installation = createInstallation(deps.install, () => wake.abort());
  const hardware = createReportSchedule(deps.time);
  const failing = createFailureTrack(deps);
  let periodMs = PERIOD_MS;

  const accept = (request: HeartbeatRequest, response: HeartbeatResponse): LoopEnd | null => {
    failing.cleared();
    hardware.sent(Boolean(request.hardwareReport), response.sendHardwareReport === true);
    periodMs = periodOf(response) ?? periodMs;
    if (request.installationReport && installation.delivered(request.installationReport)) {
      return 'installed';
    }
    if (response.installationRequest) installation.consider(response.installationRequest);
    return null;
  };

  return {
    /** One call. Answers why to end, or how long to wait before the next. */
    async next(signal: AbortSignal): Promise<LoopEnd | { delayMs: number }> {
      wake = new AbortController();
      const request = await buildRequest(deps, installation, hardware.due());
      try {
        const end = accept(request, await deps.client.heartbeat(request, signal));
        return end ?? { delayMs: spread(periodMs, PERIOD_SPREAD, deps.time.random()) };
      } catch (error) {
        if (signal.aborted) return 'stopped';
        return failing.failed(error) ? 'disowned' : { delayMs: failing.delayMs() };
      }
    },
    /** Ends early when there is an installation report to send. */
    pause: (delayMs: number, signal: AbortSignal): Promise<void> =>
      deps.time.sleep(delayMs, AbortSignal.any([signal, wake.signal])),
  };
}

function periodOf({ heartbeatIntervalSeconds }: HeartbeatResponse): number | null {
  const seconds = heartbeatIntervalSeconds ?? 0n;
  if (seconds < 1n) return null;
  return Number(seconds > PERIOD_MAX_SECONDS ? PERIOD_MAX_SECONDS : seconds) * 1000;
}

async function buildRequest(
  deps: HeartbeatLoopDeps,
  installation: Installation,
  withHardware: boolean,
): Promise<HeartbeatRequest> {
  return {
    machineId: deps.machineId,
    bootId: deps.bootId,
    agentVersion: deps.agentVersion,
    phase: PHASES[installation.phase],
    uptimeSeconds: BigInt(Math.floor(deps.uptime())),
    ...(withHardware ? { hardwareReport: await deps.hardwareReport() } : {}),
    ...(installation.report ? { installationReport: installation.report } : {}),
  };
}

/** The report is not part of the first heartbeat, then of each until one succeeds, then daily. */
function createReportSchedule(time: LoopTime) {
  let dueAtMs = Infinity;
  let delivered = false;
  return {
    due: () => time.now() >= dueAtMs,
    sent(withReport: boolean, wanted: boolean) {
      if (withReport) {
        delivered = true;
        dueAtMs = time.now() + REPORT_AGAIN_MS;
      }
      if (wanted || !delivered) dueAtMs = -Infinity;
    },
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
    /** Answers whether refusals, and nothing else, went on for too long. */
    failed(error: unknown): boolean {
      failures += 1;
      const refused = error instanceof GrpcError && error.status === GrpcStatus.unauthenticated;
      refusedSinceMs = refused ? (refusedSinceMs ?? time.now()) : null;
      say(`heartbeats fail: ${error instanceof Error ? error.message : String(error)}`);
      return refusedSinceMs !== null && time.now() - refusedSinceMs > DISOWNED_AFTER_MS;
    },
  };
}
