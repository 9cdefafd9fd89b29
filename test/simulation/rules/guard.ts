import type { GuardRow, MachineRow } from '../../../src/domain/machine.ts';
import type { MemMachine } from '../../doubles/mem-bmdb/tables.ts';
import { deedOf } from './deeds.ts';
import { isHandedOver, isLadder, isQuarantined, lostFromMs, orderOf } from './facts.ts';
import {
  changesOf,
  isSteady,
  lasting,
  MINUTE,
  onMachines,
  type SimulationRule,
  type RuleScene,
} from './rule.ts';

/** At most 5 % may recover at once, but always one machine, and two of four or more machines. */
const limitOf = (count: number, max: number): number =>
  Math.max(1, Math.min(max, Math.max(count >= 4 ? 2 : 1, Math.floor(count * 0.05))));

/** A scope freezes when more than this many machines fall silent at once. */
const freezesAbove = (started: number): number =>
  started < 10
    ? Math.max(1, Math.min(5, Math.floor(started / 2)), started * 0.2)
    : Math.max(5, started * 0.2);

const counts = (row: MachineRow, atMs: number): boolean =>
  row.provided !== null && !isHandedOver(row) && !isQuarantined(row, atMs);

/** The scopes in which a machine's permit counts. */
function scopesOf({ row, permitScope }: MemMachine): string[] {
  const { provider, location } = permitScope ?? row.provided!;
  return ['fleet', `provider ${provider}`, ...(location === null ? [] : [`location ${location}`])];
}

/**
 * Describes a scope of the machine that has reached its limit of simultaneous recoveries; null:
 * none has.
 * @param more excess over the limit that is not reported yet.
 */
function fullScope({ bmdb }: RuleScene['world'], machine: MemMachine, more = 0): string | null {
  const all = [...bmdb.tables.machines.values()].filter(
    ({ row, permitGrantedAtMs }) =>
      row.provided && (row.agentStarted || permitGrantedAtMs !== null),
  );
  for (const scope of scopesOf(machine)) {
    const group = all.filter((each) => scopesOf(each).includes(scope));
    const held = group.filter(({ permitGrantedAtMs }) => permitGrantedAtMs !== null).length;
    const most = limitOf(group.length, scope === 'fleet' ? 50 : 10) + more;
    if (held >= most) return `${held} of ${scope} recover, where ${most} may`;
  }
  return null;
}
export const isFull = (world: RuleScene['world'], machine: MemMachine): boolean =>
  fullScope(world, machine) !== null;

/** Machines that are silent, and machines that fell silent in the last ten minutes. */
function silences({ world: { bmdb } }: RuleScene, atMs: number, slackMs: number) {
  const { machines, guard } = bmdb.tables;
  const { thawedAtMs } = guard.rows.get('fleet') ?? {};
  let [started, silent, lost] = [0, 0, 0];
  for (const { row } of machines.values()) {
    if (!counts(row, atMs) || !row.agentStarted) continue;
    started += 1;
    const from = lostFromMs(row) ?? Infinity;
    if (from < atMs) lost += 1;
    const isNew = from < atMs - slackMs && from > atMs - 10 * MINUTE + slackMs;
    if (isNew && from > (thawedAtMs ?? 0)) silent += 1;
  }
  return { started, silent, lost };
}

/** The guard's row, if heartbeats have arrived for long enough and a daemon was there to judge. */
function watched(scene: RuleScene, atMs: number): GuardRow | null {
  const row = scene.world.bmdb.tables.guard.rows.get('fleet');
  const upForMs = atMs - (row?.ingestUpSinceMs ?? Infinity);
  return row && isSteady(scene, atMs, 5 * MINUTE) && upForMs > 25 * MINUTE ? row : null;
}

/** Who may interrupt machines, and how many at once. */
export const GUARD: readonly SimulationRule[] = [
  {
    id: 'permits-are-few',
    sentence: 'S7 (I5): at most max(1, min(A, X %)) machines of each scope recover at once',
    watch: onMachines(({ machineId, before, after }, _, { world }) => {
      const { bmdb } = world;
      if (before?.permitGrantedAtMs !== null || !after?.permitGrantedAtMs) return null;
      const isOrdered = (after.row.recovery?.orderKey ?? null) !== null;
      return fullScope(world, bmdb.tables.machines.get(machineId)!, isOrdered ? 2 : 1);
    }),
  },
  {
    id: 'no-permit-in-a-freeze',
    sentence: 'S7 (I5): none enters recovery while frozen, operators’ orders included',
    watch: onMachines(({ before, after }, _, { world: { bmdb } }) => {
      const isGranted = before?.permitGrantedAtMs === null && after?.permitGrantedAtMs !== null;
      const asked = after?.row.recovery?.askedAtMs ?? null;
      const isAsked = asked !== null && asked !== before?.row.recovery?.askedAtMs;
      if (!after || !(isGranted || isAsked)) return null;
      const scopes = ['fleet', after.row.provided?.provider ?? ''];
      const frozen = scopes.find((scope) => bmdb.tables.guard.rows.get(scope)?.frozen);
      return frozen && `${frozen} is frozen`;
    }),
  },
  {
    id: 'permit-is-returned',
    sentence: 'S7: a permit is held while a rung is tried, and given back at its end',
    watch: onMachines(({ before, after }, { call }) => {
      if (!['bmdb.work.finish', 'bmdb.work.fail'].includes(call.path)) return null;
      const wasLadder = before?.leases.some(({ process }) => isLadder(process));
      const isKept = wasLadder && after && after.permitGrantedAtMs !== null;
      return isKept ? 'it keeps its permit' : null;
    }),
  },
  {
    id: 'no-permit-lies-idle',
    sentence: 'S7: with default settings one hopeless machine does not delay another',
    watch: lasting(3 * MINUTE, function* (scene, atMs) {
      if (!isSteady(scene, atMs, 3 * MINUTE)) return;
      for (const { row, leases, permitGrantedAtMs } of scene.world.bmdb.tables.machines.values()) {
        if (permitGrantedAtMs === null || leases.length > 0) continue;
        const isUsed = (row.recovery?.askedAtMs ?? -Infinity) >= permitGrantedAtMs;
        if (!isUsed) yield [row.machineId, 'holds a permit that nobody uses'];
      }
    }),
  },
  {
    id: 'no-permit-beyond-reach',
    sentence: 'S7: a permit is not held for a machine beyond reach',
    watch: lasting(8 * MINUTE, function* (scene, atMs) {
      const { world } = scene;
      // Nobody can return a permit while the database refuses writes.
      if (!isSteady(scene, atMs, 2 * MINUTE)) return;
      for (const { row, leases, permitGrantedAtMs } of world.bmdb.tables.machines.values()) {
        if (permitGrantedAtMs === null || leases.length === 0) continue;
        // An installation takes its time, and the permit covers all of it.
        if (row.recovery?.askedRung === 'reinstalling') continue;
        const host = world.hosts.get(`${row.provided?.address}:22`);
        const usualMs = 1_000 * Math.max(0, ...row.bootTimes.reboot);
        const sinceMs = Math.max(row.recovery?.askedAtMs ?? Infinity, permitGrantedAtMs);
        if (host && !host.unreachable) continue;
        if (atMs - sinceMs > Math.max(5 * MINUTE, usualMs)) yield [row.machineId, 'holds a permit'];
      }
    }),
  },
  {
    id: 'freeze-has-a-reason',
    sentence:
      'S7: only many newly silent machines freeze a scope; people end their own freeze, or its end does',
    watch: (scene, say) => (step) => {
      for (const { scope, before, after } of changesOf(step, 'guard')) {
        if (step.kind !== 'write') continue;
        const [was, is] = [before?.frozen ?? null, after?.frozen ?? null];
        const isByPerson = step.call.path === 'bmdb.session.applyRequest';
        const isOver = was !== null && was.untilMs !== null && was.untilMs <= step.atMs;
        if (was?.kind === 'manual' && is?.kind !== 'manual' && !isByPerson && !isOver) {
          say(`${scope}: a freeze by ${was.by} ends by itself`);
        }
        const { started, lost } = silences(scene, step.atMs, 0);
        if (is?.kind === 'silence' && was === null && lost <= freezesAbove(started)) {
          say(`${scope} is frozen for ${lost} of ${started}`);
        }
      }
    },
  },
  {
    id: 'many-silent-freeze',
    sentence: 'S7: more than max(5, 20 %) newly silent within ten minutes freeze their scope',
    watch: lasting(2 * MINUTE, function* (scene, atMs) {
      const { started, silent } = silences(scene, atMs, MINUTE / 2);
      if (watched(scene, atMs)?.frozen !== null || silent <= freezesAbove(started)) return;
      yield ['fleet', `${silent} of ${started} are newly silent`];
    }),
  },
  {
    id: 'freeze-ends',
    sentence: 'S7: it thaws by itself once the silent share has been below 10 % for ten minutes',
    watch: lasting(14 * MINUTE, function* (scene, atMs) {
      if (watched(scene, atMs)?.frozen?.kind !== 'silence') return;
      if (silences(scene, atMs, 0).lost === 0) yield ['fleet', 'frozen though nobody is silent'];
    }),
  },
  {
    id: 'requests-are-settled',
    sentence: 'I8, L1: what an operator asks is settled, or refused once it has expired',
    watch: lasting(5 * MINUTE, function* (scene, atMs) {
      if (!isSteady(scene, atMs, 5 * MINUTE)) return;
      const { machines, requests } = scene.world.bmdb.tables;
      for (const { key, verb, state, expiresAtMs, machineId } of requests.values()) {
        const machine = machineId === null ? undefined : machines.get(machineId);
        // Work that has begun is finished, and so is its order.
        if (machine?.row.recovery?.orderKey === key && machine.leases.length > 0) continue;
        const isOrder = ['reboot', 'reinstall', 'restart-agent'].includes(verb);
        const isOver = expiresAtMs <= atMs;
        if (state === 'open' && (isOver || !isOrder)) yield [key, `${verb} is open`];
      }
    }),
  },
  {
    id: 'an-order-is-carried-out-once',
    sentence: 'I4, I9: an operator’s order interrupts its machine once, while it is open',
    watch: (scene, say) => {
      /** By order: when its result was noted. */
      const done = new Map<string, number>();
      const look = onMachines(({ before, after }) => {
        const { orderKey = null, askedAtMs = null } = after?.row.recovery ?? {};
        if (!orderKey || !askedAtMs || askedAtMs === before?.row.recovery?.askedAtMs) return null;
        const order = before && orderOf(scene.world.bmdb.tables, before.row, askedAtMs);
        return order?.key === orderKey ? null : `${orderKey} is not open`;
      })(scene, say);
      return (step) => {
        look(step);
        const deed = deedOf(step, scene);
        const { orderKey = null, askedAtMs = null } = deed?.machine?.row.recovery ?? {};
        if (!deed || !['stop', 'reboot', 'off', 'reinstall'].includes(deed.what)) return;
        if (!orderKey || !askedAtMs) return;
        const isAgain = (done.get(orderKey) ?? askedAtMs) !== askedAtMs;
        if (isAgain) say(`${deed.what} of ${deed.machine?.row.machineId} for ${orderKey} again`);
        done.set(orderKey, askedAtMs);
      };
    },
  },
];
