import { beforeEach } from 'vitest';
import { fromPromise } from 'xstate';
import { recoveryServices } from '../../../../src/actors/tasks/recovery/services.ts';
import type { RecoverDeps } from '../../../../src/actors/tasks/recovery/services.ts';
import type { NewRequest, WorkNote } from '../../../../src/adapters/bmdb/port.ts';
import type { LadderRow, MachineRow } from '../../../../src/domain/machine.ts';
import type { MachineView } from '../../../../src/domain/view.ts';
import { recovery as chart } from '../../../../src/machines/recovery.ts';
import type { StepFailure, Job, TaskResult } from '../../../../src/machines/task.ts';
import {
  agentStarted,
  hold,
  ladderRow,
  MACHINE,
  PROVIDER,
  SLOT,
  SLOT_ID,
} from '../../../support/facts.ts';
import { runService, runStep } from '../../../support/run-service.ts';
import { createTaskStand, JOB, type TaskStand } from '../../../support/task-stand.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';

export const MINUTE = 60_000;
export const ASK_AGAIN_MS = 5 * MINUTE;
/** Log lines of reading the boot id and of stopping the agent. */
export const BOOT_ID = 'execute cat /proc/sys/kernel/random/boot_id';
/** Log lines of commands that read evidence. */
export const EVIDENCE = /^execute (journalctl|sh -c dmesg|uptime|systemctl)/;

/** One machine in recovery, by single services or as a whole. */
export interface RecoveryStage {
  readonly stand: TaskStand;
  readonly services: ReturnType<typeof recoveryServices>;
  /** An agent that was started in this boot (null: unknown) and has been silent for an hour. */
  silent(bootId: string | null, change?: Partial<MachineRow>): void;
  /** A machine whose agent start was given up. */
  givenUp(change?: Partial<MachineRow>): void;
  claim(): Promise<string>;
  run(service: Exclude<keyof RecoveryStage['services'], 'giveUp'>): Promise<unknown>;
  giveUp(failure: StepFailure): Promise<void>;
  /** Runs the whole task as the lifecycle does, while time passes. */
  attempt(): Attempt;
  /** The same, until it has ended. */
  attempted(limitMs?: number): Promise<TaskResult>;
  order(verb: 'restart-agent' | 'reboot' | 'reinstall', force?: boolean): Promise<void>;
  hold(kind: Parameters<typeof hold>[0]): void;
  /** The daemon's actions on the machine and calls to its provider, without reads. */
  deeds(): string[];
  /** Ends the permit, as a crash of the actor does. */
  dies(): Promise<void>;
}
export interface Attempt {
  readonly result: Promise<TaskResult>;
  ended(): boolean;
}

/** Passes each note of work through `around`. */
export const noting =
  (around: (note: WorkNote, write: () => Promise<void>) => Promise<void>) =>
  ({ keeper }: RecoverDeps): Partial<RecoverDeps> => ({
    keeper: {
      ...keeper,
      require() {
        const session = keeper.require();
        const claim: typeof session.claim = async (...what) => {
          const work = await session.claim(...what);
          return { ...work, note: (note) => around(note, () => work.note(note)) };
        };
        return { ...session, claim };
      },
    },
  });

export async function createRecoveryStage(
  change: (deps: RecoverDeps) => Partial<RecoverDeps> = () => ({}),
): Promise<RecoveryStage> {
  const stand = createTaskStand();
  await stand.openSession();
  const deps = { ...stand.recoverDeps(), ...change(stand.recoverDeps()) };
  const services = recoveryServices(deps);
  const reread = fromPromise<MachineView | null, Job>(async () => null);
  const logic = chart.provide({ actors: { ...services, reread } });
  const hourAgo = () => stand.clock.now() - 60 * MINUTE;
  const stage: RecoveryStage = {
    stand,
    services,
    silent: (bootId, more) =>
      stand.given({ agentStarted: agentStarted(hourAgo(), bootId), ...more }),
    givenUp: (more) =>
      stand.given({ startAttempt: { atMs: hourAgo(), count: 6, unreached: 0 }, ...more }),
    async claim() {
      await stand.grant('recovery');
      return ((await runStep(services, 'claimRecovery').result) as { rung: string }).rung;
    },
    run: (service) => runStep(services, service).result,
    async giveUp(failure) {
      await runService(services.giveUp, { ...JOB, failure }).result;
      await stage.dies();
    },
    attempt() {
      let hasEnded = false;
      const result = stand.runTask('recovery', logic).finally(() => (hasEnded = true));
      return { result, ended: () => hasEnded };
    },
    async attempted(limitMs = 120 * MINUTE) {
      const { result, ended } = stage.attempt();
      for (let waitedMs = 0; waitedMs <= limitMs; waitedMs += 1_000) {
        await advance(stand.clock, 1_000);
        if (ended()) return result;
      }
      throw new Error(`the task did not end within ${limitMs} ms`);
    },
    async order(verb, force = false) {
      const target = { provider: PROVIDER, slotId: SLOT_ID, machineId: MACHINE };
      const what = verb === 'reboot' ? { verb, target, force } : { verb, target };
      const request: NewRequest = { key: 'ann-1', by: 'ann', reason: 'it is slow', what };
      await stand.bmdb.requests.submit(request);
    },
    hold: (kind) => void stand.bmdb.tables.holds.push(hold(kind)),
    deeds: () =>
      stand.done
        .filter((what) => what !== 'connect' && what !== BOOT_ID && !EVIDENCE.test(what))
        .map((what) => (what.startsWith('execute sh -c') ? 'stop the agent' : what)),
    async dies() {
      stand.taskPool.end(SLOT);
      await settled();
    },
  };
  return stage;
}

/** The running test's stage and stand. */
export let stage: RecoveryStage;
export let stand: TaskStand;

/** Creates a stage for each test of the file. */
export const setStage = (
  change?: (deps: RecoverDeps) => Partial<RecoverDeps>,
  then: () => void = () => undefined,
): void => beforeEach(() => anotherStage(change).then(then));
/** Replaces the stage, for a test that needs a different one. */
export async function anotherStage(
  change?: (deps: RecoverDeps) => Partial<RecoverDeps>,
): Promise<void> {
  stage = await createRecoveryStage(change);
  ({ stand } = stage);
}

/** A silent machine on this rung, in its present boot. */
export const onRung = (
  rung: LadderRow['rung'],
  change: Partial<LadderRow> = {},
  more: Partial<MachineRow> = {},
) => stage.silent(stand.host.bootId, { recovery: ladderRow({ rung, ...change }), ...more });
export const recovery = () => stand.row().recovery;
export const permit = () => stand.bmdb.tables.machines.get(MACHINE)!.permitGrantedAtMs;
/** The order's outcome. */
export const request = async () => {
  const [found] = await stand.bmdb.requests.read(['ann-1'], new AbortController().signal);
  return found!;
};
/** Its agent reports from this boot. */
export async function beat(bootId = stand.host.bootId): Promise<void> {
  const publicKey = Buffer.from('ab'.repeat(32), 'hex');
  await stand.bmdb.heartbeats.recordHeartbeats([{ machineId: MACHINE, publicKey, bootId }]);
}
/** Starts the whole task, watches it for a while, and ends its permit. */
export async function begun(forMs = 60_000): Promise<void> {
  const { result } = stage.attempt();
  await settled();
  await advance(stand.clock, forMs);
  await stage.dies();
  await result;
}

/** A service's result: null when it resolved, otherwise its error code. */
export const codeOf = (running: Promise<unknown>): Promise<string | null> =>
  running.then(
    () => null,
    (error: unknown) => (error as { code?: string }).code ?? 'internal',
  );
