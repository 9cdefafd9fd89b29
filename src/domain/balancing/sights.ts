import { machineOf } from './desired.ts';
import type { MachineId } from '../ids.ts';
import type { Wish } from './members.ts';
import type { Observed, Ref, ServerMode } from './objects.ts';
import type { Pool } from './pools.ts';
import { refusedAgain, type Refusal } from './plan.ts';
import { retryMs } from './waiting.ts';

/** What was seen of all servers of one member. */
export interface Sight {
  readonly servers: readonly { readonly ref: Ref; readonly mode: ServerMode | null }[];
  /** Where its servers are; nearly always one. */
  readonly addresses: ReadonlySet<string>;
  /** It has a server on each of the pool's ports, and all of them are ready. */
  readonly isWhole: boolean;
  /** Its servers that are ready and get new connections, as far as the balancer tells. */
  readonly open: number;
  /** The worst of its servers; null: the balancer cannot tell. */
  readonly health: 'up' | 'down' | 'unknown' | null;
  /** Connections on all of its servers; null: the balancer cannot tell. */
  readonly sessions: number | null;
}

/** What a pool's balancer shows of each machine that has a server there. */
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

/** What is remembered of members from one look to the next; a daemon that starts knows none of it. */
export interface Remembered {
  /** Since when a member that is draining has no server any more, epoch ms. */
  readonly absentSinceMs: Map<MachineId, number>;
  /** Since when the balancer sees a member down, epoch ms. */
  readonly downSinceMs: Map<MachineId, number>;
  /** Calls that let connections to a member, or keep them away, and that the balancer refuses. */
  readonly refusing: Map<MachineId, RefusedCall>;
  /** When a member that is draining may have been getting new connections last, epoch ms. */
  readonly openAtMs: Map<MachineId, number>;
  /** When a member was given back that another pool or balancer did not let go, epoch ms. */
  readonly givenBackMs: Map<MachineId, number>;
}

export const newRemembered = (): Remembered => ({
  absentSinceMs: new Map(),
  downSinceMs: new Map(),
  refusing: new Map(),
  openAtMs: new Map(),
  givenBackMs: new Map(),
});

/** Another daemon may have changed anything since. */
export function forgetAll(memory: Remembered): void {
  for (const each of Object.values(memory) as Map<MachineId, unknown>[]) each.clear();
}

/** What is told of a member by itself begins anew when it comes to another state. */
export function forgetCalls({ refusing, openAtMs }: Remembered, machine: MachineId): void {
  refusing.delete(machine);
  openAtMs.delete(machine);
}

/** Takes in a look. @param draining members that have to lose their servers before they are let go. */
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

/** Takes in who was given back; of whom nobody wants to be let go any more nothing is kept. */
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

/** Calls about the servers of a member that fail, while the balancer can be read. */
export interface RefusedCall extends Refusal {
  /** Since when none of them was taken, epoch ms. */
  readonly sinceMs: number;
  /** What was asked for last. */
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

/** When a mode may be asked for again, epoch ms; another one than was refused: at once. */
export const callAgainMs = (refused: RefusedCall, mode: ServerMode): number =>
  mode === refused.mode
    ? refused.atMs + Math.min(PAUSE_LONGEST_MS, retryMs(refused.count, null))
    : 0;
