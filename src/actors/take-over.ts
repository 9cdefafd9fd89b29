import { fromPromise } from 'xstate';
import type { TakeoverProtocol } from '../adapters/agents/port.ts';
import type { FailureEffects, Work } from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import type { FleetProvider } from '../adapters/provider/port.ts';
import { parseAddress } from '../adapters/ssh/port.ts';
import type { RemoteShell, ShellTarget, UploadFile } from '../adapters/ssh/port.ts';
import type { BackoffDescriptor } from '../domain/backoff.ts';
import {
  Cancelled,
  Denied,
  NotFound,
  NothingToDo,
  RemoteFailure,
  Unreachable,
} from '../domain/errors.ts';
import { providerOf } from '../domain/ids.ts';
import type { Process } from '../domain/machine.ts';
import { plainText } from '../domain/texts.ts';
import type { Failure, Job } from '../machines/task.ts';
import type { Desk, StartStage, Turn } from './desk.ts';
import { type HostKeyEvidence, type HostKeyPolicy, proveHostKey } from './host-key-proof.ts';
import type { SessionKeeper } from './session-keeper.ts';

export { type HostKeyPolicy, judgeHostKey } from './host-key-proof.ts';

/** What every task on a machine needs; the takeover and the recovery share it. */
export interface TaskDeps {
  readonly desk: Desk;
  readonly keeper: SessionKeeper;
  readonly providers: ReadonlyMap<string, FleetProvider>;
  readonly shell: RemoteShell;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly ssh: {
    readonly port: number;
    /** What counts for the machines of a provider. */
    policyOf(provider: string): HostKeyPolicy;
  };
}
export interface TakeOverDeps extends TaskDeps {
  readonly agent: {
    /** One program for all machines, or one by the name of their processor: `x64`, `arm64`. */
    readonly file: UploadFile | ReadonlyMap<string, UploadFile>;
    readonly targetPath: string;
  };
  readonly protocol: TakeoverProtocol;
  readonly backoff: BackoffDescriptor;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const BOOT_ID_MAX = 128;
const PROCESSOR_MAX = 64;
const DENIED_BACKOFF_MS = 30 * 60_000;
const NOTHING = new Uint8Array(0);

/** The signal of one step: the actor's, the turn's and the session's. */
export const stepSignal = (deps: TaskDeps, turn: Turn, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, turn.signal, (turn.work ?? deps.keeper.require()).signal]);

/** What counts for the host key of the turn's machine. */
export const policyFor = (deps: TaskDeps, turn: Turn): HostKeyPolicy =>
  deps.ssh.policyOf(turn.work!.row.provided?.provider ?? '');

export const providerFor = (deps: TaskDeps, turn: Turn): FleetProvider => {
  const name = turn.work?.row.provided?.provider ?? '';
  const provider = deps.providers.get(name);
  if (!provider) throw new NotFound(`${turn.slot} belongs to "${name}", which is not configured`);
  return provider;
};

/**
 * Asks the provider what it knows of the machine now.
 * @throws {ProviderError}
 * @throws {Denied} the device is not marked as ours.
 */
export async function requireOurs(deps: TaskDeps, turn: Turn, signal: AbortSignal) {
  const machine = await providerFor(deps, turn).getMachine(turn.work!.row.provided!.providerId, {
    signal,
  });
  if (machine.ownership !== 'ours') {
    throw new Denied(`device ${machine.id} of ${turn.slot} does not carry our ownership tag`);
  }
  turn.machine = machine;
  return machine;
}

/**
 * Asks the provider where the machine is now.
 * @throws {Unreachable} it has no address. Else see `requireOurs`.
 */
export async function locate(deps: TaskDeps, turn: Turn, signal: AbortSignal) {
  const machine = await requireOurs(deps, turn, signal);
  if (!machine.address) throw new Unreachable(`${turn.slot} has no available addresses`);
  const { host, port } = parseAddress(machine.address, deps.ssh.port);
  // What the proof will compare with: a machine with several keys is asked for this one.
  const hostKey = machine.hostKey ?? turn.work!.row.hostKey;
  const { sshPassword: password } = machine;
  return { host, port, username: machine.remoteUser, hostKey, ...(password && { password }) };
}

/** Opens the connection of the turn; a turn that ended meanwhile gets none. */
export async function connectTo(
  deps: TaskDeps,
  turn: Turn,
  target: ShellTarget,
  signal: AbortSignal,
): Promise<void> {
  const shell = await deps.shell.connect(target, signal);
  if (turn.signal.aborted) {
    shell.close();
    throw new Cancelled(`the task on ${turn.slot} ended while it connected`);
  }
  turn.shell = shell;
}

export async function readBootId(turn: Turn, signal: AbortSignal): Promise<string> {
  const { stdout } = await turn.shell!.execute(['cat', BOOT_ID], NOTHING, signal);
  // A shell's start-up files may print lines before it; those may differ each time, a boot id not.
  const line = stdout.toString('utf8').trim().split('\n').at(-1)!;
  // As it will be stored, so that it can be compared with what was.
  return plainText(line.trim(), BOOT_ID_MAX);
}

/** Fills the slots of the `takeover` chart. Each step may run again after a crash. */
export function takeOverSlots(deps: TakeOverDeps) {
  const at = (stage: StartStage, { slot }: Job): Turn => {
    const turn = deps.desk.turn(slot);
    turn.stage = stage;
    return turn;
  };
  return {
    claimStart: fromPromise<void, Job>(async ({ input }) => {
      const turn = deps.desk.begin(input.slot);
      await claim(deps, 'ShepherdAgentStart', turn, input);
    }),

    connect: fromPromise<void, Job>(async ({ input, signal }) => {
      const turn = at('locating', input);
      const ends = stepSignal(deps, turn, signal);
      const target = await locate(deps, turn, ends);
      turn.stage = 'connecting';
      await connectTo(deps, turn, target, ends);
    }),

    verifyHost: fromPromise<void, Job>(async ({ input, signal }) => {
      const turn = at('verifying', input);
      const step = stepSignal(deps, turn, signal);
      const evidence = await proveHostKey({
        provider: providerFor(deps, turn),
        machine: turn.machine!,
        session: turn.shell!,
        policy: policyFor(deps, turn),
        pinned: turn.work!.row.hostKey,
        signal: step,
      });
      await believe(deps, turn, evidence);
      turn.bootId = await readBootId(turn, step);
    }),

    upload: fromPromise<void, Job>(async ({ input, signal }) => {
      const turn = at('uploading', input);
      const step = stepSignal(deps, turn, signal);
      const { file, targetPath } = deps.agent;
      await turn.shell!.upload(
        targetPath,
        'content' in file ? file : await programFor(file, turn, step),
        step,
      );
    }),

    execute: fromPromise<void, Job>(async ({ input, signal }) => {
      const turn = at('executing', input);
      await turn.work!.note({ kind: 'agentStartAttempt' });
      const { stdout, stderr } = await turn.shell!.execute(
        [deps.agent.targetPath],
        deps.protocol.request(input.machineId, toldOf(deps, turn)),
        stepSignal(deps, turn, signal),
      );
      if (stderr.length > 0) {
        const text = plainText(stderr.toString('utf8'));
        deps.log.warn({ slot: input.slot, stderr: text }, 'the agent wrote to standard error');
      }
      turn.stage = 'reading';
      turn.agent = deps.protocol.answer(input.machineId, stdout, toldOf(deps, turn));
    }),

    recordStart: fromPromise<void, Job>(async ({ input }) => {
      const turn = at('recording', input);
      const { publicKey, warnings } = turn.agent!;
      await turn.work!.finish({
        kind: 'agentStarted',
        publicKey,
        warnings,
        bootId: turn.bootId ?? null,
        hostKey: policyFor(deps, turn) === 'insecure' ? null : turn.shell!.hostKey,
      });
      workEnded(deps, turn, 'finished');
      const told = warnings.map((each) => plainText(each));
      const fields = { slot: input.slot, machine: input.machineId, warnings: told };
      deps.log[told.length > 0 ? 'warn' : 'info'](fields, 'agent started');
    }),

    giveUp: giveUpSlot(deps, {
      message: 'agent start failed',
      backoffFor: (failure, work) =>
        failure?.code === 'denied' ? deniedBackoff(deps.backoff, work) : deps.backoff,
      effects: (failure, turn) => ({
        ...(isOutOfReach(failure, turn) && { unreachable: true }),
        ...(neverReached(failure, turn) && { unreached: true }),
      }),
      onFailed: (failure, turn) =>
        deps.metrics.agentStartFailure(failureClass(failure?.code, turn.stage)),
    }),
  };
}

const toldOf = (deps: TakeOverDeps, turn: Turn) => ({
  throwAway: providerFor(deps, turn).capabilities.throwAway === true,
});

/** What `uname -m` calls the processors that agents are built for. */
const PROCESSORS: ReadonlyMap<string, string> = new Map([
  ['x86_64', 'x64'],
  ['aarch64', 'arm64'],
]);

/** @throws {RemoteFailure} the configuration names no program for such a machine. */
async function programFor(
  programs: ReadonlyMap<string, UploadFile>,
  { shell }: Turn,
  signal: AbortSignal,
): Promise<UploadFile> {
  const { stdout } = await shell!.execute(['uname', '-m'], NOTHING, signal);
  const found = plainText(stdout.toString('utf8').trim(), PROCESSOR_MAX);
  const program = programs.get(PROCESSORS.get(found) ?? '');
  if (program) return program;
  const known = [...programs.keys()].join(', ');
  throw new RemoteFailure(
    `the machine has a processor "${found}", and agent.executables has programs for: ${known}`,
  );
}

/**
 * A host key that was proved is pinned at once: were it only pinned with the agent's start, a crash
 * in between would lose it. One that passed only because any does, is not.
 */
async function believe(deps: TakeOverDeps, turn: Turn, evidence: HostKeyEvidence): Promise<void> {
  const { slot, shell, work } = turn;
  deps.log.debug({ slot, evidence }, 'the host key is believed');
  if (policyFor(deps, turn) === 'insecure') {
    deps.log.warn({ slot, evidence }, 'INSECURE: host keys are not verified');
    deps.metrics.insecureConnection(work!.row.provided!.provider);
    return;
  }
  const { hostKey } = shell!;
  if (hostKey !== work!.row.hostKey) await work!.note({ kind: 'hostKeyProved', hostKey });
}

/** What an agent start failed at. */
export type StartFailureClass =
  'connect' | 'hostkey' | 'auth' | 'upload' | 'execute' | 'protocol' | 'record';

const CLASS: Readonly<Record<StartStage, StartFailureClass>> = {
  locating: 'connect',
  connecting: 'connect',
  verifying: 'hostkey',
  uploading: 'upload',
  executing: 'execute',
  reading: 'protocol',
  recording: 'record',
};

/** `code`: of the error. */
export function failureClass(
  code: string | undefined,
  stage: StartStage = 'locating',
): StartFailureClass {
  return code === 'denied' && stage === 'connecting' ? 'auth' : CLASS[stage];
}

/** The machine could not be reached, or did not let us in. */
const isOutOfReach = (failure: Failure | null, { stage }: Turn): boolean =>
  stage === 'connecting' && ['unreachable', 'timed-out', 'denied'].includes(failure?.code ?? '');

const OF_THE_WAY = new Set(['unreachable', 'timed-out', 'transient', 'throttled', 'auth']);

/** Nothing came to the machine: the network, or the provider that knows where it is, was out. */
const neverReached = (failure: Failure | null, { stage }: Turn): boolean =>
  (stage === 'locating' || stage === 'connecting') && OF_THE_WAY.has(failure?.code ?? '');

/** Never less than `DENIED_BACKOFF_MS`, even where a shorter wait went before and would grow. */
function deniedBackoff(backoff: BackoffDescriptor, { process, row }: Work): BackoffDescriptor {
  const initialMs = Math.max(backoff.initialMs, DENIED_BACKOFF_MS);
  const last = row.backoffs.find((each) => each.process === process)?.lastIntervalSeconds ?? 0;
  return { ...backoff, initialMs, ...(last * 1_000 < initialMs && { exponent: 1 }) };
}

/** The work has ended, by a commit: nothing is left to cancel, and it can be timed. */
export function workEnded(
  { metrics, clock }: TaskDeps,
  turn: Turn,
  result: 'finished' | 'failed' | 'canceled',
): void {
  const { process } = turn.work!;
  turn.workEnded = true;
  const seconds = (clock.monotonic() - turn.begunAt) / 1_000;
  metrics.observe('work_duration_seconds', { process, result }, seconds);
}

/**
 * Claims for a turn. A turn that ended meanwhile keeps no work, nor does one whose machine this
 * daemon could do nothing for: that says nothing of the machine.
 * @throws {NothingToDo} also when the machine's provider is not configured here.
 */
export async function claim(
  { keeper, providers }: TaskDeps,
  process: Process,
  turn: Turn,
  { machineId }: Job,
): Promise<Work> {
  if (!providers.has(providerOf(turn.slot))) throw notConfigured(turn, providerOf(turn.slot));
  const work = await keeper.require().claim(process, machineId);
  const { provider } = work.row.provided ?? {};
  if (provider !== undefined && !providers.has(provider)) {
    const refusal = notConfigured(turn, provider);
    await work.cancel(refusal.message);
    throw refusal;
  }
  if (turn.signal.aborted) {
    await work.cancel('the task ended while it claimed the machine');
    throw new Cancelled(`the task on ${turn.slot} ended while it claimed the machine`);
  }
  turn.work = work;
  return work;
}

const notConfigured = ({ slot }: Turn, provider: string) =>
  new NothingToDo(`${slot} belongs to provider ${provider}, which is not configured here`);

/** Failures that say nothing bad about the machine: the work is cancelled, without a backoff. */
const OUR_OWN = new Set([
  'cancelled',
  'aborted',
  'stopped',
  'session-expired',
  'nothing-to-do',
  'no-permit',
]);

/** How a task that failed is given up. */
export interface GivingUp {
  readonly message: string;
  readonly backoffFor: (failure: Failure | null, work: Work) => BackoffDescriptor;
  /** What the failure brings about besides its backoff and the quarantine of a wrong host key. */
  readonly effects?: (failure: Failure | null, turn: Turn) => FailureEffects;
  /** The failure was recorded. */
  readonly onFailed?: (failure: Failure | null, turn: Turn) => void;
}

export function giveUpSlot(deps: TaskDeps, how: GivingUp) {
  return fromPromise<void, Job & { readonly failure: Failure | null }>(async ({ input }) => {
    const { slot, machineId, failure } = input;
    const turn = deps.desk.turn(slot);
    const { work } = turn;
    if (!work) return;
    turn.shell?.close();
    const cause = failure?.message ?? 'unknown';
    if (failure && OUR_OWN.has(failure.code)) {
      await work.cancel(cause);
      workEnded(deps, turn, 'canceled');
      return;
    }
    deps.log.warn({ slot, machine: machineId, code: failure?.code, cause }, how.message);
    const effects = { ...how.effects?.(failure, turn), ...quarantineFor(failure) };
    await work.fail(how.backoffFor(failure, work), cause, effects);
    workEnded(deps, turn, 'failed');
    how.onFailed?.(failure, turn);
  });
}

const quarantineFor = (failure: Failure | null): FailureEffects =>
  failure?.code === 'host-key-rejected'
    ? { quarantine: { kind: 'conflict', reason: failure.message } }
    : {};
