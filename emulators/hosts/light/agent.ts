import { setTimeout as sleep } from 'node:timers/promises';
import type { HeartbeatRequest, HeartbeatResponse, TakeoverInit } from '../../../src/wire/codec.ts';
import type { HostsLog, HostsRandom } from '../options.ts';
import { createCallback } from './callback.ts';
import type { Gate } from './gate.ts';
import type { LightIdentity } from './identity.ts';

export interface LightAgentDeps {
  readonly init: TakeoverInit;
  readonly identity: LightIdentity;
  readonly deviceId: string;
  readonly bootId: string;
  readonly gate: Gate;
  readonly random: Pick<HostsRandom, 'next'>;
  readonly log: HostsLog;
}

/** A real one has to start first; who calls before its start was recorded is turned away for a while. */
const BIRTH_MS = 500;
const PERIOD_MS = 30_000;
const PERIOD_SPREAD = 0.1;
const PERIOD_MAX_SECONDS = 3_600n;
const CALL_TIMEOUT_MS = 10_000;
const FAILURE = { firstMs: 500, factor: 1.5, maxMs: 60_000, spread: 0.5 };

/**
 * An agent that lives in the simulator's process: what it says goes over real mutual TLS, as often
 * and as patiently as the real one says it. Runs until it is stopped.
 * @throws {Error} `TakeoverInit` names no endpoint or certificate that can be read.
 */
export function startLightAgent(deps: LightAgentDeps): { stop(): void } {
  const stopping = new AbortController();
  const callback = createCallback(deps.init, deps.identity);
  const life = createLife(deps);
  const live = async (signal: AbortSignal) => {
    let delayMs = BIRTH_MS;
    while (!signal.aborted) {
      // It rejects only when it is stopped.
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) delayMs = await life.call(callback.heartbeat, signal);
    }
  };
  live(stopping.signal)
    .catch((err: unknown) => deps.log.error({ device: deps.deviceId, err }, 'light agent failed'))
    .finally(() => callback.close());
  return {
    stop() {
      stopping.abort();
      callback.close();
    },
  };
}

type Send = (request: HeartbeatRequest, signal: AbortSignal) => Promise<HeartbeatResponse>;

function createLife({ init, deviceId, bootId, gate, random }: LightAgentDeps) {
  const bornAt = performance.now();
  let failures = 0;
  let periodMs = PERIOD_MS;
  let accepted = 0;
  let reportWanted = true;
  let refused: bigint | null = null;
  let refusal: bigint | null = null;
  const spread = (ms: number, share: number) => ms * (1 + share * (2 * random.next() - 1));

  const request = (): HeartbeatRequest => ({
    machineId: init.machineId ?? '',
    bootId,
    agentVersion: 'light',
    phase: refusal === null ? 0 : 2,
    uptimeSeconds: BigInt(Math.floor((performance.now() - bornAt) / 1_000)),
    // As the real one: not with the first heartbeat.
    ...(accepted > 0 && reportWanted && { hardwareReport: hardwareOf(deviceId) }),
    ...(refusal !== null && {
      installationReport: {
        generation: refusal,
        error: { error: 'light machines install nothing' },
      },
    }),
  });
  const accept = (sent: HeartbeatRequest, answer: HeartbeatResponse) => {
    failures = 0;
    accepted += 1;
    if (sent.hardwareReport) reportWanted = false;
    if (answer.sendHardwareReport) reportWanted = true;
    if (sent.installationReport) {
      refused = refusal;
      refusal = null;
    }
    const generation = answer.installationRequest?.generation ?? null;
    if (generation !== null && generation !== refused) refusal = generation;
    periodMs = periodOf(answer) ?? periodMs;
  };

  return {
    /** One heartbeat; answers how long to wait for the next, ms. */
    async call(send: Send, signal: AbortSignal): Promise<number> {
      const sent = request();
      try {
        accept(sent, await within(CALL_TIMEOUT_MS, signal, (s) => gated(gate, send, sent, s)));
        return spread(periodMs, PERIOD_SPREAD);
      } catch {
        // Every failure is the same to it, as to the real one: it comes again, later each time.
        failures += 1;
        const { firstMs, factor, maxMs, spread: share } = FAILURE;
        return Math.min(maxMs, spread(Math.min(firstMs * factor ** (failures - 1), maxMs), share));
      }
    },
  };
}

/** What was begun before the line went down may still be answered; nothing new gets through. */
async function gated(gate: Gate, send: Send, request: HeartbeatRequest, signal: AbortSignal) {
  await gate.passed(signal);
  return send(request, signal);
}

/** Runs with a signal that also fires after the time. */
async function within<T>(
  limitMs: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const end = () => limit.abort(new Error('stopped or out of time'));
  const timer = setTimeout(end, limitMs);
  timer.unref();
  outer.addEventListener('abort', end, { once: true });
  try {
    return await run(limit.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', end);
  }
}

function periodOf({ heartbeatIntervalSeconds }: HeartbeatResponse): number | null {
  const seconds = heartbeatIntervalSeconds ?? 0n;
  if (seconds < 1n) return null;
  return Number(seconds > PERIOD_MAX_SECONDS ? PERIOD_MAX_SECONDS : seconds) * 1_000;
}

const hardwareOf = (deviceId: string): NonNullable<HeartbeatRequest['hardwareReport']> => ({
  report: {
    manufacturer: 'Simulator',
    product: 'light machine',
    serialNumber: deviceId,
    memoryInstalledBytes: 1n << 30n,
    memoryUsableRatio: 0.9,
  },
});
