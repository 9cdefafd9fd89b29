import type { MachineRow } from '../../../src/domain/machine.ts';
import { PROVIDER } from '../../support/facts.ts';
import { isFrozen, isWindowOpen } from './facts.ts';
import {
  changesOf,
  isSteady,
  MINUTE,
  onMachines,
  tooLong,
  type RuleScene,
  type SimulationRule,
  type Write,
} from './rule.ts';

/** A daemon may act by what it read this long ago. */
export const STALE_MS = 2 * MINUTE;
/** A live daemon opens a case this soon, also after another daemon had the job. */
const OPENED_WITHIN_MS = 15 * MINUTE;
const DAY_MS = 24 * 60 * MINUTE;

const slotIdOf = ({ provided }: MachineRow) => provided?.reservationId ?? null;

/** Whether only a person can bring the machine back. */
const needsPerson = ({ quarantine }: MachineRow): boolean =>
  quarantine !== null && (quarantine.kind === 'needsHuman' || quarantine.cause !== null);

/** Since when a condition drains the slot's machine; null: none does for certain. */
function drainedSinceMs({ world: { bmdb, config } }: RuleScene, slotId: string): number | null {
  const { conditions, machines, holds } = bmdb.tables;
  // A person's own hold comes first, and a condition that many have only tells.
  if (holds.some((each) => each.slotId === slotId && each.kind === 'no-serve')) return null;
  const drains = [...conditions.values()].filter(
    ({ status, type }) => status === 'True' && config.conditions[type] === 'drain',
  );
  const [own] = drains;
  return drains.length === 1 && own!.slotId === slotId && machines.size >= 4 ? own!.sinceMs : null;
}

/** Accepted machines and those that nobody has to accept may serve. */
const isUnaccepted = ({ acceptance }: MachineRow): boolean =>
  acceptance !== null &&
  (acceptance.state === 'failed' || (acceptance.state === 'due' && acceptance.held));

const serves = (row: MachineRow | undefined): boolean =>
  row?.members.some(({ state }) => state === 'active') ?? false;

/** Cases, acceptances, retired slots and their replacements. */
export const REPAIRS: readonly SimulationRule[] = [
  {
    id: 'cases-are-few',
    sentence: 'A slot has at most one open case, which a person closes, or an acceptance, for good',
    watch: (scene, say) => (step) => {
      for (const { before, after } of changesOf(step, 'case')) {
        const { caseId, slotId, closedAtMs, closedBy } = (after ?? before)!;
        const tell = (why: string) => say(`case ${caseId} of ${slotId} ${why}`);
        const wasOpen = before !== null && before.closedAtMs === null;
        if (!after && wasOpen) tell('is deleted');
        if (after && before && !wasOpen && closedAtMs === null) tell('is open again');
        const isClosed = closedAtMs !== null && (wasOpen || !before);
        if (isClosed && (step as Write).by !== null && closedBy !== 'acceptance')
          tell(`is closed by ${(step as Write).by}`);
        const open = scene.world.bmdb.tables.cases.filter(
          (each) => each.slotId === slotId && each.closedAtMs === null,
        );
        if (open.length > 1) tell(`is one of ${open.length}`);
      }
    },
  },
  {
    id: 'a-person-is-told',
    sentence: 'A machine that needs a person, or that a condition drains, gets a case',
    watch(scene, say) {
      /** By machine: since when it needs a person. */
      const since = new Map<string, number>();
      const late = tooLong(OPENED_WITHIN_MS, say);
      const { tables } = scene.world.bmdb;
      function* untold(): Iterable<[string, string]> {
        for (const { row } of tables.machines.values()) {
          const slotId = slotIdOf(row);
          if (slotId === null) continue;
          const times = [since.get(row.machineId) ?? null, drainedSinceMs(scene, slotId)];
          const fromMs = Math.max(...times.map((each) => each ?? -Infinity));
          const last = tables.cases.findLast((each) => each.slotId === slotId);
          // After a case was closed, only a newer reason opens the next.
          const isTold = last && (last.closedAtMs === null || last.closedAtMs >= fromMs);
          if (fromMs > -Infinity && !isTold) yield [`${row.machineId} on ${slotId}`, 'has no case'];
        }
      }
      return (step) => {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          if (!after || !needsPerson(after.row)) since.delete(machineId);
          else if (!before || !needsPerson(before.row)) since.set(machineId, step.atMs);
        }
        if (step.kind !== 'look') return;
        late(new Map(isSteady(scene, step.atMs, 5 * MINUTE) ? untold() : []), step.atMs);
      };
    },
  },
  {
    id: 'acceptance-is-true',
    sentence: 'A machine is accepted only if its agent found everything as its profile wants',
    watch: onMachines(({ machineId, before, after }, _, { world }) => {
      const isNew = before?.row.acceptance?.state !== 'passed';
      if (after?.row.acceptance?.state !== 'passed' || !isNew) return null;
      const { checks = [] } = world.bmdb.tables.machines.get(machineId)?.acceptance ?? {};
      const isTrue = checks.length > 0 && checks.every(({ status }) => status === 'ok');
      return isTrue ? null : `it is accepted with ${checks[0]?.found ?? 'no check'}`;
    }),
  },
  {
    id: 'nobody-serves-unaccepted',
    sentence: 'A machine that must be accepted joins its pools only after it is',
    watch: onMachines(({ before, after }, { atMs, by }, { recorder, world }) => {
      if (!after || !serves(after.row) || serves(before?.row)) return null;
      const { acceptance, provided } = after.row;
      const { required } = world.config.providers[provided?.provider ?? '']?.acceptance ?? {};
      const isSure = by !== null && atMs - recorder.steadySinceMs(by) > STALE_MS;
      const knownMs = acceptance?.endedAtMs ?? acceptance?.askedAtMs ?? atMs;
      const isLate = isSure && atMs - knownMs > STALE_MS;
      return required && isUnaccepted(after.row) && isLate ? `it is ${acceptance?.state}` : null;
    }),
  },
  {
    id: 'retired-stays-out',
    sentence: 'A retired slot is not used again, until a person says so',
    watch({ world }, say) {
      /** By slot: since when it is retired. */
      const since = new Map<string, number>();
      return (step) => {
        if (step.kind !== 'write' && step.kind !== 'look') return;
        const retired = world.bmdb.tables.holds.filter(({ kind }) => kind === 'retired');
        const names = new Set(retired.map(({ slotId }) => slotId));
        for (const slotId of since.keys()) if (!names.has(slotId)) since.delete(slotId);
        for (const slotId of names) if (!since.has(slotId)) since.set(slotId, step.atMs);
        const isOld = (slotId: string | null) =>
          step.atMs - (since.get(slotId ?? '') ?? Infinity) > MINUTE;
        for (const { before, after } of changesOf(step, 'intent')) {
          if (before === null && isOld(after!.slotId)) say(`a machine is made on ${after!.slotId}`);
        }
        if (step.kind === 'look' || !step.by || step.call.path === 'bmdb.session.applyRequest')
          return;
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const isFreed = before?.row.quarantine?.cause === 'retired' && !after?.row.quarantine;
          if (isFreed && after && !after.row.deprovision && isOld(slotIdOf(after.row)))
            say(`${machineId} is in use again by ${step.by}`);
        }
      };
    },
  },
  {
    id: 'replacements-are-few',
    sentence: 'There are never more machines than target and replacement.maxPerDay allow',
    watch(scene, say) {
      const { world } = scene;
      const { tables } = world.bmdb;
      const { target } = world.config.providers[PROVIDER]!;
      const { replacement, windows } = world.config;
      const startMs = world.clock.now();
      return (step) => {
        if (target === undefined) return;
        for (const { before, after } of changesOf(step, 'intent')) {
          if (before !== null || !after) continue;
          const open = [...tables.intents.values()].filter(({ state }) =>
            ['open', 'unresolved'].includes(state),
          );
          const kept = [...tables.machines.values()].filter(({ row }) => row.deprovision === null);
          const days = 1 + Math.floor((step.atMs - startMs) / DAY_MS);
          const count = open.length + kept.length;
          const max = target + days * replacement.maxPerDay;
          if (count > max) say(`${count} machines, with a target of ${target}`);
          if (!after.replaces) continue;
          // A creation that failed has replaced nothing.
          const today = [...tables.intents.values()].filter(
            ({ replaces, createdAtMs, state }) =>
              replaces &&
              createdAtMs > step.atMs - DAY_MS &&
              !['failed', 'abandoned'].includes(state),
          );
          if (today.length > replacement.maxPerDay) say(`${today.length} replacements in a day`);
          const { rows } = tables.guard;
          if (isFrozen(rows, PROVIDER, step.atMs - STALE_MS)) say('replaced while frozen');
          if (![0, STALE_MS].some((ms) => isWindowOpen(windows, step.atMs - ms)))
            say('replaced while no window is open');
        }
      };
    },
  },
];
