import { NotFound, UsageError } from '../../domain/errors.ts';
import type { Pools } from '../remote/answers.ts';
import { isAway } from '../remote/failures.ts';
import { noneNamed } from '../remote/names.ts';
import type { Session, CommandOutput } from '../remote/session.ts';
import { printable, columnLines, noteLines, paragraph, whenText } from '../layout.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { mergedAddresses } from '../../domain/balancing/pools.ts';
import { spanText } from '../../lib/texts.ts';

/** A pool at one of its balancers, as the API describes it. */
export type Pool = Pools['pools'][number];
export type Member = Pool['members'][number];

/** A pool, optionally limited to one of its balancers. */
export interface PoolNamed {
  readonly pool: string;
  readonly balancer?: string | undefined;
}

/** Minimum pause between two reads of the pools. */
const LOOK_MS = 1_000;

/**
 * Reads all pools repeatedly until `look` reports the end, the time is over, or the caller aborts.
 * Continues while the console is away.
 * @returns the last result; null: no read succeeded.
 */
export async function watchPools<Output>(
  { client, signal, monotonic, sleep }: Session,
  endMs: number,
  look: (pools: readonly Pool[]) => { readonly seen: Output; readonly isOver: boolean },
): Promise<Output | null> {
  for (let last: Output | null = null; ;) {
    const beganMs = monotonic();
    const found = await client.get<Pools>('/pools').then(
      ({ pools }) => look(pools),
      (error: unknown) => {
        if (signal.aborted || isAway(error)) return null;
        throw error;
      },
    );
    last = found?.seen ?? last;
    if (found?.isOver || monotonic() >= endMs || signal.aborted) return last;
    // With many members a read is expensive for the console, which has other clients.
    await sleep(Math.max(LOOK_MS, 10 * (monotonic() - beganMs)));
  }
}

/** The places of one pool, or of all pools. @throws {NotFound} no pool has this name. */
export function placesOf<Item extends { readonly pool: string }>(
  wanted: string | undefined,
  all: readonly Item[],
): readonly Item[] {
  if (wanted === undefined) return all;
  const own = all.filter(({ pool }) => pool === wanted);
  if (own.length > 0) return own;
  throw new NotFound(
    noneNamed(
      'pool',
      wanted,
      all.map(({ pool }) => pool),
    ),
  );
}

/**
 * Finds a pool at all load balancers where it is configured or recorded, or at one of them.
 * @throws {NotFound} no pool has this name. @throws {UsageError} the pool is not at that load balancer.
 */
export function placesNamed({ pool, balancer }: PoolNamed, all: readonly Pool[]): readonly Pool[] {
  const own = placesOf(pool, all);
  const places = own.filter((each) => balancer === undefined || each.balancer === balancer);
  if (places.length > 0) return places;
  const known = own.map((each) => each.balancer).join(', ');
  throw new UsageError(`pool ${pool} is not at ${printable(balancer ?? '')}; give one of ${known}`);
}

/**
 * `shepherd lb status`: pools with their members and state at each load balancer.
 * @throws {NotFound} no pool has this name.
 */
export async function poolStatus(
  { client }: Session,
  _flags: object,
  name?: string,
): Promise<CommandOutput> {
  const { atMs, pools: all } = await client.get<Pools>('/pools');
  const pools = placesOf(name, all);
  const byName = Map.groupBy(pools, ({ pool }) => pool);
  const blockOf = (pool: string, places: readonly Pool[], width: number) =>
    [...places.map((each) => poolText(each, atMs, width)), ...foundText(pool, places, width)].join(
      '\n',
    );
  const text = (width: number) =>
    [...byName].map(([pool, places]) => blockOf(pool, places, width)).join('\n\n');
  return {
    ...{ document: { atMs, pools }, names: [...byName.keys()] },
    text: pools.length === 0 ? 'no pool is configured or recorded' : text,
  };
}

/** Addresses at which every load balancer of a pool serves clients. Empty if one could not be read. */
function foundText(pool: string, places: readonly Pool[], width: number): string[] {
  const read = places.flatMap(({ addresses }) => addresses ?? []);
  if (read.length === 0 || places.some(({ addresses }) => addresses === null)) return [];
  const merged = mergedAddresses(
    places.map(({ addresses }) => new Map(addresses!.map((each) => [each.address, each.ports]))),
  );
  const found = [...merged].map(([address, ports]) => `${address} (${ports.join(', ')})`);
  const where = found.join(', ') || 'no common address of all its balancers';
  return [paragraph(`addresses of ${pool}: ${where}`, width)];
}

/** A pool at one load balancer, with its members. */
function poolText(pool: Pool, nowMs: number, width: number): string {
  const { balancer, driver, state, isConfigured, isTended, settledAtMs, members, minActive } = pool;
  const settled = settledAtMs === null ? 'never' : whenText(settledAtMs, nowMs);
  const kind = isConfigured ? driver : 'not configured here';
  const active = members.filter((each) => each.state === 'active').length;
  return [
    paragraph(`${pool.pool} at ${balancer} (${kind}): ${state ?? 'nothing was done yet'}`, width),
    ...troublesOf(pool, nowMs).map((text) => noteLines(text, width)),
    ...(isConfigured ? [] : [noteLines(strangeText(pool), width)]),
    noteLines(`settled: ${settled}${isTended ? '' : `; no daemon manages ${balancer} now`}`, width),
    noteLines(`${active} active of ${members.length} members; at least ${minActive}`, width),
    ...memberLines(members, nowMs, width),
  ].join('\n');
}

/** The records are left from an earlier configuration, or belong to daemons with another configuration. */
const STRANGE =
  'daemons with this configuration do not manage it, and orders for its members wait: configure it ' +
  'again, or delete its records with "shepherd lb forget"';
/** The same, if no order waits for the pool. */
const STRANGE_AND_GONE =
  'daemons with this configuration do not manage it, and nothing waits for it: "shepherd lb forget" ' +
  'deletes its records';

const strangeText = ({ isTended, members }: Pool): string => {
  if (isTended) return 'a daemon with another configuration manages it';
  return members.some(mayServe) ? STRANGE : STRANGE_AND_GONE;
};

function troublesOf(pool: Pool, nowMs: number): string[] {
  const { reason, frozen, paused, tornDown, retryAtMs } = pool;
  return [
    ...(reason === null ? [] : [reason]),
    ...(retryAtMs !== null && retryAtMs > nowMs ? [`next try ${whenText(retryAtMs, nowMs)}`] : []),
    ...(frozen ? [`FROZEN since ${whenText(frozen.atMs, nowMs)}: ${frozen.reason}`] : []),
    ...(paused
      ? [`PAUSED by ${paused.by} since ${whenText(paused.atMs, nowMs)}: ${paused.reason}`]
      : []),
    ...(tornDown
      ? [`TORN DOWN by ${tornDown.by} since ${whenText(tornDown.atMs, nowMs)}: ${tornDown.reason}`]
      : []),
  ];
}

function memberLines(members: readonly Member[], nowMs: number, width: number): string[] {
  if (members.length === 0) return [];
  const [head, ...lines] = columnLines([
    ['    member', 'state', 'for', 'health', 'sessions'],
    ...members.map((member) => [
      `    ${member.slot ?? member.machineId}`,
      memberText(member),
      spanText(nowMs - member.sinceMs),
      member.health ?? '-',
      member.sessions === null ? '-' : String(member.sessions),
    ]),
  ]);
  return [
    head!,
    ...members.flatMap(({ note }, at) => [
      lines[at]!,
      ...(note === null ? [] : [noteLines(`  ${note}`, width)]),
    ]),
  ];
}

/** In the same words as the page. */
export const memberText = ({
  state,
  how,
  waived,
  refused,
}: Pick<Member, 'state' | 'how' | 'waived' | 'refused'>): string =>
  [
    state + (how === null ? '' : ` (${how})`),
    ...(waived ? ['waived'] : []),
    ...(refused ? ['refused'] : []),
  ].join(', ');
