import { headlineText } from '../../domain/headline.ts';
import { NotFound, UsageError } from '../../domain/errors.ts';
import { whenText, indented } from '../layout.ts';
import type { Provider, Providers } from './answers.ts';
import { submit, type AskFlags } from './submit.ts';
import type { Session, CommandOutput } from './session.ts';

const pathOf = (name: string): string => `/providers/${encodeURIComponent(name)}`;

/** `shepherd provider status`: providers with their holds, failed slots and unfinished creations. */
export async function providerStatus(
  { client }: Session,
  _flags: object,
  name?: string,
): Promise<CommandOutput> {
  const all = async () => (await client.get<Providers>('/providers')).providers;
  const names = name === undefined ? (await all()).map(({ provider }) => provider) : [name];
  const found: Provider[] = [];
  for (const each of names) found.push(await client.get<Provider>(pathOf(each)));
  return {
    document: name === undefined ? { providers: found } : found[0]!,
    names,
    text: found.map(inWords).join('\n\n'),
  };
}

function inWords(status: Provider): string {
  const { provider, driver, can, provisioner, headline, unlisted, listing, breaker, atMs } = status;
  const facts: string[][] = [
    ['driver', driver],
    ['can', can.join(', ') || 'list only'],
    [
      'provisioner',
      provisioner === null ? 'no daemon at the moment' : `session ${provisioner.sessionId}`,
    ],
    ['machines', headlineText(headline)],
    ...(unlisted
      ? [['CANNOT BE LISTED', `since ${whenText(unlisted.sinceMs, atMs)}: ${unlisted.cause}`]]
      : []),
    ...(listing ? [['listing', listingText(listing, atMs)]] : []),
    ...(breaker?.reason ? [['circuit breaker', `open: ${breaker.reason}`]] : []),
  ];
  return [
    provider,
    ...indented(facts),
    ...section(
      'holds',
      status.holds.map(({ kind, key, untilMs, level, cause }) => [
        `${kind} ${key}`,
        `until ${whenText(untilMs, atMs)}`,
        level > 1 ? `${level} in a row` : '',
        cause,
      ]),
    ),
    ...section(
      'in cooldown',
      status.shelf.slots.map(({ slot, untilMs, cause }) => [
        slot,
        `until ${whenText(untilMs, atMs)}`,
        cause,
      ]),
    ),
    ...more(status.shelf.total - status.shelf.slots.length),
    ...section(
      'unfinished creations',
      status.unsettled.creations.map(({ slot, state, attempts, startedAtMs, lastError }) => [
        slot,
        state,
        `${attempts} attempts, begun ${whenText(startedAtMs, atMs)}`,
        lastError ?? '',
      ]),
    ),
    ...more(status.unsettled.total - status.unsettled.creations.length),
  ].join('\n');
}

const listingText = (listing: NonNullable<Provider['listing']>, atMs: number): string => {
  const { complete, entries, unreadable, atMs: listedAtMs } = listing;
  const bad = unreadable > 0 ? `, ${unreadable} unreadable` : '';
  const how = complete ? 'complete' : 'INCOMPLETE';
  return `${how}, ${entries} entries${bad}, ${whenText(listedAtMs, atMs)}`;
};

const more = (count: number): string[] => (count > 0 ? [`    and ${count} more`] : []);

const section = (title: string, lines: readonly (readonly string[])[]): string[] =>
  lines.length === 0 ? [] : [`  ${title}:`, ...indented(lines, '    ')];

export interface ClearFlags extends AskFlags {
  /** All failed slots of the provider. Needs `expectCount`. */
  readonly allSlots: boolean;
  readonly expectCount?: number;
  /** `throttle`, `quota` or `capacity`: end all holds of this kind. */
  readonly hold?: string;
}

const WAIT_MS = 30_000;

/**
 * `shepherd provider clear`: tries failed slots again, or ends holds, before their time.
 * @throws {UsageError} nothing or too much is named, or the count differs: nothing was done.
 * @throws {NotFound} a slot is not in cooldown: nothing was done.
 */
export async function clearProvider(
  session: Session,
  flags: ClearFlags,
  name: string,
  slots: readonly string[],
): Promise<CommandOutput> {
  const { allSlots, hold, expectCount } = flags;
  if ([slots.length > 0, allSlots, hold !== undefined].filter(Boolean).length !== 1) {
    throw new UsageError(
      'nothing was done; give slots, --all-slots or --hold, and only one of them',
    );
  }
  const bare = slots.map((each) => (each.startsWith(`${name}/`) ? idOf(each) : each));
  const there = hold === undefined ? await cooldownsOf(name, session) : [];
  const strange = bare.filter((each) => !there.includes(each));
  if (strange.length > 0) {
    throw new NotFound(
      `not in cooldown at ${name}: ${strange.join(', ')}; nothing was done; "shepherd provider status ${name}" lists them`,
    );
  }
  if (allSlots && expectCount !== there.length) {
    const found = `${there.length} slots are in cooldown`;
    throw new UsageError(
      expectCount === undefined
        ? `${found}; confirm with --expect-count ${there.length}`
        : `${found}, not ${expectCount}; nothing was done`,
    );
  }
  if (allSlots && there.length === 0) return { text: `no slot of ${name} is in cooldown` };
  const shelf = allSlots ? there : bare;
  const body = { verb: 'clear-provider', provider: name, hold: hold ?? null, shelf };
  return submit(session, body, { ...flags, waitMs: WAIT_MS });
}

const idOf = (slot: string): string => slot.slice(slot.indexOf('/') + 1);

/**
 * IDs of all slots in cooldown, page by page.
 * @throws {UsageError} the slots changed meanwhile, or the console does not give all slots: nothing was done.
 */
async function cooldownsOf(name: string, { client }: Session): Promise<readonly string[]> {
  const found = new Set<string>();
  for (;;) {
    const before = found.size;
    const { shelf } = await client.get<Provider>(pathOf(name), { shelfAfter: [...found].at(-1) });
    for (const { slot } of shelf.slots) found.add(idOf(slot));
    if (found.size === shelf.total) return [...found];
    if (before < found.size && found.size < shelf.total) continue;
    const told = `this console lists only ${found.size} of the ${shelf.total} slots in cooldown`;
    throw new UsageError(
      `${told}; nothing was done; repeat the command, or give slots by their IDs`,
    );
  }
}
