import { fromPromise } from 'xstate';
import type { TakeoverProtocol } from '../adapters/agents/port.ts';
import type { Quarantine, Work } from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import type { FleetProvider } from '../adapters/provider/port.ts';
import { parseAddress } from '../adapters/ssh/port.ts';
import type { RemoteShell, ShellTarget, UploadFile } from '../adapters/ssh/port.ts';
import type { BackoffDescriptor } from '../domain/backoff.ts';
import { Cancelled, Denied, NotFound, NothingToDo, Unreachable } from '../domain/errors.ts';
import { providerOf } from '../domain/ids.ts';
import { plainText } from '../domain/texts.ts';
import type { Failure, Job } from '../machines/task.ts';
import type { Desk, Turn } from './desk.ts';
import { type HostKeyPolicy, proveHostKey } from './host-key-proof.ts';
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
  readonly ssh: { readonly port: number; readonly policy: HostKeyPolicy };
}
export interface TakeOverDeps extends TaskDeps {
  readonly agent: { readonly file: UploadFile; readonly targetPath: string };
  readonly protocol: TakeoverProtocol;
  readonly backoff: BackoffDescriptor;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const BOOT_ID_MAX = 128;
const DENIED_BACKOFF_MS = 30 * 60_000;
const NOTHING = new Uint8Array(0);

/** The signal of one step: the actor's, the turn's and the session's. */
export const stepSignal = (deps: TaskDeps, turn: Turn, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, turn.signal, (turn.work ?? deps.keeper.require()).signal]);

export const providerFor = (deps: TaskDeps, turn: Turn): FleetProvider => {
  const name = turn.work?.row.provided?.provider ?? '';
  const provider = deps.providers.get(name);
  if (!provider) throw new NotFound(`${turn.slot} belongs to "${name}", which is not configured`);
  return provider;
};

/** Opens the connection of the turn to the machine's current address. */
export async function openShell(deps: TaskDeps, turn: Turn, signal: AbortSignal): Promise<void> {
  await connectTo(deps, turn, await locate(deps, turn, signal), signal);
}

/**
 * Asks the provider where the machine is now.
 * @throws {Unreachable} it has no address.
 */
export async function locate(deps: TaskDeps, turn: Turn, signal: AbortSignal) {
  const machine = await providerFor(deps, turn).getMachine(turn.work!.row.provided!.providerId, {
    signal,
  });
  if (machine.ownership !== 'ours') {
    throw new Denied(`device ${machine.id} of ${turn.slot} does not carry our ownership tag`);
  }
  if (!machine.address) throw new Unreachable(`${turn.slot} has no available addresses`);
  turn.machine = machine;
  const { host, port } = parseAddress(machine.address, deps.ssh.port);
  return { host, port, username: machine.remoteUser };
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
  // As it will be stored, so that it can be compared with what was.
  return plainText(stdout.toString('utf8').trim(), BOOT_ID_MAX);
}

/** Fills the slots of the `takeover` chart. Each step may run again after a crash. */
export const takeOverSlots = (deps: TakeOverDeps) => ({
  claimStart: fromPromise<void, Job>(async ({ input }) => {
    const turn = deps.desk.begin(input.slot);
    await claim(deps, 'ShepherdAgentStart', turn, input);
  }),

  connect: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    await openShell(deps, turn, stepSignal(deps, turn, signal));
  }),

  verifyHost: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    if (deps.ssh.policy === 'insecure') {
      deps.log.warn({ slot: input.slot }, 'INSECURE: the host key is not verified');
    }
    const step = stepSignal(deps, turn, signal);
    const evidence = await proveHostKey({
      provider: providerFor(deps, turn),
      machine: turn.machine!,
      session: turn.shell!,
      policy: deps.ssh.policy,
      pinned: turn.work!.row.hostKey,
      signal: step,
    });
    deps.log.debug({ slot: input.slot, evidence }, 'the host key is believed');
    turn.bootId = await readBootId(turn, step);
  }),

  upload: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    const { file, targetPath } = deps.agent;
    await turn.shell!.upload(targetPath, file, stepSignal(deps, turn, signal));
  }),

  execute: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    await turn.work!.note({ kind: 'agentStartAttempt' });
    const { stdout, stderr } = await turn.shell!.execute(
      [deps.agent.targetPath],
      deps.protocol.request(input.machineId),
      stepSignal(deps, turn, signal),
    );
    if (stderr.length > 0) {
      const text = plainText(stderr.toString('utf8'));
      deps.log.warn({ slot: input.slot, stderr: text }, 'the agent wrote to standard error');
    }
    turn.agent = deps.protocol.answer(input.machineId, stdout);
  }),

  recordStart: fromPromise<void, Job>(async ({ input }) => {
    const turn = deps.desk.turn(input.slot);
    const { publicKey, warnings } = turn.agent!;
    await turn.work!.finish({
      kind: 'agentStarted',
      publicKey,
      warnings,
      bootId: turn.bootId ?? null,
      hostKey: deps.ssh.policy === 'insecure' ? null : turn.shell!.hostKey,
    });
    workEnded(deps, turn, 'finished');
    deps.log.info({ slot: input.slot, machine: input.machineId, warnings }, 'agent started');
  }),

  giveUp: giveUpSlot(deps, 'agent start failed', (failure, work) =>
    failure?.code === 'denied' ? deniedBackoff(deps.backoff, work) : deps.backoff,
  ),
});

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
  process: 'ShepherdAgentStart' | 'ShepherdRecovery' | 'ShepherdDeprovision',
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

export function giveUpSlot(
  deps: TaskDeps,
  message: string,
  backoffFor: (failure: Failure | null, work: Work) => BackoffDescriptor,
) {
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
    deps.log.warn({ slot, machine: machineId, code: failure?.code, cause }, message);
    await work.fail(backoffFor(failure, work), cause, quarantineFor(failure));
    workEnded(deps, turn, 'failed');
    if (work.process === 'ShepherdAgentStart') {
      deps.metrics.agentStartFailure(failure?.code ?? 'unknown');
    }
  });
}

const quarantineFor = (failure: Failure | null): Quarantine | undefined =>
  failure?.code === 'host-key-rejected' ? { kind: 'conflict', reason: failure.message } : undefined;
