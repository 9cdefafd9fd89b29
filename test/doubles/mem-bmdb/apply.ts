import { ladderRow } from '../../support/facts.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { installState, isQuarantined, serves } from '../../../src/domain/eligibility.ts';
import type { GuardRow, HoldKind, MachineRow, RequestRow } from '../../../src/domain/machine.ts';
import { EXPIRED, isOnSlot, ORDER_WAIT_MS } from '../../../src/domain/requests.ts';
import {
  FLEET,
  frozenByOperator,
  isOtherFreeze,
  thawedByOperator,
} from '../../../src/domain/recovery/guard-judgement.ts';
import { RUNG_OF } from '../../../src/domain/recovery/ladder.ts';
import { interrupts } from '../../../src/domain/recovery/rungs.ts';
import { isOrder, type Verb } from '../../../src/domain/verbs.ts';
import { resultOfRequest } from '../../../src/domain/request-outcome.ts';
import type { Effect, Scene } from '../../../src/domain/request-result.ts';
import { slotOfRow } from '../../../src/domain/submission/named-fleet.ts';
import { requestAcceptance } from './acceptances.ts';
import { forgiveEpisodes, forgiveSlot } from './episodes.ts';
import { giveBackRetired, setRetired } from './retiring.ts';
import { installationOf } from '../../../src/adapters/bmdb/install-image.ts';
import { wishIn } from '../../../src/adapters/bmdb/submitted-requests.ts';
import {
  type SessionGate,
  dropPermit,
  patch,
  type MemMachine,
  type Memory,
  type MemRequest,
} from './tables.ts';
import { guardEvent } from '../../../src/domain/events/fleet-event.ts';
import { tell } from './events.ts';
import { poolKey } from './balancing.ts';
import { guardRow } from './guard-rows.ts';
import { liftHolds } from './provider-holds.ts';
import { whyNoRoom } from './permits.ts';
import { endRequests } from './request-ends.ts';
import { toRequest, toState } from './requests.ts';
import { circumstances, liveWork, rowOf } from './rows.ts';
import type { RequestState } from '../../../src/adapters/bmdb/port.ts';

/** See `BmdbSession.applyRequest`. */
export function applyRequest(memory: Memory, gate: SessionGate, key: string): RequestState | null {
  gate.check();
  const found = memory.requests.get(key);
  if (!found) throw new NotFound(`there is no request ${key}`);
  if (found.state !== 'open') return toState(found);
  const scene = sceneOf(memory, found);
  const ended = resultOfRequest(scene);
  if (!ended) return null;
  const machine = found.machineId === null ? undefined : memory.machines.get(found.machineId);
  if (
    machine?.row.provided &&
    ended.outcome === EXPIRED &&
    waitsForPermit(memory, found, machine)
  ) {
    memory.requests.set(key, { ...found, expiresAtMs: memory.now() + ORDER_WAIT_MS });
    memory.touch(machine.row.machineId);
    return null;
  }
  const { effect } = ended;
  if (effect) (WRITES[effect.verb] as Write<Effect>)(memory, scene, effect);
  endRequests(memory, [{ key, ...ended }]);
  return toState(memory.requests.get(key)!);
}

const interruptsAs = (verb: Verb): boolean => isOrder(verb) && interrupts(RUNG_OF[verb]);

function waitsForPermit(memory: Memory, { key, verb }: MemRequest, machine: MemMachine): boolean {
  if (!interruptsAs(verb)) return false;
  if (whyNoRoom(memory, machine, { isOrdered: true }) !== null) return true;
  const { provider } = machine.row.provided!;
  const frozen = [FLEET, provider].some((scope) => guardRow(memory.guard, scope).frozen);
  if (serves(rowOf(memory, machine)) || frozen) return false;
  const others = [...memory.requests.values()].filter((each) => {
    const other = each.machineId === null ? undefined : memory.machines.get(each.machineId);
    if (each.state !== 'open' || each.key === key || !interruptsAs(each.verb)) return false;
    return other?.row.provided?.provider === provider && other.permitGrantedAtMs === null;
  });
  return whyNoRoom(memory, machine, { isOrdered: true, ahead: others.length }) !== null;
}

function sceneOf(memory: Memory, found: MemRequest): Scene {
  const request = toRequest(found);
  const machine = request.machineId === null ? undefined : memory.machines.get(request.machineId);
  return {
    request,
    wish: wishIn(request.verb, found.parameters),
    row: machine ? rowOf(memory, machine) : null,
    guard: guardRow(memory.guard, scopeOf(request)),
    pools: poolsOf(memory, request),
    now: circumstances(memory),
    isInstalling: isInstalling(memory, request),
  };
}

function isInstalling(memory: Memory, { provider, slotId }: RequestRow): boolean {
  return [...memory.machines.values()].some(
    ({ row }) =>
      row.installation.handedOutAtMs !== null &&
      installState(row) === 'PENDING' &&
      isOnSlot(row, { provider, slotId, machineId: row.machineId }),
  );
}

const poolsOf = (memory: Memory, { pool }: RequestRow) =>
  [...memory.pools.values()].filter(
    (row) => row.pool === pool?.pool && (pool.balancer ?? row.balancer) === row.balancer,
  );

const scopeOf = ({ provider }: RequestRow): string => provider ?? FLEET;

type Write<E> = (memory: Memory, scene: Scene, effect: E) => void;

const WRITES: { readonly [V in Effect['verb']]: Write<Extract<Effect, { readonly verb: V }>> } = {
  hold: (memory, { request }, { kind, fromMs, untilMs, force }) => {
    const { by: setBy, reason } = request;
    const [provider, slotId] = [request.provider!, request.slotId!];
    const set = {
      ...{ provider, slotId, kind, setBy, reason, untilMs },
      ...(fromMs !== null && { fromMs }),
      ...(force && { force }),
    };
    memory.holds = [...othersThan(memory, request, kind), set];
  },
  unhold: (memory, { request }, { kind }) => {
    memory.holds = othersThan(memory, request, kind);
  },
  label: (memory, { request }, { labels }) => {
    memory.labels.set(`${request.provider}/${request.slotId}`, labels);
    memory.touch(request.machineId!);
  },
  freeze: (memory, scene) => freezeScope(memory, scene, null),
  'freeze-until': (memory, scene, { untilMs }) => freezeScope(memory, scene, untilMs),
  thaw: (memory, scene) =>
    writeGuard(memory, scene, thawedByOperator(scene.guard!, scene.now.nowMs)),
  'clear-provider': (memory, { request }, { hold, shelf }) => {
    const provider = request.provider!;
    if (hold !== null) liftHolds(memory, provider, hold);
    for (const slotId of shelf) liftHolds(memory, provider, 'penalty', slotId);
  },
  'pause-pool': writePools,
  'resume-pool': writePools,
  'thaw-pool': writePools,
  'teardown-pool': writePools,
  quarantine: (memory, scene, { untilMs }) => {
    const machine = machineOf(memory, scene);
    const { reason } = scene.request;
    patch(machine, { quarantine: { kind: 'byOperator', reason, untilMs, cause: null } });
    returnPermit(memory, machine);
  },
  release: (memory, scene, { forgetHostKey }) =>
    release(memory, machineOf(memory, scene), forgetHostKey),
  retire: (memory, { request }, { giveBack }) => {
    const { by, reason } = request;
    setRetired(memory, request.provider!, request.slotId!, { by, reason });
    for (const machine of onSlot(memory, request)) {
      if (machine.row.deprovision !== null || isInConflict(memory, machine.row)) continue;
      const quarantine = { kind: 'byOperator', reason, untilMs: null, cause: 'retired' } as const;
      patch(machine, { quarantine });
      returnPermit(memory, machine);
      memory.touch(machine.row.machineId);
      if (giveBack) giveBackRetired(memory, machine, by);
    }
  },
  unretire: (memory, scene) => {
    const { request } = scene;
    memory.holds = othersThan(memory, request, 'retired');
    for (const machine of onSlot(memory, request)) {
      if (machine.row.quarantine?.cause === 'retired') release(memory, machine, false);
      memory.touch(machine.row.machineId);
    }
    forgiveSlot(memory, `${request.provider}/${request.slotId}`);
    if (request.machineId !== null) {
      requestAcceptance(memory, machineOf(memory, scene), 'unretired');
    }
  },
  accept: (memory, scene) => requestAcceptance(memory, machineOf(memory, scene), 'asked'),
  deprovision: (memory, scene, { drain, returnToPool }) => {
    const machine = machineOf(memory, scene);
    const { by: requestedBy, reason } = scene.request;
    if (machine.row.quarantine?.kind !== 'conflict') patch(machine, { quarantine: null });
    const asked = { requestedAtMs: memory.now(), requestedBy, reason, attempts: 0 };
    const first = { ...asked, askedAtMs: null, returnToPool };
    patch(machine, { deprovision: { ...(machine.row.deprovision ?? first), drain } });
  },
  install: (memory, scene, { generation, image }) => {
    const machine = machineOf(memory, scene);
    const { installation } = machine.row;
    machine.request = installationOf(image, generation);
    const asked = { requestGeneration: generation, handedOutAtMs: null };
    patch(machine, { installation: { ...installation, ...asked } });
  },
  'cancel-install': (memory, scene) => {
    const machine = machineOf(memory, scene);
    const { installation } = machine.row;
    machine.request = null;
    const none = { requestGeneration: null, handedOutAtMs: null };
    patch(machine, { installation: { ...installation, ...none } });
  },
  withdraw: (memory, _, { order: key, outcome }) =>
    endRequests(memory, [{ key, state: 'refused', outcome, event: null }]),
  'clear-backoff': (memory, scene) => {
    const machine = machineOf(memory, scene);
    const { recovery } = machine.row;
    machine.unreachableSinceMs = null;
    patch(machine, { backoffs: [], recovery: recovery && { ...recovery, nextAtMs: null } });
  },
};

const onSlot = ({ machines }: Memory, { provider, slotId }: RequestRow): MemMachine[] =>
  [...machines.values()].filter(({ row }) => slotOfRow(row) === `${provider}/${slotId}`);

const isInConflict = (memory: Memory, row: MachineRow): boolean =>
  row.quarantine?.kind === 'conflict' && isQuarantined(row, memory.now());

const machineOf = ({ machines }: Memory, { request }: Scene): MemMachine =>
  machines.get(request.machineId!)!;

function writePools(memory: Memory, _: Scene, { rows }: Extract<Effect, { rows: unknown }>): void {
  for (const row of rows) memory.pools.set(poolKey(row), row);
}

function writeGuard(memory: Memory, { request, guard }: Scene, row: GuardRow): void {
  memory.guard.rows.set(scopeOf(request), row);
  if (isOtherFreeze(guard!, row)) tell(memory, guardEvent(row, request));
}

function freezeScope(memory: Memory, scene: Scene, untilMs: number | null): void {
  const { guard, request, now } = scene;
  writeGuard(memory, scene, frozenByOperator(guard!, request, { nowMs: now.nowMs, untilMs }));
}

const othersThan = ({ holds }: Memory, { provider, slotId }: RequestRow, kind: HoldKind) =>
  holds.filter(
    (each) => each.provider !== provider || each.slotId !== slotId || each.kind !== kind,
  );

/** Ends a quarantine and deletes its causes. */
function release(memory: Memory, machine: MemMachine, forgetHostKey: boolean): void {
  patch(machine, { quarantine: null, backoffs: [], ...afterRelease(memory, machine.row) });
  machine.coolDownSeconds = null;
  machine.unreachableSinceMs = null;
  forgiveEpisodes(memory, machine);
  if (forgetHostKey) patch(machine, { hostKey: null });
  returnPermit(memory, machine);
}

/**
 * A release keeps the progress of an open order, because otherwise the work would be repeated. It
 * also keeps a power-off request, because the next daemon must switch the machine on first.
 */
function afterRelease({ requests }: Memory, { recovery, startAttempt }: MachineRow) {
  const isOrdered = recovery && requests.get(recovery.orderKey ?? '')?.state === 'open';
  const start = { rung: 'restartingAgent', attempts: 0, nextAtMs: null } as const;
  if (isOrdered) return { recovery: { ...recovery, ...start }, startAttempt };
  const powerOffAskedAtMs = recovery?.powerOffAskedAtMs ?? null;
  if (powerOffAskedAtMs === null) return { recovery: null, startAttempt: null };
  return { recovery: ladderRow({ rung: 'restartingAgent', powerOffAskedAtMs }), startAttempt };
}

/** Running work needs its permit to the end. */
function returnPermit(memory: Memory, machine: MemMachine): void {
  const isNeeded = liveWork(memory, machine).some(({ process }) => process.startsWith('Shepherd'));
  if (!isNeeded) dropPermit(memory, machine);
}
