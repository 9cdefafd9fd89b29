import { NotFound, UsageError } from '../../domain/errors.ts';
import type { Pools } from '../remote/answers.ts';
import type { Client } from '../remote/client.ts';
import { isAway } from '../remote/failures.ts';
import { type Session, ok, type Told } from '../remote/session.ts';
import { printable, columnLines, noteLines, paragraph, whenText } from '../layout.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { mergedAddresses } from '../../domain/balancing/pools.ts';
import { spanText } from '../../lib/texts.ts';
import { documentText, isData } from '../remote/output.ts';

/** A pool at one of its balancers, as the API tells of it. */
export type Pool = Pools['pools'][number];
export type Member = Pool['members'][number];

/** Which pool is meant, and whether only at one of its balancers. */
export interface PoolNamed {
  readonly pool: string;
  readonly balancer?: string | undefined;
}

export const readPools = (client: Client): Promise<Pools> => client.get<Pools>('/pools');

/** All of them, while something is waited for; null: the console is away for now. */
export async function seePools({ client, signal }: Session): Promise<readonly Pool[] | null> {
  try {
    return (await readPools(client)).pools;
  } catch (error) {
    if (signal.aborted || isAway(error)) return null;
    throw error;
  }
}

const LOOK_MS = 1_000;

/** Until the next look: of many members a look costs the console something, and it has others to answer. */
export const restAfterLook = ({ monotonic, sleep }: Session, beganMs: number): Promise<void> =>
  sleep(Math.max(LOOK_MS, 10 * (monotonic() - beganMs)));

/** The places of one pool, or of all. @throws {NotFound} there is no such pool. */
export function placesOf<Place extends { readonly pool: string }>(
  wanted: string | undefined,
  all: readonly Place[],
): readonly Place[] {
  if (wanted === undefined) return all;
  const own = all.filter(({ pool }) => pool === wanted);
  if (own.length > 0) return own;
  const known = [...new Set(all.map(({ pool }) => pool))].join(', ') || 'none';
  throw new NotFound(`no pool is named ${printable(wanted)}; there is ${known}`);
}

/**
 * Where it is meant: at all balancers of which something is configured or recorded, or at one.
 * @throws {NotFound} there is no such pool. @throws {UsageError} it is not at that balancer.
 */
export function placesNamed({ pool, balancer }: PoolNamed, all: readonly Pool[]): readonly Pool[] {
  const own = placesOf(pool, all);
  const places = own.filter((each) => balancer === undefined || each.balancer === balancer);
  if (places.length > 0) return places;
  const known = own.map((each) => each.balancer).join(', ');
  throw new UsageError(`pool ${pool} is not at ${printable(balancer ?? '')}, but at ${known}`);
}

/**
 * `shepherd lb status`: how pools stand at their balancers, with the health that their daemon sees.
 * @throws {NotFound} there is no such pool.
 */
export async function poolStatus(name: string | undefined, session: Session): Promise<Told> {
  const { client, format, paint, width } = session;
  const { atMs, pools: all } = await readPools(client);
  const pools = placesOf(name, all);
  if (isData(format)) return ok(await documentText({ atMs, pools }, format));
  const byName = Map.groupBy(pools, ({ pool }) => pool);
  if (format === 'name') return ok([...byName.keys()].join('\n'));
  if (pools.length === 0) return ok('no pool is configured, or recorded');
  const blocks = [...byName].map(([pool, places]) =>
    [...places.map((each) => poolText(each, atMs, width)), ...foundText(pool, places, width)].join(
      '\n',
    ),
  );
  return ok(paint(blocks.join('\n\n')));
}

/** Where clients find a pool, whichever of its balancers they come to; nothing where one was not read. */
function foundText(pool: string, places: readonly Pool[], width: number): string[] {
  const read = places.flatMap(({ addresses }) => addresses ?? []);
  if (read.length === 0 || places.some(({ addresses }) => addresses === null)) return [];
  const merged = mergedAddresses(
    places.map(({ addresses }) => new Map(addresses!.map((each) => [each.address, each.ports]))),
  );
  const found = [...merged].map(([address, ports]) => `${address} (${ports.join(', ')})`);
  const where = found.join(', ') || 'no address that all of its balancers have';
  return [paragraph(`${pool} is found at ${where}`, width)];
}

/** A pool at one of its balancers, with its members. */
function poolText(pool: Pool, nowMs: number, width: number): string {
  const { balancer, driver, state, isConfigured, isTended, settledAtMs, members, minActive } = pool;
  const settled = settledAtMs === null ? 'never yet' : whenText(settledAtMs, nowMs);
  const kind = isConfigured ? driver : 'not configured here';
  const active = members.filter((each) => each.state === 'active').length;
  return [
    paragraph(`${pool.pool} at ${balancer} (${kind}): ${state ?? 'nothing was done yet'}`, width),
    ...troublesOf(pool, nowMs).map((text) => noteLines(text, width)),
    ...(isConfigured ? [] : [noteLines(strangeText(pool), width)]),
    noteLines(`settled: ${settled}${isTended ? '' : `; no daemon tends ${balancer} now`}`, width),
    noteLines(`${active} active of ${members.length} members; at least ${minActive}`, width),
    ...memberLines(members, nowMs, width),
  ].join('\n');
}

/** What is recorded of it is left from another configuration, or belongs to one that is elsewhere. */
const STRANGE =
  'daemons with this configuration do not tend it, and orders for its members wait: configure it ' +
  'again, or let "shepherd lb forget" remove what is recorded of it';
/** The same, where nobody waits for it. */
const STRANGE_AND_GONE =
  'daemons with this configuration do not tend it, and nothing waits for it: "shepherd lb forget" ' +
  'removes what is recorded of it';

const strangeText = ({ isTended, members }: Pool): string => {
  if (isTended) return 'a daemon with another configuration tends it';
  return members.some(mayServe) ? STRANGE : STRANGE_AND_GONE;
};

function troublesOf(pool: Pool, nowMs: number): string[] {
  const { reason, frozen, paused, tornDown, retryAtMs } = pool;
  return [
    ...(reason === null ? [] : [reason]),
    ...(retryAtMs !== null && retryAtMs > nowMs
      ? [`tried again ${whenText(retryAtMs, nowMs)}`]
      : []),
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

/** As the page says it. */
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
