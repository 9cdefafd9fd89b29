import type { MachineRow } from '../../../src/domain/machine.ts';
import type { MemMachine } from '../../doubles/mem-bmdb/tables.ts';
import { isHandedOver, isLadder, isQuarantined, lostFromMs, orderOf } from './facts.ts';
import { changesOf, MINUTE, steadySinceMs, tooLong, type Rule, type Scene } from './rule.ts';

/** A hundredth of this may recover at once, but at least one, and two in every group of four. */
const limitOf = (count: number, max: number): number =>
  Math.max(1, Math.min(max, Math.max(count >= 4 ? 2 : 1, Math.floor(count * 0.05))));

/** More of so many machines newly silent at once freeze their scope. */
const freezesAbove = (started: number): number =>
  started < 10
    ? Math.max(1, Math.min(5, Math.floor(started / 2)), started * 0.2)
    : Math.max(5, started * 0.2);

const counts = (row: MachineRow, atMs: number): boolean =>
  row.provided !== null && !isHandedOver(row) && !isQuarantined(row, atMs);

/** Machines by the scopes in which permits are counted. */
function* scopesOf({ row, permitScope }: MemMachine) {
  const { provider, location } = permitScope ?? row.provided!;
  yield 'fleet';
  yield `provider ${provider}`;
  if (location !== null) yield `location ${location}`;
}

/** Machines that fell silent in the last ten minutes, while heartbeats were taken in. */
function newlySilent({ world: { bmdb } }: Scene, atMs: number, slackMs: number) {
  const { machines, guard } = bmdb.tables;
  const { ingestUpSinceMs = null, thawedAtMs = null } = guard.rows.get('fleet') ?? {};
  let [started, silent, lost] = [0, 0, 0];
  for (const { row } of machines.values()) {
    if (!counts(row, atMs) || !row.agentStarted) continue;
    started += 1;
    const from = lostFromMs(row) ?? Infinity;
    if (from < atMs) lost += 1;
    // Who fell silent while nobody listened is found lost only later.
    const found = Math.max(from, slackMs > 0 ? from : (ingestUpSinceMs ?? 0) + 10 * MINUTE);
    const isNew = found < atMs - slackMs && found > atMs - 10 * MINUTE + slackMs;
    if (from < atMs && isNew && from > (thawedAtMs ?? 0)) silent += 1;
  }
  return { started, silent, lost };
}

/** Who may interrupt machines, and how many at once. */
export const GUARD: readonly Rule[] = [
  {
    id: 'permits-are-few',
    sentence: 'S7 (I5): at most max(1, min(A, X %)) machines of each scope recover at once',
    watch: ({ world: { bmdb } }, say) => {
      const { tables } = bmdb;
      return (step) => {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          if (before?.permitGrantedAtMs !== null || !after?.permitGrantedAtMs) continue;
          const isOrdered = (after.row.recovery?.orderKey ?? null) !== null;
          const own = tables.machines.get(machineId);
          for (const scope of own ? scopesOf(own) : []) {
            let [held, group] = [0, 0];
            for (const machine of tables.machines.values()) {
              const { row, permitGrantedAtMs } = machine;
              if (!row.provided || !(row.agentStarted || permitGrantedAtMs !== null)) continue;
              if (![...scopesOf(machine)].includes(scope)) continue;
              group += 1;
              held += permitGrantedAtMs === null ? 0 : 1;
            }
            const most = limitOf(group, scope === 'fleet' ? 50 : 10) + (isOrdered ? 1 : 0);
            if (held > most)
              say(`${machineId} is number ${held} of ${scope}, where ${most} may be`);
          }
        }
      };
    },
  },
  {
    id: 'no-permit-in-a-freeze',
    sentence: "S7 (I5): none enters recovery while frozen, operators' orders included",
    watch: ({ world: { bmdb } }, say) => {
      return (step) => {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const isGranted = before?.permitGrantedAtMs === null && after?.permitGrantedAtMs !== null;
          const asked = after?.row.recovery?.askedAtMs ?? null;
          const isAsked = asked !== null && asked !== before?.row.recovery?.askedAtMs;
          if (!after || !(isGranted || isAsked)) continue;
          for (const scope of ['fleet', after.row.provided?.provider ?? '']) {
            const frozen = bmdb.tables.guard.rows.get(scope)?.frozen;
            if (frozen) say(`${machineId}: ${scope} is frozen (${frozen.reason})`);
          }
        }
      };
    },
  },
  {
    id: 'permit-is-returned',
    sentence:
      'S7: a permit is held while a rung is tried, not in a pause, nor for one beyond reach',
    watch(scene, say) {
      const { tables } = scene.world.bmdb;
      const idle = tooLong(3 * MINUTE, say);
      const beyond = tooLong(8 * MINUTE, say);
      return (step) => {
        const ends = ['bmdb.work.finish', 'bmdb.work.fail'];
        if (step.kind === 'write' && ends.includes(step.call.path)) {
          for (const { machineId, before, after } of changesOf(step, 'machine')) {
            const wasLadder = before?.leases.some(({ process }) => isLadder(process));
            if (!wasLadder || !after || after.permitGrantedAtMs === null) continue;
            say(`${machineId} keeps its permit after ${step.call.path}`);
          }
        }
        if (step.kind !== 'look') return;
        const { atMs } = step;
        const kept = new Map<string, string>();
        const gone = new Map<string, string>();
        const isSteady = atMs - steadySinceMs(scene) > 3 * MINUTE;
        for (const { row, leases, permitGrantedAtMs } of tables.machines.values()) {
          if (permitGrantedAtMs === null) continue;
          const { askedAtMs = null } = row.recovery ?? {};
          const isUsed = askedAtMs !== null && askedAtMs >= permitGrantedAtMs;
          if (isSteady && leases.length === 0 && !isUsed) {
            kept.set(row.machineId, 'holds a permit that nobody uses');
          }
          const host = scene.world.hosts.get(`${row.provided?.address}:22`);
          const isUp = host !== undefined && !host.unreachable;
          const usualMs = 1_000 * Math.max(0, ...row.bootTimes.reboot);
          const sinceMs = Math.max(askedAtMs ?? Infinity, permitGrantedAtMs);
          if (leases.length > 0 && !isUp && atMs - sinceMs > Math.max(5 * MINUTE, usualMs)) {
            gone.set(row.machineId, 'holds a permit beyond reach');
          }
        }
        idle(kept, atMs);
        beyond(gone, atMs);
      };
    },
  },
  {
    id: 'freezes-and-thaws',
    sentence: 'S7: many newly silent at once freeze their scope; it thaws once few are for 10 min',
    watch(scene, say) {
      const { rows } = scene.world.bmdb.tables.guard;
      const missed = tooLong(2 * MINUTE, say);
      const kept = tooLong(14 * MINUTE, say);
      return (step) => {
        for (const { scope, before, after } of changesOf(step, 'guard')) {
          if (step.kind !== 'write') continue;
          const [was, is] = [before?.frozen ?? null, after?.frozen ?? null];
          const isByPerson = step.call.path === 'bmdb.session.settle';
          if (was?.kind === 'manual' && is?.kind !== 'manual' && !isByPerson) {
            say(`${scope}: a freeze by ${was.by} ends by itself`);
          }
          if (is?.kind === 'silence' && was === null) {
            const { started, lost } = newlySilent(scene, step.atMs, 0);
            if (lost <= freezesAbove(started)) say(`${scope} is frozen for ${lost} of ${started}`);
          }
        }
        if (step.kind !== 'look') return;
        const { atMs } = step;
        const { started, silent, lost } = newlySilent(scene, atMs, MINUTE / 2);
        const { frozen = null, ingestUpSinceMs = null } = rows.get('fleet') ?? {};
        const isSteady = atMs - steadySinceMs(scene) > 5 * MINUTE;
        const isTold = ingestUpSinceMs !== null && atMs - ingestUpSinceMs > 25 * MINUTE;
        const above = freezesAbove(started);
        const isMissed = isSteady && isTold && silent > above && frozen === null;
        missed(
          new Map(isMissed ? [['fleet', `${silent} of ${started} are newly silent`]] : []),
          atMs,
        );
        const isCalm = isSteady && isTold && lost === 0 && frozen?.kind === 'silence';
        kept(new Map(isCalm ? [['fleet', 'frozen though nobody is silent']] : []), atMs);
      };
    },
  },
  {
    id: 'requests-are-settled',
    sentence: 'I8, L1: what an operator asks is settled, or refused once it has expired',
    watch(scene, say) {
      const { tables } = scene.world.bmdb;
      const late = tooLong(5 * MINUTE, say);
      return (step) => {
        if (step.kind !== 'look') return;
        const { atMs } = step;
        const open = new Map<string, string>();
        const isSteady = atMs - steadySinceMs(scene) > 5 * MINUTE;
        for (const { key, verb, state, expiresAtMs } of tables.requests.values()) {
          if (state !== 'open' || !isSteady) continue;
          const isOrder = ['reboot', 'reinstall', 'restart-agent'].includes(verb);
          if (expiresAtMs <= atMs) open.set(key, `${verb} has expired and is open`);
          else if (!isOrder) open.set(key, `${verb} is open`);
        }
        late(open, atMs);
      };
    },
  },
  {
    id: 'an-order-is-carried-out-once',
    sentence: "I4, I9: an operator's order interrupts its machine once",
    watch: ({ world: { bmdb } }, say) => {
      const asked = new Map<string, string>();
      return (step) => {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const { orderKey = null, askedAtMs = null } = after?.row.recovery ?? {};
          if (!orderKey || askedAtMs === before?.row.recovery?.askedAtMs || !askedAtMs) continue;
          if (asked.has(orderKey)) say(`${orderKey}: ${machineId} again`);
          asked.set(orderKey, machineId);
          const order = before && orderOf(bmdb.tables, before.row, askedAtMs);
          if (order?.key !== orderKey) say(`${orderKey}: it is not open for ${machineId}`);
        }
      };
    },
  },
];
