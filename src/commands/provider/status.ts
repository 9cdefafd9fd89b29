import type { BmdbSnapshot, BmdbSurroundings, Unlisted } from '../../adapters/bmdb/port.ts';
import type { FleetProvider, Listing } from '../../adapters/provider/port.ts';
import { provisioningPlan } from '../../daemon/planning.ts';
import { abilities } from '../../daemon/views/providers-view.ts';
import { explain } from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';
import { jsonLine, toTable } from '../text-table.ts';
import { isAnyAlive } from '../machine/any-daemon.ts';
import { plainCell, whenText } from '../machine/layout.ts';
import { withProviders, type ReadOptions, type OpenProviders } from './open-providers.ts';

/** Everything that is kept of one provider, and what it says itself if it was asked. */
interface Status {
  readonly provider: ProviderName;
  readonly driver: string;
  readonly can: readonly string[];
  /** Component and session of the daemon that provisions; null: none does now. */
  readonly provisioner: string | null;
  readonly machines: Readonly<Record<string, number>>;
  /** Since when, by how many daemons and why it cannot be listed; null: no daemon says so. */
  readonly unlisted: { readonly since: string; readonly text: string } | null;
  /** In force, latest end last. */
  readonly holds: readonly Barrier[];
  /** Slots on the shelf. */
  readonly shelf: readonly Barrier[];
  readonly unfinished: readonly {
    readonly slot: string;
    readonly witness: string;
    readonly state: string;
    readonly attempts: number;
    readonly ageMs: number;
    readonly lastError: string | null;
  }[];
  /** Absent when the provider was not asked. */
  readonly listing?: Readonly<Record<string, number>> | { readonly failure: string };
}

/** What the BMDB has. */
type Rows = BmdbSnapshot & { readonly unlisted: readonly Unlisted[] };

/** What must not be done, until when, and why. */
interface Barrier {
  readonly what: string;
  readonly until: string;
  readonly level?: number;
  readonly cause: string;
}

export interface StatusOptions extends ReadOptions {
  /** Ask the providers too. */
  readonly live: boolean;
}

/**
 * `shepherd provider status`: what the BMDB holds of each configured provider, above all what must
 * not be asked of it for now; with `live` also what it lists.
 */
export async function providerStatus(options: StatusOptions): Promise<string> {
  const found = await withProviders(options, async (open) => {
    const rows = {
      ...(await open.bmdb.scan(options.signal)),
      unlisted: await open.bmdb.listings.unlisted(options.signal),
    };
    const all = [...open.providers.values()];
    return Promise.all(all.map((provider) => statusOf(open, provider, rows, options)));
  });
  if (options.json) return jsonLine({ providers: found });
  return found.map(inWords).join('\n\n');
}

async function statusOf(
  open: Pick<OpenProviders, 'config'>,
  provider: FleetProvider,
  rows: Rows,
  { live, signal }: StatusOptions,
): Promise<Status> {
  const { name, type, capabilities } = provider;
  const holder = rows.leases.find((lease) => lease.name === `provisioner/${name}` && lease.held);
  return {
    provider: name,
    driver: type,
    can: abilities(capabilities),
    provisioner: holder?.sessionId ?? null,
    machines: machinesOf(rows, name),
    unlisted: unlistedOf(rows, name),
    holds: rows.providerHolds
      .filter((hold) => hold.provider === name && hold.untilMs > rows.nowMs)
      .toSorted((a, b) => a.untilMs - b.untilMs)
      .map(({ kind, key, untilMs, level, cause }) => ({
        what: `${kind} ${key}`,
        until: time(untilMs),
        level,
        cause,
      })),
    shelf: rows.penalties
      .filter((penalty) => penalty.provider === name)
      .toSorted((a, b) => a.untilMs - b.untilMs)
      .map(({ slotId, untilMs, cause }) => ({ what: slotId, until: time(untilMs), cause })),
    unfinished: rows.intents
      .filter((intent) => intent.provider === name)
      .map(({ slotId, witness, state, attempts, createdAtMs, lastError }) => ({
        slot: slotId,
        witness,
        state,
        attempts,
        lastError,
        ageMs: Math.round(rows.nowMs - createdAtMs),
      })),
    ...(live && { listing: await listingOf(open, provider, rows, signal) }),
  };
}

function machinesOf({ machines }: BmdbSnapshot, name: ProviderName): Record<string, number> {
  const counts: Record<string, number> = { recorded: 0 };
  const count = (what: string) => (counts[what] = (counts[what] ?? 0) + 1);
  for (const { provided, missing, deprovision, quarantine } of machines) {
    if (provided?.provider !== name) continue;
    count('recorded');
    count(provided.status ?? 'no status yet');
    if (missing !== null && provided.status !== 'Missing') count('not listed lately');
    if (deprovision !== null) count('to be given back');
    if (quarantine !== null) count('quarantined');
  }
  return counts;
}

async function listingOf(
  open: Pick<OpenProviders, 'config'>,
  provider: FleetProvider,
  rows: BmdbSnapshot,
  signal: AbortSignal,
) {
  try {
    const listing = await provider.listMachines({ signal });
    const { leftOut } = provider.inventory
      ? provisioningPlan(open.config, provider, { ...listing, rows })
      : { leftOut: 0 };
    return { ...countsOf(listing), ...(leftOut > 0 && { [LEFT_OUT]: leftOut }) };
  } catch (error) {
    return { failure: explain(error) };
  }
}

function countsOf({ machines, complete, unreadable = [] }: Listing): Record<string, number> {
  const counts: Record<string, number> = { complete: complete ? 1 : 0, entries: machines.length };
  for (const { availability, ownership } of machines) {
    const what = availability === 'KnownUsed' ? `used, ${ownership}` : availability;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  if (unreadable.length > 0) counts['unreadable'] = unreadable.length;
  return counts;
}

const LEFT_OUT = 'left out, as maxMachines allows no more';

function unlistedOf({ unlisted, ...read }: Rows, name: ProviderName): Status['unlisted'] {
  const found = unlisted.filter(({ provider }) => provider === name);
  if (found.length === 0) return null;
  const since = time(Math.min(...found.map(({ sinceMs }) => sinceMs)));
  return { since, text: sinceText(found, read) };
}

const time = (atMs: number): string => new Date(atMs).toISOString();

function inWords(status: Status): string {
  const { provider, driver, can, provisioner, machines, holds, shelf, unfinished } = status;
  const facts: string[][] = [
    ['driver', driver],
    ['can', can.join(', ') || 'nothing but list'],
    ['provisioner', provisioner === null ? 'no daemon at the moment' : `session ${provisioner}`],
    ['machines', told(machines)],
    ...(status.unlisted ? [['CANNOT BE LISTED', status.unlisted.text]] : []),
    ...(status.listing ? [['listing', listingText(status.listing)]] : []),
  ];
  return [
    provider,
    ...indented(facts),
    ...section('must not be asked for now', holds.map(barrierCells)),
    ...section('on the shelf', shelf.map(barrierCells)),
    ...section(
      'unfinished creations',
      unfinished.map(({ slot, state, attempts, ageMs, lastError }) => [
        slot,
        state,
        `${attempts} attempts, ${Math.round(ageMs / 1_000)} s`,
        lastError ?? '',
      ]),
    ),
  ].join('\n');
}

const barrierCells = ({ what, until, level, cause }: Barrier): string[] => [
  what,
  `until ${until}`,
  level !== undefined && level > 1 ? `${level} in a row` : '',
  cause,
];

const listingText = (listing: NonNullable<Status['listing']>): string => {
  if (typeof listing['failure'] === 'string') return `failed: ${listing['failure']}`;
  const { complete, ...counts } = listing as Readonly<Record<string, number>>;
  return `${complete === 1 ? 'complete' : 'INCOMPLETE'}; ${told(counts)}`;
};

const told = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');

const section = (title: string, lines: readonly (readonly string[])[]): string[] =>
  lines.length === 0 ? [] : [`  ${title}:`, ...indented(lines).map((line) => `  ${line}`)];

const indented = (lines: readonly (readonly string[])[]): string[] =>
  toTable(lines)
    .split('\n')
    .map((line) => `  ${line}`);

/** Of the daemons that say so of one provider; at least one. */
function sinceText(
  found: readonly Unlisted[],
  { nowMs, sessions }: Pick<BmdbSurroundings, 'nowMs' | 'sessions'>,
): string {
  const [first] = found.toSorted((a, b) => a.sinceMs - b.sinceMs);
  const daemons = sessions.filter((each) => isAnyAlive([each])).length;
  const by = daemons > found.length ? ` by ${found.length} of ${daemons} daemons` : '';
  return plainCell(`since ${whenText(first!.sinceMs, nowMs)}${by}: ${first!.cause}`);
}
