import { mayServe } from '../../domain/balancing/members.ts';
import { spanText } from '../../lib/texts.ts';
import { columnLines, noteLines, paragraph, whenText } from '../machine/layout.ts';
import { documentText, isData } from '../remote/output.ts';
import { ok, type Session, type Told } from '../remote/session.ts';
import { placesOf, readPools, type Member, type Pool } from './pools.ts';

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
  const blocks = [...byName.values()].map((places) =>
    places.map((each) => poolText(each, { amiss: [] }, atMs, width)).join('\n'),
  );
  return ok(paint(blocks.join('\n\n')));
}

/** An object at a balancer that is not as it should be. */
export interface Amiss {
  readonly kind: string;
  readonly name: string;
  /** For people. */
  readonly what: string;
}

/** What a look at the balancer itself found. */
export interface SeenAt {
  /** Why it cannot be read. */
  readonly failure?: string | undefined;
  readonly amiss: readonly Amiss[];
}

/** A pool at one of its balancers, with its members. */
export function poolText(
  pool: Pool,
  { failure, amiss }: SeenAt,
  nowMs: number,
  width: number,
): string {
  const { balancer, driver, state, isConfigured, isTended, settledAtMs, members, minActive } = pool;
  const settled = settledAtMs === null ? 'never yet' : whenText(settledAtMs, nowMs);
  const kind = isConfigured ? driver : 'not configured here';
  const active = members.filter((each) => each.state === 'active').length;
  return [
    paragraph(`${pool.pool} at ${balancer} (${kind}): ${state ?? 'nothing was done yet'}`, width),
    ...troublesOf(pool, failure, nowMs).map((text) => noteLines(text, width)),
    ...(isConfigured ? [] : [noteLines(strangeText(pool), width)]),
    noteLines(`settled: ${settled}${isTended ? '' : `; no daemon tends ${balancer} now`}`, width),
    noteLines(`${active} active of ${members.length} members; at least ${minActive}`, width),
    ...memberLines(members, nowMs, width),
    ...amiss.map(({ kind, name, what }) => noteLines(`${kind} ${name} ${what}`, width)),
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

function troublesOf(pool: Pool, failure: string | undefined, nowMs: number): string[] {
  const { reason, frozen, paused, tornDown, retryAtMs } = pool;
  return [
    ...(failure === undefined ? [] : [`CANNOT BE READ: ${failure}`]),
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
