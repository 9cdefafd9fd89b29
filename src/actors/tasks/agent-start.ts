import { fromPromise } from 'xstate';
import type { TakeoverProtocol } from '../../adapters/agents/port.ts';
import type { Work } from '../../adapters/bmdb/port.ts';
import type { UploadFile } from '../../adapters/ssh/port.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import { RemoteFailure } from '../../domain/errors.ts';
import { plainText } from '../../domain/texts.ts';
import type { Failure, Job } from '../../machines/task.ts';
import type { StartStage, Turn } from '../desk.ts';
import { type HostKeyEvidence, proveHostKey } from './host-key-proof.ts';
import {
  claim,
  connectTo,
  giveUpSlot,
  locate,
  policyFor,
  providerFor,
  readBootId,
  stepSignal,
  workEnded,
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
const DENIED_BACKOFF_MS = 30 * 60_000;
const NOTHING = new Uint8Array(0);

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
