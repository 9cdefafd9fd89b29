import type { TakeoverProtocol } from '../../adapters/agents/port.ts';
import type { Work } from '../../adapters/bmdb/port.ts';
import { sleep } from '../../adapters/clock/port.ts';
import type { ShellSession, ShellTarget, UploadFile } from '../../adapters/ssh/port.ts';
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
import type { Failure } from '../../machines/task.ts';
import type { Turn } from '../turns/task-pool.ts';
import { type HostKeyEvidence, proveHostKey } from './host-key-proof.ts';
import { firstStep, serviceOf, stepAfter, type Step } from './steps.ts';
import {
  claim,
  connect,
  giveUpService,
  policyFor,
  readBootId,
  requireOurs,
  targetOf,
  workEnded,
  type Claimed,
  type TaskDeps,
} from './task.ts';

export interface TakeOverDeps extends TaskDeps {
  readonly agent: {
    /** One program for all machines, or one by the name of their processor: `x64`, `arm64`. */
    readonly file: UploadFile | ReadonlyMap<string, UploadFile>;
    readonly targetPath: string;
  };
  readonly protocol: TakeoverProtocol;
  readonly backoff: BackoffDescriptor;
}

const PROCESSOR_MAX = 64;
const LONG_BACKOFF_MS = 30 * 60_000;
const NOTHING = new Uint8Array(0);

interface Located extends Claimed {
  readonly machine: ProviderMachine;
  readonly target: ShellTarget;
}
interface Connected extends Located {
  readonly shell: ShellSession;
}
/** The host proved to be the machine; only now may anything of ours run there. */
interface Trusted extends Connected {
  readonly bootId: string;
  /** What is to be pinned; empty: nothing, or it is already. */
  readonly proved: { readonly hostKey?: string };
}
interface Executed extends Trusted {
  readonly stdout: Uint8Array;
}
interface Answered extends Trusted {
  readonly agent: ReturnType<TakeoverProtocol['answer']>;
}

/** The services of the `takeover` chart. Each step may run again after a crash. */
export function agentStartServices(deps: TakeOverDeps) {
  const { taskPool, log, protocol } = deps;
  const { file, targetPath } = deps.agent;

  const claimed = firstStep<Claimed>(taskPool, (turn, job) =>
    claim(deps, 'ShepherdAgentStart', turn, job),
  );

  const located = stepAfter<Claimed, Located>(taskPool, claimed, async (given, signal) => {
    const machine = await requireOurs(given, signal);
    return { ...given, machine, target: targetOf(deps, given, machine) };
  });

  const connected = stepAfter<Located, Connected>(taskPool, located, async (given, signal) => ({
    ...given,
    shell: await connectWhileBooting(deps, given, signal),
  }));

  const trusted = stepAfter<Connected, Trusted>(taskPool, connected, async (given, signal) => {
    const { provider, machine, shell: session, row } = given;
    const policy = policyFor(deps, given);
    const onChanged = () => deps.metrics.hostKeyChanged(provider.name);
    const pinned = row.hostKey;
    const question = { provider, machine, session, policy, pinned, signal, onChanged };
    const proved = believe(deps, given, await proveHostKey(question));
    return { ...given, proved, bootId: await readBootId(session, signal) };
  });

  const uploaded = stepAfter<Trusted, Trusted>(taskPool, trusted, async (given, signal) => {
    const { shell } = given;
    const program = 'content' in file ? file : await programFor(file, shell, signal);
    if (isNodeScript(program)) await requireNode(shell, signal);
    await shell.upload(targetPath, program, signal);
    return given;
  });

  const executed = stepAfter<Trusted, Executed>(taskPool, uploaded, async (given, signal) => {
    const { slot, work, shell, proved } = given;
    await work.note({ kind: 'agentStartAttempt', ...proved });
    const { stdout, stderr } = await shell.execute(
      [targetPath],
      protocol.request(work.machineId, toldOf(given)),
      signal,
    );
    if (stderr.length > 0) {
      const text = plainText(stderr.toString('utf8'));
      log.warn({ slot, stderr: text }, 'the agent wrote to standard error');
    }
    return { ...given, stdout };
  });

  const answered = stepAfter<Executed, Answered>(taskPool, executed, async (given) => ({
    ...given,
    agent: protocol.answer(given.work.machineId, given.stdout, toldOf(given)),
  }));

  const recorded = stepAfter<Answered, Answered>(taskPool, answered, async (given) => {
    const { slot, work, shell, bootId, agent } = given;
    const { publicKey, warnings } = agent;
    // The machine is done with: while this is committed, the next one may be claimed.
    taskPool.leavePlace(slot);
    await work.finish({
      kind: 'agentStarted',
      publicKey,
      warnings,
      bootId,
      hostKey: policyFor(deps, given) === 'insecure' ? null : shell.hostKey,
    });
    workEnded(deps, given, 'finished');
    const told = warnings.map((each) => plainText(each));
    const fields = { slot, machine: work.machineId, warnings: told };
    log[told.length > 0 ? 'warn' : 'info'](fields, 'agent started');
    return given;
  });

  /** Whether a start that failed had come as far as this step. */
  const wasConnecting = (turn: Turn) => !connected.of(turn) && located.of(turn) !== undefined;
  /** What an agent start may fail at, in the order of its steps. */
  const classes: readonly (readonly [Step<unknown>, StartFailureClass])[] = [
    [connected, 'connect'],
    [trusted, 'hostkey'],
    [uploaded, 'upload'],
    [executed, 'execute'],
    [answered, 'protocol'],
  ];
  const classOf = (failure: Failure | null, turn: Turn): StartFailureClass => {
    if (failure?.code === 'denied' && wasConnecting(turn)) return 'auth';
    return classes.find(([step]) => !step.of(turn))?.[1] ?? 'record';
  };

  return {
    claimStart: serviceOf(claimed),
    connect: serviceOf(located, connected),
    verifyHost: serviceOf(trusted),
    upload: serviceOf(uploaded),
    execute: serviceOf(executed, answered),
    recordStart: serviceOf(recorded),
    giveUp: giveUpService(deps, {
      message: 'agent start failed',
      backoffFor(failure, work, turn) {
        const code = failure?.code ?? '';
        if (NEEDS_PEOPLE.has(code)) return longBackoff(deps.backoff, work);
        const broke = code === 'unreachable' && connected.of(turn) !== undefined;
        return broke && isBooting(work.row) ? BOOT_BACKOFF : deps.backoff;
      },
      effects: (failure, turn) => ({
        ...(wasConnecting(turn) && OUT_OF_REACH.has(failure?.code ?? '') && { unreachable: true }),
        ...(!connected.of(turn) && OF_THE_WAY.has(failure?.code ?? '') && { unreached: true }),
      }),
      onFailed: (failure, turn) => deps.metrics.agentStartFailure(classOf(failure, turn)),
    }),
  };
}

/** How long after its installation a machine may take until its SSH stays up. */
const BOOT_WAIT_MS = 5 * 60_000;
const BOOT_RETRY_MS = 5_000;
/** Its connection broke, perhaps since it boots once more. */
const BOOT_BACKOFF: BackoffDescriptor = { initialMs: 10_000, exponent: 1, maximumMs: 10_000 };

/** No agent ran on this system yet, and no more than one start of an agent failed. */
const isBooting = ({ agentStarted, startAttempt }: MachineRow): boolean =>
  agentStarted === null && (startAttempt?.count ?? 0) <= 1;

/** Connects; again every few seconds to a machine that may still boot. That wait occupies no place. */
async function connectWhileBooting(deps: TaskDeps, given: Located, signal: AbortSignal) {
  const { clock, taskPool, log } = deps;
  const { slot, row, target } = given;
  const lastMs = clock.monotonic() + (isBooting(row) ? BOOT_WAIT_MS : 0) - BOOT_RETRY_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await connect(deps, given, target, signal);
    } catch (error) {
      const mayComeUp = error instanceof Unreachable && !(error instanceof NoCommonProtocol);
      const isOver = signal.aborted || clock.monotonic() > lastMs;
      if (isOver || !(mayComeUp || error instanceof TimedOut)) throw error;
      const cause = explain(error);
      if (tries === 1) log.info({ slot, cause }, 'it may still boot: SSH is tried again');
      taskPool.leavePlace(slot);
      await sleep(clock, BOOT_RETRY_MS, AbortSignal.any([signal, taskPool.stopping]));
    }
  }
}

const toldOf = ({ provider }: Claimed) => ({ throwAway: provider.capabilities.throwAway === true });

/** What `uname -m` calls the processors that agents are built for. */
const PROCESSORS: ReadonlyMap<string, string> = new Map([
  ['x86_64', 'x64'],
  ['aarch64', 'arm64'],
]);

/** @throws {RemoteFailure} the configuration names no program for such a machine. */
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

/** The oldest Node that runs the script. */
const NODE = { major: 20, minor: 16 };
const VERSION_MAX = 32;

/**
 * Asks as the script's first line does, before anything is put on the machine. What is no clear answer
 * is left to the agent's start.
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
 * A host key that was proved is pinned before the agent is executed: were it only pinned with the
 * agent's start, a crash in between would lose it. One that passed only because any does, is not.
 */
function believe(
  deps: TakeOverDeps,
  given: Connected,
  evidence: HostKeyEvidence,
): Trusted['proved'] {
  const { slot, shell, row, provided } = given;
  deps.log.debug({ slot, evidence }, 'the host key is believed');
  if (policyFor(deps, given) === 'insecure') {
    deps.log.warn({ slot, evidence }, 'INSECURE: host keys are not verified');
    deps.metrics.insecureConnection(provided.provider);
    return {};
  }
  const { hostKey } = shell;
  return hostKey === row.hostKey ? {} : { hostKey };
}

/** What an agent start failed at. */
type StartFailureClass =
  | 'connect'
  | 'hostkey'
  | 'auth'
  | 'upload'
  | 'execute'
  | 'protocol'
  | 'record';

/** The machine could not be reached, or did not let us in. */
const OUT_OF_REACH = new Set(['unreachable', 'timed-out', 'denied']);

/** Nothing reached the machine: the network was out, or the provider that knows its address. */
const OF_THE_WAY = new Set(['unreachable', 'timed-out', 'transient', 'throttled', 'auth']);

/** Trying again changes nothing: a person has to let us in, or to install what is missing. */
const NEEDS_PEOPLE = new Set(['denied', 'not-implemented']);

/** The wait is never less than `LONG_BACKOFF_MS`, also where a shorter one went before. */
function longBackoff(backoff: BackoffDescriptor, { process, row }: Work): BackoffDescriptor {
  const initialMs = Math.max(backoff.initialMs, LONG_BACKOFF_MS);
  const last = row.backoffs.find((each) => each.process === process)?.lastIntervalSeconds ?? 0;
  return { ...backoff, initialMs, ...(last * 1_000 < initialMs && { exponent: 1 }) };
}
