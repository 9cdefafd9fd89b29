import { fromPromise } from 'xstate';
import type { FailureEffects, Work } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Metrics } from '../../adapters/metrics/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import { parseAddress } from '../../adapters/ssh/port.ts';
import type { RemoteShell, ShellTarget } from '../../adapters/ssh/port.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import {
  Cancelled,
  Denied,
  NotFound,
  NothingToDo,
  TimedOut,
  Unreachable,
} from '../../domain/errors.ts';
import { providerOf } from '../../domain/ids.ts';
import type { Process } from '../../domain/machine.ts';
import type { HostKeyPolicy } from '../../domain/policy.ts';
import { plainText } from '../../domain/texts.ts';
import type { Failure, Job } from '../../machines/task.ts';
import type { Desk, Turn } from '../desk.ts';
import type { SessionKeeper } from '../session-keeper.ts';

/** What every task on a machine needs. */
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

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const BOOT_ID_MAX = 128;
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

/** Gives a step so much time. @throws {TimedOut} it took longer. */
export async function withLimit<T>(
  clock: Clock,
  limit: { readonly ms: number; readonly what: string; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = clock.setTimeout(
    () => over.abort(new TimedOut(`${limit.what}: no end after ${limit.ms} ms`)),
    limit.ms,
  );
  try {
    return await work(AbortSignal.any([limit.signal, over.signal]));
  } catch (error) {
    throw over.signal.aborted && !limit.signal.aborted ? over.signal.reason : error;
  } finally {
    clock.clearTimeout(timer);
  }
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
