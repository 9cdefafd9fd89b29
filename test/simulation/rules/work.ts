import { DEFAULT_CHRONIC } from '../../../src/domain/recovery/ladder.ts';
import { slotOfRow } from '../../../src/domain/submission/named-fleet.ts';
import type { MemTables } from '../../doubles/mem-bmdb/tables.ts';
import type { MachineRow, Process } from '../../../src/domain/machine.ts';
import type { RecordedStep } from '../recorder.ts';
import {
  ATTEMPTS,
  heardAtMs,
  HEARD_WITHIN_MS,
  isAlive,
  isGivenUp,
  isLadder,
  isQuarantined,
  LADDER,
  liveLeases,
  orderOf,
  whyNot,
} from './facts.ts';
import { isFull } from './guard.ts';
import {
  changesOf,
  isForeign,
  isInConflict,
  isSteady,
  lasting,
  MINUTE,
  onMachines,
  type SimulationRule,
} from './rule.ts';

/** The note about running work that the step writes, if any. */
function noteIn(step: RecordedStep): { readonly kind: string } & Readonly<Record<string, unknown>> {
  const isNote = step.kind === 'write' && step.call.path === 'bmdb.work.note';
  return isNote ? (step.call.args[0] as { readonly kind: string }) : { kind: 'nothing' };
}

/** First and longest wait after failures, in seconds, as documented for operators. */
const WAITS: Readonly<Partial<Record<Process, readonly [firsts: readonly number[], max: number]>>> =
  {
    ShepherdAgentStart: [[10, 300, 1_800], 4 * 3_600],
    ShepherdRecovery: [[60], 3_600],
    ShepherdReinstall: [[60], 3_600],
    ShepherdDeprovision: [[10], 600],
  };
/** Maximum time that one work holds a machine, whatever happens to the machine. */
const WORK_MAX_MS: Readonly<Partial<Record<Process, number>>> = {
  ShepherdAgentStart: 20 * MINUTE,
  ShepherdRecovery: 45 * MINUTE,
  ShepherdReinstall: 75 * MINUTE,
};
/** A healthy daemon begins work this soon after the machine is due for it. */
const BEGUN_WITHIN_MS = 8 * MINUTE;

/** Recoveries that count for a machine's slot, newest first. */
const recoveriesOf = ({ episodes }: MemTables, row: MachineRow, atMs: number) =>
  episodes
    .filter(
      (each) =>
        each.slot === slotOfRow(row) &&
        each.counted &&
        each.attempts > 0 &&
        each.beganAtMs > atMs - DEFAULT_CHRONIC.withinMs,
    )
    .toReversed();

/** The rung that brought the machine back the last time; an episode may begin there. */
const healedLast = (tables: MemTables, row: MachineRow, atMs: number) =>
  recoveriesOf(tables, row, atMs).find(({ healedAtMs }) => healedAtMs !== null)?.rung;

/** Who may work on a machine, and when. */
export const WORK: readonly SimulationRule[] = [
  {
    id: 'claim-is-allowed',
    sentence: 'S3, S5, S8, S13: work begins only on a machine that is due for it and not held',
    watch: onMachines(({ before, after }, { atMs, holds }, { world: { bmdb } }) => {
      if (!before) return null;
      for (const { process, epoch } of after?.leases ?? []) {
        if (before.leases.some((each) => each.epoch === epoch)) continue;
        const order = orderOf(bmdb.tables, before.row, atMs);
        const why = whyNot(process, before.row, { atMs, holds, order });
        if (why) return `${process}, though ${why}`;
        const [other] = liveLeases(bmdb.tables, before.leases, atMs);
        if (other) return `${process} beside ${other.process}`;
      }
      return null;
    }),
  },
  {
    id: 'work-is-begun',
    sentence: 'L1, L2: a machine that is due for work is worked on while a daemon is well',
    watch: lasting(BEGUN_WITHIN_MS, function* (scene, atMs) {
      const { tables } = scene.world.bmdb;
      if (!isSteady(scene, atMs, BEGUN_WITHIN_MS)) return;
      const isFrozen = [...tables.guard.rows.values()].some(({ frozen }) => frozen !== null);
      const upSinceMs = tables.guard.rows.get('fleet')?.ingestUpSinceMs ?? Infinity;
      const mayRecover = !isFrozen && atMs - upSinceMs > HEARD_WITHIN_MS;
      for (const machine of tables.machines.values()) {
        const { row, leases, permitGrantedAtMs } = machine;
        if (leases.length > 0 || permitGrantedAtMs !== null) continue;
        // A person decides where rows and provider contradict each other.
        if (row.provided && isForeign(scene, row.provided.providerId)) continue;
        if (isInConflict(scene, row)) continue;
        const now = { atMs, holds: tables.holds, order: orderOf(tables, row, atMs) };
        const may = (process: Process) => whyNot(process, row, now) === null;
        const isDue = may('ShepherdRecovery');
        // A machine whose start was given up climbs the ladder and waits between its rungs. An open
        // order comes before the start, even if a freeze delays the order.
        const mayStart = may('ShepherdAgentStart') && !isGivenUp(row, atMs) && now.order === null;
        // A machine that was quarantined after that stays as it is.
        if (may('ShepherdDeprovision') && !isQuarantined(row, atMs)) {
          yield [row.machineId, 'due to be given back'];
        }
        // Somebody who powered the machine off before its agent was started may want it off.
        if (row.provided?.status === 'Stopped' && !row.agentStarted) continue;
        if (isDue && mayRecover && !isFull(scene.world, machine))
          yield [row.machineId, 'due for recovery'];
        if (mayStart) yield [row.machineId, 'due for its agent'];
      }
    }),
  },
  {
    id: 'work-ends',
    sentence: 'L3: no slot is held longer than its hard deadline',
    watch: lasting(0, function* ({ world: { bmdb } }, atMs) {
      for (const { process, startedAtMs, machineId, sessionId } of bmdb.tables.work) {
        const isOver = atMs - startedAtMs > (WORK_MAX_MS[process] ?? Infinity);
        if (isOver && isAlive(bmdb.tables, sessionId, atMs)) yield [machineId, process];
      }
    }),
  },
  {
    id: 'waits-grow',
    sentence: 'S8: the gap after a failure is the stored interval: monotone, bounded, jittered',
    watch: (_, say) => {
      /** Intervals that a person cleared while work went on. The work still knows them. */
      const cleared = new Map<string, number | null>();
      return (step) => {
        if (step.kind !== 'write') return;
        const isFailure = step.call.path === 'bmdb.work.fail';
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const isAtWork = (after?.leases.length ?? 0) > 0;
          for (const wait of (isAtWork && before?.row.backoffs) || []) {
            const isLeft = after?.row.backoffs.some(({ process }) => process === wait.process);
            if (!isLeft) cleared.set(`${wait.process} ${machineId}`, wait.lastIntervalSeconds);
          }
          for (const wait of (isFailure && after?.row.backoffs) || []) {
            const last = before?.row.backoffs.find(({ process }) => process === wait.process);
            if (last === wait) continue;
            const [firsts, maximum] = WAITS[wait.process] ?? [[], 0];
            const seconds = wait.lastIntervalSeconds ?? 0;
            const what = `${wait.process} of ${machineId} waits ${seconds} s`;
            const key = `${wait.process} ${machineId}`;
            const known = last?.lastIntervalSeconds ?? cleared.get(key) ?? null;
            cleared.delete(key);
            const isGrown = known !== null && seconds > known;
            const isFirst = firsts.includes(seconds);
            if (seconds > maximum) say(`${what}, which is too long`);
            else if (known === null && !isFirst) say(`${what} after its first failure`);
            else if (known !== null && !isGrown && !isFirst && seconds < maximum) {
              say(`${what} after ${known} s`);
            }
            const isRestarted = isFirst && known !== null && seconds < known && known > firsts[0]!;
            const isHeard = (before && heardAtMs(before.row)) ?? null;
            if (isRestarted && isLadder(wait.process) && isHeard === null) {
              say(`${what}: it starts over though nothing was heard`);
            }
            const share = (wait.untilMs - step.atMs) / (seconds * 1_000);
            if (share < 0.999 || share > 1.101) say(`${what}, and ends after ${share} times that`);
          }
        }
      };
    },
  },
  {
    id: 'ladder-is-climbed',
    sentence: 'S5, S8, I4: each rung in its order, so often, and only on a machine that is silent',
    watch: ({ world: { bmdb } }, say) => {
      const { tables } = bmdb;
      return (step) => {
        const note = noteIn(step);
        if (step.kind !== 'write' || note.kind !== 'recoveryAsked') return;
        const { atMs, holds } = step;
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const asked = after?.row.recovery;
          if (!before || !asked || asked.askedRung === null) continue;
          const rung = asked.askedRung;
          const tell = (why: string) => say(`${rung} of ${machineId} by ${step.by}: ${why}`);
          const process = rung === 'reinstalling' ? 'ShepherdReinstall' : 'ShepherdRecovery';
          const { row } = before;
          const order = orderOf(tables, row, atMs);
          const rest = { ...row, backoffs: [], recovery: null };
          const why = whyNot(process, rest, { atMs, holds, order: note['order'] ? order : null });
          if (why) tell(why);
          if (!before.leases.some((each) => each.process === process)) tell('nobody works on it');
          if (note['order'] !== undefined) {
            const verb = { 'restart-agent': 0, reboot: 1, reinstall: 3 }[String(order?.verb)];
            if (LADDER[verb ?? -1] !== rung) tell(`what was ordered is ${order?.verb}`);
            continue;
          }
          if (asked.attempts > ATTEMPTS[rung]) tell(`attempt ${asked.attempts}`);
          const first = row.agentStarted ? 'restartingAgent' : 'rebooting';
          const { rung: from = first, attempts = 0, nextAtMs = null } = row.recovery ?? {};
          if (LADDER.indexOf(rung) < LADDER.indexOf(from)) tell(`after ${from}`);
          if ((nextAtMs ?? 0) > atMs) tell('before its cool-down is over');
          const healing = row.recovery ? from : healedLast(tables, row, atMs);
          if (healing === rung) continue;
          const passed = LADDER.slice(LADDER.indexOf(from), LADDER.indexOf(rung));
          for (const each of passed) {
            const tried = each === from ? attempts : 0;
            // Without SSH there is no agent to restart.
            if (each === 'restartingAgent' || tried >= ATTEMPTS[each]) continue;
            tell(`after ${tried} attempts at ${each}`);
          }
          if (asked.askedAtMs !== atMs) tell('the time of the attempt is not noted');
        }
      };
    },
  },
  {
    id: 'a-person-is-asked-last',
    sentence: 'S8: a person is asked when every rung of the ladder was tried so often as it may be',
    watch: onMachines(({ before, after }, { call, holds, atMs }, { world }) => {
      const quarantine = after?.row.quarantine;
      if (!before || call.path !== 'bmdb.work.fail' || before.row.quarantine) return null;
      if (quarantine?.kind !== 'needsHuman') return null;
      const episodes = recoveriesOf(world.bmdb.tables, before.row, atMs).length;
      // The cause of a chronic machine that is retired at once is `retired`.
      if (episodes >= DEFAULT_CHRONIC.episodes && quarantine.cause !== null) return null;
      if (quarantine.cause === 'chronic') return `chronic after ${episodes} recoveries`;
      const { rung = null, attempts = 0 } = before.row.recovery ?? {};
      const isPreserved = holds.some(
        ({ kind, slotId }) => kind === 'preserve' && slotId === before.row.provided?.reservationId,
      );
      const last = isPreserved ? 'powerCycling' : 'reinstalling';
      const isBeyond = rung !== null && LADDER.indexOf(rung) > LADDER.indexOf(last);
      if (isBeyond || (rung === last && attempts >= ATTEMPTS[last])) return null;
      return `after ${attempts} attempts at ${rung}: ${quarantine.reason}`;
    }),
  },
];
