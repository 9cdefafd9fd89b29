import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentInitCodec } from '../wire/codec.ts';
import type { TakeoverInit } from '../wire/codec.ts';
import { createCallbackClient } from './callback-client.ts';
import { createClientIdentity } from './client-certificate.ts';
import { parseEndpoint } from './endpoint.ts';
import { collectHardwareReport } from './hardware-report.ts';
import { runHeartbeatLoop } from './heartbeat-loop.ts';
import type { LoopTime } from './heartbeat-loop.ts';
import { refuseInstallation } from './installation.ts';
import { splitKeyPair } from './keys.ts';
import type { RawKeyPair } from './keys.ts';
import { forgetAgent } from './pid-file.ts';
import { readAll } from './takeover.ts';
import { agentVersion } from './version.ts';

/** Names a file that stands in for the kernel's boot id, for simulated machines. */
const BOOT_ID_VARIABLE = 'SHEPHERD_AGENT_BOOT_ID_FILE';
const KERNEL_BOOT_ID = '/proc/sys/kernel/random/boot_id';
const CALL_TIMEOUT_MS = 10_000;

/**
 * The long life of the program: reports until SIGTERM or SIGINT. Reads `AgentInit` from standard
 * input. @throws {Error} it cannot set itself up.
 */
export async function runAgent(executable: string): Promise<void> {
  const stop = stopSignal();
  const { init, pair } = readInit(await readAll(process.stdin));
  const client = createCallbackClient({
    endpoint: parseEndpoint(init.bmaasEndpoint ?? ''),
    identity: await createClientIdentity(pair),
    trust: init.caCertificate?.length ? new X509Certificate(init.caCertificate).toString() : null,
    callTimeoutMs: CALL_TIMEOUT_MS,
  });
  const end = await runHeartbeatLoop(
    {
      client,
      machineId: init.machineId ?? '',
      bootId: readFileSync(process.env[BOOT_ID_VARIABLE] ?? KERNEL_BOOT_ID, 'utf8').trim(),
      agentVersion,
      uptime,
      hardwareReport: () => collectHardwareReport('/'),
      install: refuseInstallation,
      time: systemTime,
      log,
    },
    stop,
  );
  client.close();
  forgetAgent(executable, process.pid);
  log(`ended: ${end}`);
}

const systemTime: LoopTime = {
  now: () => performance.now(),
  // It rejects only when it is aborted, which here is one of the two ways to wake up.
  sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }).catch(() => undefined),
  random: Math.random,
};

/** One line to the log file. */
export const log = (message: string): void => {
  process.stderr.write(`${new Date().toISOString()} ${message}\n`);
};

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop.abort());
  return stop.signal;
}

function readInit(bytes: Uint8Array): { init: TakeoverInit; pair: RawKeyPair } {
  const { takeoverInit, privateKey } = agentInitCodec.decode(bytes);
  if (!takeoverInit || !privateKey) throw new Error('the takeover gave no AgentInit');
  return { init: takeoverInit, pair: splitKeyPair(privateKey) };
}
