import type { TakeoverProtocol } from '../../adapters/agents/port.ts';
import type { Work } from '../../adapters/bmdb/port.ts';
import { sleep } from '../../adapters/clock/port.ts';
import type { ShellSession, UploadFile } from '../../adapters/ssh/port.ts';
import { capabilitiesFor } from '../../domain/provisioning/adoption.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import {
  CommandFailed,
  explain,
  NoCommonProtocol,
  NotImplemented,
  RemoteFailure,
  TimedOut,
  Unreachable,
} from '../../domain/errors.ts';
import type { MachineRow, ProviderMachine } from '../../domain/machine.ts';
import { plainText } from '../../lib/texts.ts';
import type { AgentStartResults } from '../../machines/agent-start.ts';
import type { Job } from '../../machines/task.ts';
import type { Turn } from '../turns/turns.ts';
import { takeEvidence, type EvidenceDeps } from './evidence.ts';
import type { HostKeyEvidence } from './host-key-proof.ts';
import {
  claim,
  connect,
  NOTHING,
  policyFor,
  proveHost,
  readBootId,
  required,
  requireOurs,
  shellOf,
  stepsOf,
  targetOf,
  workEnded,
  type Claimed,
} from './task.ts';

export interface AgentStartDeps extends EvidenceDeps {
  readonly agent: {
    /** One program for all machines, or one per processor name: `x64`, `arm64`. */
    readonly file: UploadFile | ReadonlyMap<string, UploadFile>;
    readonly targetPath: string;
  };
  readonly protocol: TakeoverProtocol;
  readonly backoff: BackoffDescriptor;
}

const PROCESSOR_MAX = 64;
const LONG_BACKOFF_MS = 30 * 60_000;

/** The stage of a start, in the order of its steps. */
type StartStage = 'located' | 'connect' | 'hostkey' | 'upload' | 'execute' | 'protocol' | 'record';

/** A machine whose agent is being started. */
interface Starting extends Claimed<AgentStartDeps> {
  /** Facts that a give-up needs and a chart cannot hold. */
  readonly start: {
    /** The stage at which a failure would occur now. */
    at: StartStage;
    /** The provider's view of the machine, with the proof of its host key. */
    machine?: ProviderMachine;
  };
}
type StartContext<Part extends keyof AgentStartResults = never> = Starting &
  Pick<AgentStartResults, Part>;
type Trust = AgentStartResults['trust'];

/** The services of the `agentStart` chart. Each step may run again after a crash. */
export function agentStartServices(deps: AgentStartDeps) {
  const { claim: claimed, step, giveUp } = stepsOf(deps, beginStart);
  return {
    claimStart: claimed<void>(() => undefined),
    connect: step(locateAndConnect),
    verifyHost: step(verifyHost),
    upload: step(upload),
    execute: step(execute),
    recordStart: step(recordStart),
    giveUp: giveUp({
      message: 'agent start failed',
      backoffFor(failure, { work, start }) {
        const code = failure?.code ?? '';
        if (NEEDS_PEOPLE.has(code)) return longBackoff(deps.backoff, work);
        const broke = code === 'unreachable' && !isOnTheWay(start.at);
        return broke && isBooting(work.row) ? BOOT_BACKOFF : deps.backoff;
      },
      effects: (failure, { start }) => ({
        ...(start.at === 'connect' &&
          OUT_OF_REACH.has(failure?.code ?? '') && { unreachable: true }),
        ...(isOnTheWay(start.at) && OF_THE_WAY.has(failure?.code ?? '') && { unreached: true }),
      }),
      onFailed: (failure, { start: { at } }) => {
        const isAuth = at === 'connect' && failure?.code === 'denied';
        const what = isAuth ? 'auth' : at === 'located' ? 'connect' : at;
        deps.metrics.count('shepherd_agent_start_failures_total', { class: what });
      },
    }),
  };
}

const isOnTheWay = (at: StartStage): boolean => at === 'located' || at === 'connect';

const beginStart = async (deps: AgentStartDeps, turn: Turn, job: Job): Promise<Starting> => ({
  ...(await claim(deps, 'ShepherdAgentStart', turn, job)),
  start: { at: 'located' },
});

async function locateAndConnect(given: StartContext) {
  const { start } = given;
  const machine = await requireOurs(given);
  // Without an address, nothing has left for the machine.
  targetOf(given, machine);
  Object.assign(start, { machine, at: 'connect' });
  await connectWhileBooting(given, machine);
  start.at = 'hostkey';
}

async function verifyHost(given: StartContext): Promise<Pick<AgentStartResults, 'trust'>> {
  const { signal, start } = given;
  const session = shellOf(given);
  const evidence = await proveHost(given, required(start.machine, 'place'), session);
  const newHostKey = believe(given, evidence);
  const bootId = await readBootId(session, signal);
  start.at = 'upload';
  return { trust: { bootId, newHostKey } };
}

async function upload(given: StartContext<'trust'>) {
  const { signal, start } = given;
  const { file, targetPath } = given.deps.agent;
  const shell = shellOf(given);
  const program = 'content' in file ? file : await programFor(file, shell, signal);
  if (isNodeScript(program)) await requireNode(shell, signal);
  await shell.upload(targetPath, program, signal);
  start.at = 'execute';
}

async function execute(given: StartContext<'trust'>): Promise<Pick<AgentStartResults, 'agent'>> {
  const { deps, slot, work, start, signal } = given;
  const { agent, protocol, log } = deps;
  const { newHostKey } = given.trust;
  await work.note({
    kind: 'agentStartAttempt',
    ...(newHostKey !== null && { hostKey: newHostKey }),
  });
  const question = protocol.request(work.machineId, toldOf(given));
  const { stdout, stderr } = await shellOf(given).execute([agent.targetPath], question, signal);
  if (stderr.length > 0) {
    const text = plainText(stderr.toString('utf8'));
    log.warn({ slot, stderr: text }, 'the agent wrote to standard error');
  }
  start.at = 'protocol';
  const { publicKey, warnings } = protocol.answer(work.machineId, stdout, toldOf(given));
  start.at = 'record';
  return { agent: { publicKey: Buffer.from(publicKey).toString('hex'), warnings } };
}

async function recordStart(given: StartContext<'trust' | 'agent'>): Promise<void> {
  const { deps, slot, work, trust, agent } = given;
  // The machine needs no place any more: during this commit, the next machine may be claimed.
  deps.taskPool.leavePlace(slot);
  // Under the lease, and last: nothing needs the connection any more if a command hangs.
  if (isRecovered(given)) await takeEvidence(given, 'evidence-after', shellOf(given));
  await work.finish({
    kind: 'agentStarted',
    publicKey: Buffer.from(agent.publicKey, 'hex'),
    warnings: agent.warnings,
    bootId: trust.bootId,
    hostKey: policyFor(given) === 'insecure' ? null : shellOf(given).hostKey,
  });
  workEnded(given, 'finished');
  const warnings = agent.warnings.map((each) => plainText(each));
  const fields = { slot, machine: work.machineId, warnings };
  deps.log[warnings.length > 0 ? 'warn' : 'info'](fields, 'agent started');
}

/** A recovery has led to another boot of the machine, whose previous one may tell why. */
const isRecovered = ({ row, trust }: StartContext<'trust'>): boolean =>
  row.slot.isRecovering && row.recovery?.bootIdBefore !== trust.bootId;

/** Time after an installation within which a machine's SSH may still come and go. */
const BOOT_WAIT_MS = 5 * 60_000;
const BOOT_RETRY_MS = 5_000;
/** Backoff after a broken connection, perhaps because the machine boots once more. */
const BOOT_BACKOFF: BackoffDescriptor = { initialMs: 10_000, exponent: 1, maximumMs: 10_000 };

/** No agent ran on this system yet, and at most one agent start failed. */
const isBooting = ({ agentStarted, startAttempt }: MachineRow): boolean =>
  agentStarted === null && (startAttempt?.count ?? 0) <= 1;

/** Connects; retries every few seconds if the machine may still boot, without a place meanwhile. */
async function connectWhileBooting(given: Starting, machine: ProviderMachine) {
  const { deps, slot, row, signal } = given;
  const { clock, taskPool, log } = deps;
  const lastMs = clock.monotonic() + (isBooting(row) ? BOOT_WAIT_MS : 0) - BOOT_RETRY_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await connect(given, machine);
    } catch (error) {
      const mayComeUp = error instanceof Unreachable && !(error instanceof NoCommonProtocol);
      const isOver = signal.aborted || clock.monotonic() > lastMs;
      if (isOver || !(mayComeUp || error instanceof TimedOut)) throw error;
      const cause = explain(error);
      if (tries === 1) log.info({ slot, cause }, 'the machine may still boot: SSH is retried');
      taskPool.leavePlace(slot);
      await sleep(clock, BOOT_RETRY_MS, AbortSignal.any([signal, taskPool.stopping]));
    }
  }
}

const toldOf = ({ provider, provided }: Claimed) => ({
  throwAway: capabilitiesFor(provider.capabilities, provided).throwAway === true,
});

/** Names in `uname -m` of the processors for which agents are built. */
const PROCESSORS: ReadonlyMap<string, string> = new Map([
  ['x86_64', 'x64'],
  ['aarch64', 'arm64'],
]);

/** @throws {RemoteFailure} the configuration has no program for this processor. */
async function programFor(
  programs: ReadonlyMap<string, UploadFile>,
  shell: ShellSession,
  signal: AbortSignal,
): Promise<UploadFile> {
  const { stdout } = await shell.execute(['uname', '-m'], NOTHING, signal);
  const found = plainText(stdout.toString('utf8').trim(), PROCESSOR_MAX);
  const program = programs.get(PROCESSORS.get(found) ?? '');
  if (program) return program;
  const known = [...programs.keys()].join(', ');
  throw new RemoteFailure(
    `the machine has a processor "${found}", and agent.executables has programs for: ${known}`,
  );
}

const NODE_SHEBANG = '#!/usr/bin/env node\n';
const isNodeScript = ({ content }: UploadFile): boolean =>
  content.subarray(0, NODE_SHEBANG.length).toString('latin1') === NODE_SHEBANG;

/** The oldest Node version that runs the script. */
const NODE = { major: 20, minor: 16 };
const VERSION_MAX = 32;

/**
 * Checks the Node version as the script's first line does, before any upload. An unclear answer is
 * left to the agent start.
 * @throws {NotImplemented} the machine has no Node, or one that is too old.
 */
async function requireNode(shell: ShellSession, signal: AbortSignal): Promise<void> {
  const wanted = `Node ${NODE.major}.${NODE.minor} or later`;
  const advice =
    `install it there, or give the single executable, which needs no Node, as ` +
    `agent.executablePath or agent.executables (docs/agent.md, "Building it")`;
  let told: string;
  try {
    const { stdout } = await shell.execute(['/usr/bin/env', 'node', '--version'], NOTHING, signal);
    told = plainText(stdout.toString('utf8').trim(), VERSION_MAX);
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    // "env: 'node': No such file or directory", in any language.
    const isMissing =
      error.exitCode === 127 && /node/.test(Buffer.from(error.stderr).toString('utf8'));
    if (!isMissing) return;
    const message = `needs ${wanted} on the machine, and there is none on the PATH: ${advice}`;
    throw new NotImplemented(message, { cause: error });
  }
  const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(told)?.map(Number) ?? [];
  if (major === undefined || minor === undefined) return;
  if (major > NODE.major || (major === NODE.major && minor >= NODE.minor)) return;
  throw new NotImplemented(`needs ${wanted} on the machine, and there is ${told}: ${advice}`);
}

/**
 * Returns a proved host key, which is pinned before the agent runs: a crash before a later pin
 * would lose it. A key that passed only because the policy accepts any key is not pinned.
 */
function believe(given: Starting, evidence: HostKeyEvidence): Trust['newHostKey'] {
  const { deps, slot, row, provided } = given;
  deps.log.debug({ slot, evidence }, 'the host key is accepted');
  if (policyFor(given) === 'insecure') {
    deps.log.warn({ slot, evidence }, 'INSECURE: host keys are not verified');
    deps.metrics.count('shepherd_ssh_insecure_connections_total', { provider: provided.provider });
    return null;
  }
  const { hostKey } = shellOf(given);
  return hostKey === row.hostKey ? null : hostKey;
}

/** The machine was unreachable, or refused our login. */
const OUT_OF_REACH = new Set(['unreachable', 'timed-out', 'denied']);

/** Nothing reached the machine: the network failed, or the provider that knows its address. */
const OF_THE_WAY = new Set(['unreachable', 'timed-out', 'transient', 'throttled', 'auth']);

/** A retry is useless: a person must grant access or install the missing software. */
const NEEDS_PEOPLE = new Set(['denied', 'not-implemented']);

/** The backoff with a wait of at least `LONG_BACKOFF_MS`, even after a shorter one. */
function longBackoff(backoff: BackoffDescriptor, { process, row }: Work): BackoffDescriptor {
  const initialMs = Math.max(backoff.initialMs, LONG_BACKOFF_MS);
  const last = row.backoffs.find((each) => each.process === process)?.lastIntervalSeconds ?? 0;
  return { ...backoff, initialMs, ...(last * 1_000 < initialMs && { exponent: 1 }) };
}
