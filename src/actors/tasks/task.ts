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
import type { Failure, Job } from '../../machines/task.ts';
import type { TaskPool, Turn } from '../turns/turns.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import { proveHostKey, type HostKeyEvidence } from './host-key-proof.ts';

/** What every task on a machine needs. */
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
    /** The policy for the machines of a provider. */
    policyOf(provider: string): HostKeyPolicy;
  };
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const BOOT_ID_MAX = 128;
/** What commands get that read nothing. */
export const NOTHING = new Uint8Array(0);

/** A machine that is claimed for a task, what its rows said at the claim, and what is needed to work on it. */
export interface Claimed<Deps extends TaskDeps = TaskDeps> {
  readonly deps: Deps;
  readonly turn: Turn;
  readonly slot: Slot;
  readonly work: Work;
  readonly row: MachineRow;
  readonly provided: Provided;
  readonly provider: FleetProvider;
  /** Ends with the turn, which ends with the task, however that ends; and with the session. */
  readonly signal: AbortSignal;
}

/** The policy for the machine's host key. */
export const policyFor = ({ deps, provided }: Claimed): HostKeyPolicy =>
  deps.ssh.policyOf(provided.provider);

/**
 * Asks the provider what it knows of the machine now.
 * @throws {ProviderError}
 * @throws {Denied} the device is not marked as ours.
 */
export async function requireOurs(given: Claimed): Promise<ProviderMachine> {
  const { slot, provider, provided, signal } = given;
  const machine = await provider.getMachine(provided.providerId, { signal });
  if (machine.ownership !== 'ours') {
    throw new Denied(`device ${machine.id} of ${slot} does not carry our ownership tag`);
  }
  return machine;
}

/** Where and as whom to connect. @throws {Unreachable} the machine has no address. */
export function targetOf({ deps, slot, row }: Claimed, machine: ProviderMachine): ShellTarget {
  if (!machine.address) throw new Unreachable(`${slot} has no available addresses`);
  const { host, port } = parseAddress(machine.address, deps.ssh.port);
  // A machine with several host keys is asked for the one that the proof will compare with.
  const hostKey = machine.hostKey ?? row.hostKey;
  const { remoteUser: username, sshPassword: password } = machine;
  return { host, port, username, hostKey, ...(password && { password }) };
}

/**
 * Opens a connection, which ends with the turn. If the turn ended meanwhile it is closed at once.
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
 * Judges the host at the other end of a connection, and counts one that is another than the known.
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

/** The connection that the turn holds. */
export const shellOf = ({ turn }: Claimed): ShellSession => required(turn.held.shell, 'connection');

export async function readBootId(
  shell: Pick<ShellSession, 'execute'>,
  signal: AbortSignal,
): Promise<string> {
  const { stdout } = await shell.execute(['cat', BOOT_ID], NOTHING, signal);
  // Start-up files of the shell may print lines first, which may differ each time. The id is last.
  const line = stdout.toString('utf8').trim().split('\n').at(-1) ?? '';
  // In the form in which it will be stored, so that it can be compared with what is stored.
  return plainText(line.trim(), BOOT_ID_MAX);
}

/** A part of the machine's row that whoever may claim it has. */
export function required<Value>(value: Value | null | undefined, what: string): Value {
  if (value === null || value === undefined) throw new Error(`a claimed machine has no ${what}`);
  return value;
}

/**
 * Call it once the end of the work is committed: nothing is left to cancel, the work and the wait for
 * its place are timed, and the place is free while the rows are read again.
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
 * Claims for a turn. A turn that ended meanwhile keeps no work, nor does one whose machine this
 * daemon could do nothing for: that says nothing of the machine.
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
interface GivingUp<Given> {
  readonly message: string;
  readonly backoffFor: (failure: Failure | null, given: Given) => BackoffDescriptor;
  /** Whether the work is to go on with the next claim, where it stands: no failure is recorded. */
  readonly isCancelled?: (given: Given) => boolean;
  /** What the failure brings about besides its backoff and the quarantine of a wrong host key. */
  readonly effects?: (failure: Failure | null, given: Given) => FailureEffects;
  /** The failure was recorded. */
  readonly onFailed?: (failure: Failure | null, given: Given) => void;
}

/**
 * The services of one task's chart. What its steps share and a chart cannot hold (the claim, the
 * provider, an open connection) has one owner, the turn. What a step tells the later ones is plain
 * data: it returns it to the chart, which says what comes next and gives it to that.
 */
export function stepsOf<Deps extends TaskDeps, Given extends Claimed>(
  deps: Deps,
  begin: (deps: Deps, turn: Turn, job: Job) => Promise<Given>,
) {
  const { taskPool } = deps;
  const claims = new WeakMap<Turn, Given>();
  const claimOf = (turn: Turn): Given => required(claims.get(turn), 'claim');
  /** If the actor is stopped before its step is over, the turn ends. */
  const during = <Output>(turn: Turn, signal: AbortSignal, act: () => Promise<Output>) => {
    const endTurn = () => {
      if (!turn.signal.aborted) taskPool.end(turn.slot);
    };
    signal.addEventListener('abort', endTurn, { once: true });
    return act();
  };
  return {
    /** The first step. @param tell what it tells the later ones. */
    claim: <Output>(tell: (given: Given) => Output) =>
      fromPromise<Output, Job>(async ({ input, signal }) => {
        const turn = taskPool.begin(input.slot);
        return during(turn, signal, async () => {
          const given = await begin(deps, turn, input);
          claims.set(turn, given);
          return tell(given);
        });
      }),
    /** A step after the claim. Its signal is that of the claim. */
    step: <Told extends object, Output>(act: (given: Given & Told) => Promise<Output>) =>
      fromPromise<Output, Job & Told>(async ({ input, signal }) => {
        const turn = taskPool.turn(input.slot);
        return during(turn, signal, () => act({ ...input, ...claimOf(turn) }));
      }),
    giveUp: (how: GivingUp<Given>) =>
      fromPromise<void, Job & { readonly failure: Failure | null }>(async ({ input }) => {
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

const quarantineFor = (failure: Failure | null): FailureEffects =>
  failure?.code === 'host-key-rejected'
    ? { quarantine: { kind: 'conflict', reason: failure.message } }
    : {};
