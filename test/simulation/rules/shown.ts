import type { Block, Explanation } from '../../../src/domain/explanation/types.ts';
import { slot, type Slot } from '../../../src/domain/ids.ts';
import type { HoldRow, MachineRow, Process } from '../../../src/domain/machine.ts';
import type { MemMachine } from '../../doubles/mem-bmdb/tables.ts';
import type { RecordedStep } from '../recorder.ts';
import {
  heardAtMs,
  isHandedOver,
  isInstalling,
  isLadder,
  isLost,
  isQuarantined,
  liveLeases,
  orderOf,
  whyNot,
} from './facts.ts';
import { changesOf, lasting, MINUTE, type SimulationRule, type RuleScene } from './rule.ts';

/** The state of a machine while a process works on it. */
const SHOWN_AT_WORK: Readonly<Partial<Record<Process, string>>> = {
  ShepherdAgentStart: 'AgentStarting',
  ShepherdRecovery: 'Recovering',
  ShepherdReinstall: 'Recovering',
  ShepherdDeprovision: 'Deprovisioning',
};
/** A daemon knows a write this soon. */
const KNOWN_WITHIN_MS = 2 * MINUTE;

/** The machine's state and substate by its rows, as the documented table of states has them. */
function placeOf({ world: { bmdb } }: RuleScene, machine: MemMachine, atMs: number): string {
  const { tables } = bmdb;
  const { row, permitGrantedAtMs } = machine;
  const [work] = liveLeases(tables, machine.leases, atMs);
  if (row.quarantine && isQuarantined(row, atMs)) {
    const { kind, cause } = row.quarantine;
    return `Quarantined ${cause === 'retired' ? cause : kind}`;
  }
  if (row.deprovision) return 'Deprovisioning';
  if (row.provided?.status === 'Missing') return 'Quarantined missing';
  if (work && isLadder(work.process)) return 'Recovering';
  const now = { atMs, holds: tables.holds, order: null };
  const why = whyNot('ShepherdRecovery', row, now);
  const isPaused = why === 'it cools down' || why === 'it backs off';
  if (permitGrantedAtMs !== null || (row.recovery && isPaused)) return 'Recovering coolingDown';
  if (work?.process === 'ShepherdAgentStart') return 'AgentStarting';
  if (isHandedOver(row)) return 'HandedOver';
  if (!row.agentStarted) return `Provisioned ${waitOf(row, why, { ...now, atMs })}`;
  if (isLost(row, atMs)) return 'Running silent';
  if (isInstalling(row) && row.installation.handedOutAtMs !== null) return 'Running installingOs';
  const heard = heardAtMs(row);
  if (heard === null) return 'Running awaitingHeartbeat';
  // A daemon reads heartbeats that other daemons received once a minute.
  if (atMs - heard < MINUTE) return 'Running healthy';
  return atMs - heard > 3 * MINUTE ? 'Running late' : 'Running';
}

function waitOf(row: MachineRow, recovery: string | null, now: Parameters<typeof whyNot>[2]) {
  const status = row.provided?.status;
  if (status === 'ProvisioningFailedPermanent') return 'failed';
  if (status === 'Provisioning') return 'installing';
  if (status === 'Stopped') return 'stopped';
  if (recovery === null) return 'waiting';
  const wait = row.backoffs.find(({ process }) => process === 'ShepherdAgentStart');
  return whyNot('ShepherdAgentStart', row, now) !== null && (wait?.untilMs ?? 0) > now.atMs
    ? 'backingOff'
    : 'waiting';
}

const slotOfRow = ({ provided }: MachineRow): Slot | null =>
  provided && slot(provided.provider, provided.reservationId ?? provided.providerId);

/** Processes by the name that an explanation gives the work. */
const PROCESSES: Readonly<Record<string, readonly Process[]>> = {
  agentStart: ['ShepherdAgentStart'],
  recovery: ['ShepherdRecovery', 'ShepherdReinstall'],
  deprovision: ['ShepherdDeprovision'],
};
/** Our reasons, by the kind of block that an explanation must name for them. */
const TOLD_AS: Readonly<Record<string, Block['kind']>> = {
  'it backs off': 'backoff',
  'it cools down': 'cooldown',
  'it is held': 'hold',
};

/** Daemons that have worked without trouble for long enough to know everything. */
const knowing = ({ daemons, recorder }: RuleScene, atMs: number) =>
  daemons().flatMap(({ name, played }) =>
    played?.isAlive && atMs - recorder.steadySinceMs(name) > 2 * KNOWN_WITHIN_MS
      ? [{ name, daemon: played.daemon }]
      : [],
  );

/** When each machine's rows, apart from heartbeats, were last written, and the time for all. */
function createWritten() {
  const written = new Map<string, number>();
  let othersAtMs = 0;
  let holds: readonly HoldRow[] = [];
  return {
    note(step: RecordedStep) {
      for (const { machineId, before, after } of changesOf(step, 'machine')) {
        const isBeat = before && after && isSameButHeard(before.row, after.row);
        if (!isBeat || before.leases !== after.leases) written.set(machineId, step.atMs);
      }
      const isOther = changesOf(step, 'guard').length + changesOf(step, 'request').length > 0;
      if (step.kind !== 'write' || (!isOther && step.holds === holds)) return;
      othersAtMs = step.atMs;
      ({ holds } = step);
    },
    lastMs: (machineId: string) => Math.max(othersAtMs, written.get(machineId) ?? 0),
  };
}
const isSameButHeard = ({ heartbeat: _, ...a }: MachineRow, { heartbeat: __, ...b }: MachineRow) =>
  Object.keys(a).every((key) => a[key as keyof typeof a] === b[key as keyof typeof b]);

/** What daemons show and explain. */
export const SHOWN: readonly SimulationRule[] = [
  {
    id: 'state-is-true',
    sentence: 'L4: what a daemon shows of a machine converges to its rows',
    watch: lasting(KNOWN_WITHIN_MS, function* (scene, atMs) {
      for (const { name, daemon } of knowing(scene, atMs)) {
        for (const machine of scene.world.bmdb.tables.machines.values()) {
          const at = slotOfRow(machine.row);
          const entry = at && daemon.board.entries.get(at);
          const place = placeOf(scene, machine, atMs);
          const shown = entry ? `${entry.state} ${entry.substate}` : 'nothing';
          // News do not interrupt a task: a daemon shows its own task until the task ends.
          const own = liveLeases(scene.world.bmdb.tables, machine.leases, atMs).find(
            ({ sessionId }) => scene.recorder.ownerOf(sessionId) === name,
          );
          const isTrue =
            shown.startsWith(place) ||
            shown === 'Quarantined conflict' ||
            (own !== undefined && shown.startsWith(SHOWN_AT_WORK[own.process] ?? 'nothing'));
          if (at && !isTrue) yield [`${name} shows ${at}`, `${shown} is ${place}`];
        }
      }
    }),
  },
  {
    id: 'explanation-is-true',
    sentence: 'Explanations tell what bars the next work on a machine, and nothing else',
    watch(scene, say) {
      const written = createWritten();
      const told = new Set<string>();
      const { tables } = scene.world.bmdb;
      return (step) => {
        written.note(step);
        if (step.kind !== 'look') return;
        const { atMs } = step;
        const daemons = knowing(scene, atMs);
        for (const { row, leases } of tables.machines.values()) {
          const at = slotOfRow(row);
          const isOld = atMs - written.lastMs(row.machineId) > KNOWN_WITHIN_MS;
          if (!at || !isOld || leases.length > 0) continue;
          for (const { name, daemon } of daemons) {
            const entry = daemon.board.entries.get(at);
            if (!entry || entry.state === 'Running') continue;
            const told1 = daemon.insight.glance(at);
            for (const lie of told1 ? liesOf(told1, row, { scene, atMs }) : ['it tells nothing']) {
              const what = `${name} of ${at}: ${lie} (${told1?.sentence})`;
              if (!told.has(`${name} ${at} ${lie}`)) say(what);
              told.add(`${name} ${at} ${lie}`);
            }
          }
        }
      };
    },
  },
  {
    id: 'next-step-is-true',
    sentence: 'Explanations tell when the next work begins: not before, and not for ever after',
    watch(scene, say) {
      const written = createWritten();
      const promised = new Map<string, { readonly toldAtMs: number; readonly next: Next }>();
      const { tables } = scene.world.bmdb;
      return (step) => {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const promise = promised.get(machineId);
          const begun = after?.leases.find((each) => !before?.leases.includes(each));
          if (!promise || !begun) continue;
          promised.delete(machineId);
          const { next, toldAtMs } = promise;
          const isSame = written.lastMs(machineId) < toldAtMs;
          const isMeant = PROCESSES[next.work ?? '']?.includes(begun.process);
          if (!isSame || !isMeant || next.atMs === null || step.atMs >= next.atMs - 1_000) continue;
          say(
            `${begun.process} of ${machineId} begins ${next.atMs - step.atMs} ms before it is said`,
          );
        }
        written.note(step);
        if (step.kind !== 'look') return;
        for (const { row, leases } of tables.machines.values()) {
          const at = slotOfRow(row);
          const [daemon] = knowing(scene, step.atMs);
          const isOld = step.atMs - written.lastMs(row.machineId) > KNOWN_WITHIN_MS;
          const next = at && daemon?.daemon.insight.glance(at)?.next;
          if (next && isOld && leases.length === 0) {
            promised.set(row.machineId, { toldAtMs: step.atMs, next });
          }
        }
      };
    },
  },
];

type Next = Explanation['next'];

/** Compares an explanation with the machine's rows. */
function liesOf(
  { next, blockedBy }: Explanation,
  row: MachineRow,
  { scene, atMs }: { readonly scene: RuleScene; readonly atMs: number },
): string[] {
  const { tables } = scene.world.bmdb;
  const lies: string[] = [];
  const kinds = new Set(blockedBy.map(({ kind }) => kind));
  const order = orderOf(tables, row, atMs);
  for (const { kind, endsAtMs } of blockedBy) {
    const isSaid = (times: readonly (number | null | undefined)[]) =>
      times.some((each) => typeof each === 'number' && Math.abs(each - (endsAtMs ?? 0)) < 2);
    if (kind === 'backoff' && !isSaid(row.backoffs.map(({ untilMs }) => untilMs))) {
      lies.push(`no wait ends at ${endsAtMs}`);
    }
    if (kind === 'cooldown' && !isSaid([row.recovery?.nextAtMs]))
      lies.push('it does not cool down');
    if (
      kind === 'hold' &&
      !tables.holds.some(({ slotId }) => slotId === row.provided?.reservationId)
    ) {
      lies.push('there is no hold');
    }
    const isFrozen = [...tables.guard.rows.values()].some(({ frozen }) => frozen !== null);
    if (kind === 'freeze' && !isFrozen) lies.push('nothing is frozen');
    if (kind === 'elsewhere') lies.push('nobody works on it');
    if (endsAtMs !== null && endsAtMs < atMs - KNOWN_WITHIN_MS) lies.push(`${kind} has ended`);
  }
  const ends = blockedBy.map(({ endsAtMs }) => endsAtMs);
  if (next.work && !ends.includes(null)) {
    const latest = Math.max(...(ends as number[]), 0);
    if (next.atMs === null) lies.push('it does not tell when');
    else if (next.atMs < latest) lies.push(`${next.work} before ${latest}`);
  }
  const whys = (PROCESSES[next.work ?? ''] ?? []).map((process) =>
    whyNot(process, row, { atMs, holds: tables.holds, order }),
  );
  const [why = null] = whys;
  const kind = why === null ? undefined : TOLD_AS[why];
  if (kind && new Set(whys).size === 1 && !kinds.has(kind))
    lies.push(`it does not tell that ${why}`);
  if (next.work === null && !order && isIdleThoughDue(row, { scene, atMs })) {
    lies.push('it does not tell what comes next');
  }
  return lies;
}

function isIdleThoughDue(row: MachineRow, { scene, atMs }: { scene: RuleScene; atMs: number }) {
  const now = { atMs, holds: scene.world.bmdb.tables.holds, order: null };
  return (
    whyNot('ShepherdAgentStart', row, now) === null || whyNot('ShepherdRecovery', row, now) === null
  );
}
