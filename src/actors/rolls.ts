import type { Bmdb, RollChange } from '../adapters/bmdb/port.ts';
import { NothingToDo, SessionExpired } from '../domain/errors.ts';
import {
  currentBatch,
  planRoll,
  rollOrderKey,
  type RollRow,
  type RollScene,
  type RollSlot,
} from '../domain/rolling.ts';
import { repeatJob, type JobDeps } from './loops.ts';

/** The lease for carrying on rolling actions. */
export const ROLLS_JOB = 'rolls';
/** Maximum number of rolls that go on at the same time. */
const RUNNING_MAX = 100;
/** Orders may wait for permits and load balancers. */
const VALID_FOR_MS = 24 * 3_600_000;

export interface RollsDeps extends JobDeps {
  readonly bmdb: Pick<Bmdb, 'rolls' | 'requests'>;
  /** False: this daemon does not know all machines yet. */
  readonly isWhole: () => boolean;
  /** What the planner needs besides the orders. */
  readonly scene: (roll: RollRow) => Omit<RollScene, 'orders'>;
  /** Pause between two looks while a roll runs. */
  readonly periodMs: number;
  /** The same while none runs: an idle fleet asks the database for little. */
  readonly idleMs: number;
}

/**
 * Carries on all running rolls, while this daemon has the job. Each look starts from the stored
 * rows, so that another daemon can go on at any point. Ends with the signal.
 */
export function carryOnRolls(deps: RollsDeps, signal: AbortSignal): Promise<void> {
  const { periodMs, idleMs, isWhole } = deps;
  const job = {
    job: ROLLS_JOB,
    periodMs: idleMs,
    failure: 'rolling actions could not be carried on',
  };
  const look = async () => (isWhole() && (await lookAtAll(deps, signal)) > 0 ? periodMs : idleMs);
  return repeatJob(deps, job, look, signal);
}

async function lookAtAll(deps: RollsDeps, signal: AbortSignal): Promise<number> {
  const running = await deps.bmdb.rolls.list({ running: true, limit: RUNNING_MAX }, signal);
  for (const roll of running) {
    try {
      await lookAt(deps, roll, signal);
    } catch (err) {
      if (signal.aborted || err instanceof SessionExpired) throw err;
      deps.log.warn({ err, roll: roll.id }, 'a rolling action could not be carried on');
    }
  }
  return running.length;
}

async function lookAt(deps: RollsDeps, roll: RollRow, signal: AbortSignal): Promise<void> {
  const { bmdb, log } = deps;
  const keys = currentBatch(roll).map((at) => rollOrderKey(roll, at));
  const read = await bmdb.requests.read(keys, signal);
  const orders = new Map(read.map((order) => [order.key, order]));
  const step = planRoll(roll, { ...deps.scene(roll), orders });
  const same = { state: roll.state, note: roll.note, position: roll.position };
  const before = { ...same, nextAtMs: roll.nextAtMs, failures: roll.failures };
  const write = (change: Partial<RollChange>) => bmdb.rolls.step(roll, { ...before, ...change });
  switch (step.kind) {
    case 'order':
      for (const at of step.slots) {
        if ((await bmdb.rolls.read(roll.id))?.state !== 'running') return;
        await order(deps, roll, at);
      }
      return;
    case 'wait':
      if (step.why !== roll.note) await write({ note: step.why });
      return;
    case 'next': {
      const { position, nextAtMs, failed } = step;
      await write({ position, nextAtMs, note: null, failures: [...roll.failures, ...failed] });
      return;
    }
    case 'stop':
    case 'done': {
      const failures = [...roll.failures, ...step.failed];
      const [first] = step.failed;
      const isStop = step.kind === 'stop';
      const note = isStop && first ? `${first.slot}: ${first.why}` : failureText(failures.length);
      const change = isStop ? 'stopped' : 'done';
      const position = isStop ? roll.position : roll.slots.length;
      const written = await write({ state: change, note, position, nextAtMs: null, failures });
      if (written) log.info({ roll: roll.id, note }, `a rolling action is ${change}`);
    }
  }
}

const failureText = (count: number): string | null =>
  count === 0 ? null : `it failed on ${count} ${count === 1 ? 'machine' : 'machines'}`;

/** Submits an ordinary order, under the name of the person who asked for the roll. */
async function order({ bmdb, log }: RollsDeps, roll: RollRow, at: RollSlot): Promise<void> {
  const { action, drain, by, role, proven, reason } = roll;
  const details = action === 'reboot' ? { force: false } : {};
  const leaving = action === 'reinstall' ? { returnToPool: false } : {};
  try {
    await bmdb.requests.submit({
      ...{ key: rollOrderKey(roll, at), by, reason, validForMs: VALID_FOR_MS },
      standing: { role, proven },
      what: { verb: action, drain, ...details, ...leaving, target: at },
    });
  } catch (error) {
    // Somebody else's order is open: the roll waits until it has ended.
    if (!(error instanceof NothingToDo)) throw error;
    log.debug({ roll: roll.id, slot: at.slotId }, error.message);
  }
}
