import { X509Certificate } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCallbackClient, parseEndpoint } from '../../../src/agent/callback-client.ts';
import { createClientIdentity, splitKeyPair } from '../../../src/agent/keys.ts';
import { runHeartbeatLoop } from '../../../src/agent/heartbeat-loop.ts';
import type { AgentInit, HardwareReport } from '../../../src/wire/codec.ts';
import type { HostsLog, HostsRandom } from '../options.ts';
import type { Gate } from './gate.ts';

export interface LightAgentDeps {
  readonly init: AgentInit;
  readonly deviceId: string;
  readonly bootId: string;
  /** While shut, calls wait as on a broken line. */
  readonly gate: Gate;
  readonly random: Pick<HostsRandom, 'next'>;
  readonly log: HostsLog;
}

/** An answered heartbeat. Times of the wall clock, epoch ms. */
export interface AnsweredHeartbeat {
  readonly machineId: string;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
}
/** Light agents publish each {@link AnsweredHeartbeat} to this diagnostics channel. */
export const ANSWERED_HEARTBEATS = 'shepherd:light:heartbeat';
const answered = channel(ANSWERED_HEARTBEATS);

/** A real agent needs time to start, and its calls are rejected until its start is recorded. */
const BIRTH_MS = 500;
const CALL_TIMEOUT_MS = 10_000;

/**
 * Sends the real agent's heartbeats from this process, over real mutual TLS, until it is stopped.
 * @throws {Error} `AgentInit` has no readable key, endpoint or certificate.
 */
export async function startLightAgent(deps: LightAgentDeps): Promise<{ stop(): void }> {
  const { init, deviceId, bootId, gate, random, log } = deps;
  const { takeoverInit, privateKey } = init;
  if (!takeoverInit || !privateKey) throw new Error('AgentInit is not whole');
  const { bmaasEndpoint, caCertificate, machineId } = takeoverInit;
  const client = createCallbackClient({
    endpoint: parseEndpoint(bmaasEndpoint ?? ''),
    identity: await createClientIdentity(splitKeyPair(privateKey)),
    trust: caCertificate?.length ? new X509Certificate(caCertificate).toString() : null,
    callTimeoutMs: CALL_TIMEOUT_MS,
  });
  const stopping = new AbortController();
  const bornAt = performance.now();
  /** Resolves after the time, or when the signal aborts. */
  const pause = (delayMs: number, signal: AbortSignal) =>
    sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined);
  const live = async ({ signal }: AbortController) => {
    await pause(BIRTH_MS, signal);
    await runHeartbeatLoop(
      {
        client: {
          ...client,
          async heartbeat(request, within) {
            await gate.passed(within);
            const sentAtMs = Date.now();
            const answer = await client.heartbeat(request, within);
            answered.publish({ machineId, sentAtMs, answeredAtMs: Date.now() });
            return answer;
          },
        },
        machineId: machineId ?? '',
        bootId,
        isThrowAway: false,
        agentVersion: 'light',
        uptime: () => (performance.now() - bornAt) / 1_000,
        hardwareReport: async () => hardwareOf(deviceId),
        accept: async ({ id }) => ({
          ...{ id: id ?? 0n, found: { memoryGib: 1 } },
          check: [{ name: 'memory', expected: '1 GiB', found: '1 GiB', status: 1 }],
        }),
        install: () => Promise.reject(new Error('light machines install nothing')),
        time: { now: () => performance.now(), wallMs: Date.now, sleep: pause, random: random.next },
        log: (text) => log.debug({ device: deviceId, text }, 'a light agent speaks'),
      },
      signal,
    );
  };
  const stop = () => {
    stopping.abort();
    client.close();
  };
  live(stopping)
    .catch((err: unknown) => log.error({ device: deviceId, err }, 'light agent failed'))
    .finally(stop);
  return { stop };
}

const hardwareOf = (deviceId: string): HardwareReport => ({
  report: {
    manufacturer: 'Simulator',
    product: 'light machine',
    serialNumber: deviceId,
    memoryInstalledBytes: 1n << 30n,
    memoryUsableRatio: 0.9,
  },
});
