import { freemem, tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentInitCodec, type TakeoverInit } from '../wire/codec.ts';
import { createAcceptanceRunner, readSpeed, writeTemporary } from './acceptance.ts';
import { createCallbackClient, type CallbackClient, parseEndpoint } from './callback-client.ts';
import { createClientIdentity, splitKeyPair, type RawKeyPair } from './keys.ts';
import { createConditions } from './hardware/conditions.ts';
import { collectHardwareReport } from './hardware/report.ts';
import { runHeartbeatLoop } from './heartbeat-loop.ts';
import type { HeartbeatLoopDeps, LoopEnd, LoopTime } from './heartbeat-loop.ts';
import { createImageInstaller } from './install/generic-image.ts';
import type { Installer } from './installation.ts';
import { log, type Program } from './program.ts';
import { forgetAgent } from './pid-file.ts';
import { keepForNextBoot, openSystem, type System } from './system.ts';
import { readAll } from './takeover.ts';

/** Defined by the bundler. */
declare const SHEPHERD_VERSION: string;

/** The agent's name, such as `shepherd-agent/0.1.0`. */
const agentVersion = `shepherd-agent/${
  typeof SHEPHERD_VERSION === 'undefined' ? 'source' : SHEPHERD_VERSION
}`;

const CALL_TIMEOUT_MS = 10_000;
/** Time between the last message to the server and the reboot. */
const LAST_WORD_MS = 1_000;

/**
 * The long-running part of the program. Reports until SIGTERM or SIGINT, until its key was unknown
 * for half an hour, or until the machine must reboot into an installed image. An agent that is
 * unknown or cannot start ends and touches nothing, because others may own the machine by now.
 * Reads `AgentInit` from standard input.
 */
export async function runAgent({ path }: Program): Promise<void> {
  const stop = stopSignal();
  const system = openSystem();
  const input = await readAll(process.stdin);
  // The agent start died before its answer, so nobody knows this agent.
  if (input.length === 0) return log('ended: the agent start was not completed');
  keepForNextBoot(input);
  const agent = await setUp(input, system).catch((error: unknown) => {
    log(`cannot start: ${error instanceof Error ? error.message : String(error)}`);
  });
  const end = agent ? await runHeartbeatLoop(agent, stop) : 'unusable';
  agent?.client.close();
  log(`ended: ${end}`);
  await rebootAfter(end, system, stop);
  forgetAgent(path, process.pid);
}

/** Reboots the machine only after an installation. */
export async function rebootAfter(
  end: LoopEnd | 'unusable',
  { reboot }: Pick<System, 'reboot'>,
  stop: AbortSignal,
  { sleep: wait }: Pick<LoopTime, 'sleep'> = systemTime,
): Promise<void> {
  if (end !== 'installed') return;
  await wait(LAST_WORD_MS, stop);
  if (!stop.aborted) await reboot();
}

async function setUp(input: Buffer, system: System): Promise<HeartbeatLoopDeps> {
  const { init, pair } = readInit(input);
  const { caCertificate } = init;
  const trust = caCertificate?.length ? new X509Certificate(caCertificate).toString() : null;
  const client: CallbackClient = createCallbackClient({
    endpoint: parseEndpoint(init.bmaasEndpoint ?? ''),
    identity: await createClientIdentity(pair),
    trust,
    callTimeoutMs: CALL_TIMEOUT_MS,
  });
  return {
    client,
    machineId: init.machineId ?? '',
    bootId: system.bootId,
    isThrowAway: init.throwAway === true,
    agentVersion,
    uptime,
    hardwareReport: () => collectHardwareReport(system.diskRoot ?? '/', system.programs),
    judge: createConditions(system.diskRoot),
    install: installerOf(system, trust),
    accept: acceptanceOf(system),
    time: systemTime,
    log,
  };
}

function acceptanceOf({ diskRoot, programs }: System) {
  const root = diskRoot ?? '/';
  return createAcceptanceRunner({
    collect: () => collectHardwareReport(root, programs),
    judge: (report, skewMs) => createConditions(diskRoot)(report, skewMs),
    writeRoot: () => writeTemporary(diskRoot ?? tmpdir()),
    readSpeed: ({ name, capacityBytes }) =>
      readSpeed(join(root, 'dev', name ?? ''), Number(capacityBytes ?? 0n), systemTime),
  });
}

function installerOf(system: System, trust: string | null): Installer {
  const { diskRoot, isReal, programs } = system;
  if (diskRoot === null) {
    return () => Promise.reject(new Error('this machine has no disk for an installation'));
  }
  return createImageInstaller({
    root: diskRoot,
    isReal,
    programs,
    trust,
    time: systemTime,
    log,
    dropCaches: () => system.dropCaches(),
    // Half of the free memory: the rest is for unpacking and for other programs.
    roomBytes: () => freemem() / 2,
  });
}

const systemTime: LoopTime = {
  now: () => performance.now(),
  wallMs: Date.now,
  // Rejects only when aborted, which is one of the two ways to wake up.
  sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }).catch(() => undefined),
  random: Math.random,
};

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stop.abort());
  return stop.signal;
}

function readInit(bytes: Uint8Array): { init: TakeoverInit; pair: RawKeyPair } {
  const { takeoverInit, privateKey } = agentInitCodec.decode(bytes);
  if (!takeoverInit || !privateKey) throw new Error('the agent start passed no AgentInit');
  return { init: takeoverInit, pair: splitKeyPair(privateKey) };
}
