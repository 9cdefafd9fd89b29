import { runHeartbeatLoop, type LoopEnd } from '../../src/agent/heartbeat-loop.ts';
import type { Installer } from '../../src/agent/installation.ts';
import type {
  AcceptanceRequest,
  Condition,
  HeartbeatRequest,
  HeartbeatResponse,
} from '../../src/wire/codec.ts';
import { GrpcError } from '../../src/wire/grpc.ts';

/** By the machine's clock. */
const BOOTED_MS = Date.parse('2026-03-01T00:00:00Z');

/** On vitest's fake timers. */
const sleep = (delayMs: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    setTimeout(resolve, delayMs);
  });

/** The loop in virtual time, with a server whose answers the test sets. */
export function createBench(install: Installer = () => Promise.resolve(), isThrowAway = true) {
  const requests: HeartbeatRequest[] = [];
  const stop = new AbortController();
  const answers: (() => HeartbeatResponse)[] = [];
  let otherwise = (): HeartbeatResponse => ({});
  const said: string[] = [];
  const chance = { next: 0.5 };
  const reports = {
    ...{ made: 0, product: 'a', gate: Promise.resolve() },
    conditions: [] as readonly Condition[],
  };
  /** Requests of acceptance that were run, and what the next one waits for. */
  const acceptances = { ran: [] as bigint[], gate: Promise.resolve() };
  /** Of the clock, at each check. */
  const skews: (number | null)[] = [];
  const wallMs = () => BOOTED_MS + performance.now();
  const client = {
    close: () => undefined,
    heartbeat: (request: HeartbeatRequest) => {
      requests.push(request);
      return Promise.resolve().then(answers.shift() ?? otherwise);
    },
  };
  let end: LoopEnd | undefined;
  const deps = {
    client,
    machineId: 'm',
    bootId: 'b',
    isThrowAway,
    agentVersion: 'v',
    uptime: () => 42.9,
    hardwareReport: async () => {
      reports.made += 1;
      await reports.gate;
      return { report: { product: reports.product } };
    },
    install,
    accept: async ({ id = 0n }: AcceptanceRequest) => {
      acceptances.ran.push(id!);
      await acceptances.gate;
      return { id, check: [], found: {} };
    },
    judge: (_: unknown, skewMs: number | null) => {
      skews.push(skewMs);
      return reports.conditions;
    },
    time: { now: () => performance.now(), wallMs, sleep, random: () => chance.next },
    log: (message: string) => void said.push(message),
  };
  // Not before the test has set the answer.
  const loop = Promise.resolve()
    .then(() => runHeartbeatLoop(deps, stop.signal))
    .then((reason) => (end = reason));
  return {
    requests,
    said,
    chance,
    reports,
    skews,
    acceptances,
    wallMs,
    withReport: () => requests.flatMap((each, at) => (each.hardwareReport ? [at] : [])),
    answers,
    stop: () => stop.abort(),
    loop,
    ended: () => end,
    always: (answer: () => HeartbeatResponse) => void (otherwise = answer),
  };
}

export const fail = (status: number) => () => {
  throw new GrpcError(status, 'no');
};
export const MINUTE_MS = 60_000;
