import { fromPromise } from 'xstate';
import type { FailureEffects, Work } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Metrics } from '../../adapters/metrics/port.ts';
import type { FleetProvider } from '../../adapters/provider/port.ts';
import { parseAddress } from '../../adapters/ssh/port.ts';
import type { RemoteShell, ShellSession, ShellTarget } from '../../adapters/ssh/port.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import { Cancelled, Denied, NothingToDo, Unreachable } from '../../domain/errors.ts';
import { providerOf, type Slot } from '../../domain/ids.ts';
import type { MachineRow, Process, Provided, ProviderMachine } from '../../domain/machine.ts';
import type { HostKeyPolicy } from '../../domain/policy.ts';
import { plainText } from '../../lib/texts.ts';
import type { StepFailure, Job } from '../../machines/task.ts';
import type { TaskPool, Turn } from '../turns/turns.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import { proveHostKey, type HostKeyEvidence } from './host-key-proof.ts';

/** Dependencies of every task on a machine. */
export interface TaskDeps {
  readonly taskPool: TaskPool;
  readonly keeper: SessionKeeper;
  readonly providers: ReadonlyMap<string, FleetProvider>;
  readonly shell: RemoteShell;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly ssh: {
    readonly port: number;
    /** The host key policy for a provider's machines. */
    policyOf(provider: string): HostKeyPolicy;
  };
}

/** File with the id of the machine's current boot. */
export const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const BOOT_ID_MAX = 128;
/** Input of commands that read nothing. */
export const NOTHING = new Uint8Array(0);

/** A machine claimed for a task, its rows at the claim, and the means to work on it. */
export interface Claimed<Deps extends TaskDeps = TaskDeps> {
  readonly deps: Deps;
  readonly turn: Turn;
  readonly slot: Slot;
  readonly work: Work;
  readonly row: MachineRow;
  readonly provided: Provided;
  readonly provider: FleetProvider;
  /** Fires at the end of the task's turn, for any reason, and at the end of the session. */
  readonly signal: AbortSignal;
}

/** The host key policy for the machine. */
export const policyFor = ({ deps, provided }: Claimed): HostKeyPolicy =>
  deps.ssh.policyOf(provided.provider);

/**
 * Asks the provider for its current view of the machine.
 * @throws {ProviderError}
 * @throws {Denied} the device has no mark of ours.
 */
export async function requireOurs(given: Claimed): Promise<ProviderMachine> {
  const { slot, provider, provided, signal } = given;
  const machine = await provider.getMachine(provided.providerId, { signal });
  if (machine.ownership !== 'ours') {
    throw new Denied(`device ${machine.id} of ${slot} does not carry our ownership tag`);
  }
  return machine;
}

/** Address and user of the connection. @throws {Unreachable} the machine has no address. */
export function targetOf(
  { deps, slot, row }: Pick<Claimed, 'slot' | 'row'> & { deps: { ssh: { readonly port: number } } },
  machine: ProviderMachine,
): ShellTarget {
  if (!machine.address) throw new Unreachable(`${slot} has no available addresses`);
  const { host, port } = parseAddress(machine.address, deps.ssh.port);
  // A machine with several host keys must present the one that the proof compares.
  const hostKey = machine.hostKey ?? row.hostKey;
  const { remoteUser: username, sshPassword: password } = machine;
  return { host, port, username, hostKey, ...(password && { password }) };
}

/**
 * Opens a connection that closes with the turn, at once if the turn has ended.
 * @throws see `targetOf`.
 */
export async function connect(given: Claimed, machine: ProviderMachine): Promise<ShellSession> {
  const { deps, turn, signal } = given;
  const shell = await deps.shell.connect(targetOf(given, machine), signal);
  if (turn.signal.aborted) {
    shell.close();
    throw new Cancelled(`the task on ${turn.slot} ended while it connected`);
  }
  turn.held.shell = shell;
  return shell;
}

/**
 * Judges the remote host of a connection, and counts a changed host.
 * @throws see `proveHostKey`.
 */
export function proveHost(
  given: Claimed,
  machine: ProviderMachine,
  session: ShellSession,
  pinned: string | null = given.row.hostKey,
): Promise<HostKeyEvidence> {
  const { deps, provider, provided, signal } = given;
  const onChanged = () =>
    deps.metrics.count('shepherd_ssh_hostkey_changes_total', { provider: provided.provider });
  const policy = policyFor(given);
  return proveHostKey({ provider, machine, session, policy, pinned, signal, onChanged });
}

/** The connection of the turn. */
export const shellOf = ({ turn }: Claimed): ShellSession => required(turn.held.shell, 'connection');

export async function readBootId(
  shell: Pick<ShellSession, 'execute'>,
  signal: AbortSignal,
): Promise<string> {
  const { stdout } = await shell.execute(['cat', BOOT_ID], NOTHING, signal);
  // Start-up files of the shell may print other lines first. The id is last.
  const line = stdout.toString('utf8').trim().split('\n').at(-1) ?? '';
  // In its stored form, so that it can be compared with stored ids.
  return plainText(line.trim(), BOOT_ID_MAX);
}

/** Returns a part of the row that every claimable machine has. */
export function required<Value>(value: Value | null | undefined, what: string): Value {
  if (value === null || value === undefined) throw new Error(`a claimed machine has no ${what}`);
  return value;
}

/**
 * Call it once the end of the work is committed: nothing is left to cancel. Records the durations
 * of the work and the wait, and frees the place while the rows are read again.
 */
export function workEnded(
  { deps: { metrics, clock, taskPool }, turn, work }: Claimed,
  result: 'finished' | 'failed' | 'canceled',
): void {
  delete turn.held.work;
  taskPool.leavePlace(turn.slot);
  const labels = { process: work.process, result };
  const seconds = (from: number, to: number) => (to - from) / 1_000;
  const { askedAt, begunAt } = turn;
  metrics.observe('shepherd_work_queue_wait_seconds', labels, seconds(askedAt, begunAt));
  metrics.observe('shepherd_work_duration_seconds', labels, seconds(begunAt, clock.monotonic()));
}

/**
 * Claims for a turn. Cancels the work if the turn has ended meanwhile, or if this daemon cannot
 * work on the machine, which says nothing about the machine.
 * @throws {NothingToDo} also when the machine's provider is not configured here.
 */
export async function claim<Deps extends TaskDeps>(
  deps: Deps,
  process: Process,
  turn: Turn,
  { machineId }: Job,
): Promise<Claimed<Deps>> {
  const { keeper, providers } = deps;
  const { slot } = turn;
  if (!providers.has(providerOf(slot))) throw notConfigured(turn, providerOf(slot));
  const work = await keeper.require().claim(process, machineId);
  const { row } = work;
  const { provided } = row;
  const provider = provided && providers.get(provided.provider);
  if (!provider) {
    const refusal = notConfigured(turn, provided?.provider ?? 'of no name');
    await work.cancel(refusal.message);
    throw refusal;
  }
  if (turn.signal.aborted) {
    await work.cancel('the task ended while it claimed the machine');
    throw new Cancelled(`the task on ${slot} ended while it claimed the machine`);
  }
  turn.held.work = work;
  const signal = AbortSignal.any([turn.signal, work.signal]);
  return { deps, turn, slot, work, row, provided, provider, signal };
}

const notConfigured = ({ slot }: Turn, provider: string) =>
  new NothingToDo(`${slot} belongs to provider ${provider}, which is not configured here`);

/** Failures that say nothing bad about the machine: the work is cancelled without a backoff. */
const OUR_OWN = new Set([
  'cancelled',
  'aborted',
  'stopped',
  'session-expired',
  'nothing-to-do',
  'no-permit',
]);

/** The handling of a failed task. */
interface GivingUp<Given> {
  readonly message: string;
  readonly backoffFor: (failure: StepFailure | null, given: Given) => BackoffDescriptor;
  /** Whether the next claim continues the work where it is: no failure is recorded. */
  readonly isCancelled?: (given: Given) => boolean;
  /** Effects besides the backoff and the quarantine of a wrong host key. */
  readonly effects?: (failure: StepFailure | null, given: Given) => FailureEffects;
  /** Called after the failure was recorded. */
  readonly onFailed?: (failure: StepFailure | null, given: Given) => void;
}

/**
 * The services of one task's chart. The turn owns what the steps share and a chart cannot hold: the
 * claim, the provider, an open connection. A step's result is plain data: the chart receives it and
 * passes it to the next step.
 */
export function stepsOf<Deps extends TaskDeps, Given extends Claimed>(
  deps: Deps,
  begin: (deps: Deps, turn: Turn, job: Job) => Promise<Given>,
) {
  const { taskPool } = deps;
  const claims = new WeakMap<Turn, Given>();
  const claimOf = (turn: Turn): Given => required(claims.get(turn), 'claim');
  /** If the actor stops before its step is over, the turn ends. */
  const during = <Output>(turn: Turn, signal: AbortSignal, act: () => Promise<Output>) => {
    const endTurn = () => {
      if (!turn.signal.aborted) taskPool.end(turn.slot);
    };
    signal.addEventListener('abort', endTurn, { once: true });
    return act();
  };
  return {
    /** The first step. @param tell makes the result for later steps. */
    claim: <Output>(tell: (given: Given) => Output) =>
      fromPromise<Output, Job>(async ({ input, signal }) => {
        const turn = taskPool.begin(input.slot);
        return during(turn, signal, async () => {
          const given = await begin(deps, turn, input);
          claims.set(turn, given);
          return tell(given);
        });
      }),
    /** A step after the claim, under the claim's signal. */
    step: <Results extends object, Output>(act: (given: Given & Results) => Promise<Output>) =>
      fromPromise<Output, Job & Results>(async ({ input, signal }) => {
        const turn = taskPool.turn(input.slot);
        return during(turn, signal, () => act({ ...input, ...claimOf(turn) }));
      }),
    giveUp: (how: GivingUp<Given>) =>
      fromPromise<void, Job & { readonly failure: StepFailure | null }>(async ({ input }) => {
        const { slot, machineId, failure } = input;
        const turn = taskPool.turn(slot);
        const { work, shell } = turn.held;
        if (!work) return;
        shell?.close();
        const given = claimOf(turn);
        const cause = failure?.message ?? 'unknown';
        const isOurOwn = failure !== null && OUR_OWN.has(failure.code);
        if (!isOurOwn) {
          deps.log.warn({ slot, machine: machineId, code: failure?.code, cause }, how.message);
        }
        if (isOurOwn || how.isCancelled?.(given)) {
          await work.cancel(cause);
          return workEnded(given, 'canceled');
        }
        const effects = { ...how.effects?.(failure, given), ...quarantineFor(failure) };
        await work.fail(how.backoffFor(failure, given), cause, effects);
        workEnded(given, 'failed');
        how.onFailed?.(failure, given);
      }),
  };
}

const quarantineFor = (failure: StepFailure | null): FailureEffects =>
  failure?.code === 'host-key-rejected'
    ? { quarantine: { kind: 'conflict', reason: failure.message } }
    : {};
