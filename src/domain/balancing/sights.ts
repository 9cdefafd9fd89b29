import { machineOf } from './desired.ts';
import type { MachineId } from '../ids.ts';
import type { Wish } from './members.ts';
import type { Observed, Ref, ServerMode } from './objects.ts';
import type { Pool } from './pools.ts';
import { refusedAgain, type Refusal } from './plan.ts';
import { retryMs } from './waiting.ts';

/** The observed servers of one member. */
export interface Sight {
  readonly servers: readonly { readonly ref: Ref; readonly mode: ServerMode | null }[];
  /** Addresses of its servers; nearly always one. */
  readonly addresses: ReadonlySet<string>;
  /** The member has a server on each of the pool's ports, and all are ready. */
  readonly isWhole: boolean;
  /** Number of servers that are ready and get new connections, as far as the balancer shows it. */
  readonly open: number;
  /** The worst health of its servers; null: the balancer does not show it. */
  readonly health: 'up' | 'down' | 'unknown' | null;
  /** Connections on all of its servers; null: the balancer does not show them. */
  readonly sessions: number | null;
}

/** Groups a balancer's observed servers by machine. */
export function sightsOf(
  { ports }: Pick<Pool, 'ports'>,
  observed: readonly Observed[],
): ReadonlyMap<MachineId, Sight> {
  const servers = observed.filter(({ ref }) => ref.kind === 'server');
  const found = Map.groupBy(servers, ({ spec }) => machineOf(spec.name));
  return new Map([...found].map(([machine, all]) => [machine, sightOf(all, ports.length)]));
}

const BAD_FIRST = ['down', 'unknown', 'up'] as const;

function sightOf(servers: readonly Observed[], ports: number): Sight {
  let ready = 0;
  let open = 0;
  let sessions: number | null = 0;
  const healths = new Set<string>();
  for (const { phase, server } of servers) {
    if (phase === 'ready') {
      ready += 1;
      const mode = server?.mode ?? 'active';
      if (mode === 'active' && server?.health !== 'down') open += 1;
    }
    sessions =
      server?.sessions === undefined || sessions === null ? null : sessions + server.sessions;
    if (server?.health) healths.add(server.health);
  }
  return {
    servers: servers.map(({ ref, server }) => ({ ref, mode: server?.mode ?? null })),
    addresses: new Set(
      servers.flatMap(({ spec }) => (spec.kind === 'server' ? [spec.address] : [])),
    ),
    isWhole: ready >= ports && ready === servers.length,
    open,
    health: BAD_FIRST.find((each) => healths.has(each)) ?? null,
    sessions,
  };
}

/** Memory of members between two looks; a new daemon starts without any. */
export interface Remembered {
  /** Since when a draining member has no server left, epoch ms. */
  readonly absentSinceMs: Map<MachineId, number>;
  /** Since when the balancer sees a member down, epoch ms. */
  readonly downSinceMs: Map<MachineId, number>;
  /** Calls that open or close a member to connections and that the balancer refuses. */
  readonly refusing: Map<MachineId, RefusedCall>;
  /** Last time when a draining member may have got new connections, epoch ms. */
  readonly openAtMs: Map<MachineId, number>;
  /** When a member was given back because another pool or balancer did not drain it, epoch ms. */
  readonly givenBackMs: Map<MachineId, number>;
}

export const newRemembered = (): Remembered => ({
  absentSinceMs: new Map(),
  downSinceMs: new Map(),
  refusing: new Map(),
  openAtMs: new Map(),
  givenBackMs: new Map(),
});

/** Forgets everything, because another daemon may have changed anything since. */
export function forgetAll(memory: Remembered): void {
  for (const each of Object.values(memory) as Map<MachineId, unknown>[]) each.clear();
}

/** Forgets the calls of a member when it enters another state. */
export function forgetCalls({ refusing, openAtMs }: Remembered, machine: MachineId): void {
  refusing.delete(machine);
  openAtMs.delete(machine);
}

/** Records a look. @param draining members that must lose their servers before they are drained. */
export function remember(
  memory: Remembered,
  sights: ReadonlyMap<MachineId, Sight>,
  draining: ReadonlySet<MachineId>,
  nowMs: number,
): void {
  const { absentSinceMs, downSinceMs } = memory;
  for (const machine of absentSinceMs.keys()) {
    if (!draining.has(machine) || sights.has(machine)) absentSinceMs.delete(machine);
  }
  for (const machine of draining) {
    if (!sights.has(machine) && !absentSinceMs.has(machine)) absentSinceMs.set(machine, nowMs);
  }
  for (const machine of downSinceMs.keys()) {
    if (sights.get(machine)?.health !== 'down') downSinceMs.delete(machine);
  }
  for (const [machine, { health }] of sights) {
    if (health === 'down' && !downSinceMs.has(machine)) downSinceMs.set(machine, nowMs);
  }
}

/** Records the members that were given back, and forgets members that need no drain any more. */
export function rememberGivenBack(
  { givenBackMs }: Pick<Remembered, 'givenBackMs'>,
  givenBack: readonly MachineId[],
  wishes: ReadonlyMap<MachineId, Wish>,
  nowMs: number,
): void {
  for (const machine of givenBackMs.keys()) {
    if (wishes.get(machine)?.want !== 'drain') givenBackMs.delete(machine);
  }
  for (const machine of givenBack) givenBackMs.set(machine, nowMs);
}

/** Calls about a member's servers that fail while the balancer can be read. */
export interface RefusedCall extends Refusal {
  /** Since when no call succeeds, epoch ms. */
  readonly sinceMs: number;
  /** Mode of the last call. */
  readonly mode: ServerMode;
}

const PAUSE_LONGEST_MS = 60_000;

export const callRefused = (
  before: RefusedCall | undefined,
  mode: ServerMode,
  why: string,
  nowMs: number,
): RefusedCall => ({
  ...refusedAgain(before?.mode === mode ? before : undefined, why, nowMs),
  sinceMs: before?.sinceMs ?? nowMs,
  mode,
});

/** When a mode may be requested again, epoch ms; at once if another mode was refused. */
export const callAgainMs = (refused: RefusedCall, mode: ServerMode): number =>
  mode === refused.mode
    ? refused.atMs + Math.min(PAUSE_LONGEST_MS, retryMs(refused.count, null))
    : 0;
