import { headlineText } from '../../domain/headline.ts';
import { NotFound, UsageError } from '../../domain/errors.ts';
import { whenText, indented } from '../layout.ts';
import type { Provider, Providers } from './answers.ts';
import { file, requireReason, type AskFlags } from './filing.ts';
import { documentText, isData } from './output.ts';
import { ok, type Session, type Told } from './session.ts';

/** `shepherd provider status`: what is kept of providers, above all what must not be asked for now. */
export async function providerStatus(name: string | undefined, session: Session): Promise<Told> {
  const { client, format } = session;
  const names = name === undefined ? await namesIn(session) : [name];
  const found: Provider[] = [];
  for (const each of names) {
    const provider = await client.find<Provider>(`/providers/${encodeURIComponent(each)}`);
    if (provider === null) throw await unknownProvider(each, session);
    found.push(provider);
  }
  if (format === 'name') return ok(found.map(({ provider }) => provider).join('\n'));
  if (isData(format)) {
    return ok(await documentText(name === undefined ? { providers: found } : found[0]!, format));
  }
  return ok(session.paint(found.map(inWords).join('\n\n')));
}

async function namesIn({ client }: Session): Promise<string[]> {
  const { providers } = await client.get<Providers>('/providers');
  return providers.map(({ provider }) => provider);
}

async function unknownProvider(name: string, session: Session): Promise<NotFound> {
  const known = (await namesIn(session)).join(', ') || 'none';
  return new NotFound(`no provider is named ${name}; there is ${known}`);
}

function inWords(status: Provider): string {
  const { provider, driver, can, provisioner, headline, unlisted, listing, breaker, atMs } = status;
  const facts: string[][] = [
    ['driver', driver],
    ['can', can.join(', ') || 'nothing but list'],
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
      'must not be asked for now',
      status.holds.map(({ kind, key, untilMs, level, cause }) => [
        `${kind} ${key}`,
        `until ${whenText(untilMs, atMs)}`,
        level > 1 ? `${level} in a row` : '',
        cause,
      ]),
    ),
    ...section(
      'on the shelf',
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
  /** All slots of the provider that are on the shelf; only with `expectCount`. */
  readonly allSlots: boolean;
  readonly expectCount?: number;
  /** `throttle`, `quota` or `capacity`: all holds of that kind. */
  readonly hold?: string;
}

const WAIT_MS = 30_000;

/**
 * `shepherd provider clear`: takes slots off the shelf, or ends holds, before their time.
 * @throws {UsageError} it is not said what, or the count is another one: nothing was done.
 * @throws {NotFound} a slot is not on the shelf: nothing was done.
 */
export async function clearProvider(
  name: string,
  slots: readonly string[],
  flags: ClearFlags,
  session: Session,
): Promise<Told> {
  requireReason(flags);
  const { allSlots, hold, expectCount } = flags;
  if ([slots.length > 0, allSlots, hold !== undefined].filter(Boolean).length !== 1) {
    throw new UsageError('say what: slots by their ids, --all-slots, or --hold <kind>');
  }
  const provider = await session.client.find<Provider>(`/providers/${encodeURIComponent(name)}`);
  if (provider === null) throw await unknownProvider(name, session);
  const idOf = (slot: string) => slot.slice(name.length + 1);
  const there = provider.shelf.slots.map(({ slot }) => idOf(slot));
  const bare = slots.map((each) => (each.startsWith(`${name}/`) ? idOf(each) : each));
  const strange = bare.filter((each) => !there.includes(each));
  if (strange.length > 0 && provider.shelf.total === there.length) {
    throw new NotFound(`${strange.join(', ')}: not on the shelf of ${name}; nothing was done`);
  }
  if (allSlots && expectCount !== provider.shelf.total) throw miscounted(provider, expectCount);
  const shelf = allSlots ? await wholeShelf(provider, session) : bare;
  if (allSlots && shelf.length === 0) return ok(`nothing is on the shelf of ${name}`);
  if (shelf.length > ASKED_MAX) {
    throw new UsageError(
      `${shelf.length} slots are meant, and at most ${ASKED_MAX} are cleared at once; name them by their ids, part by part; nothing was done`,
    );
  }
  const body = { verb: 'clear-provider', provider: name, hold: hold ?? null, shelf };
  return file(body, { ...flags, waitMs: flags.wait ?? WAIT_MS }, session);
}

/** The API takes so many in one request. */
const ASKED_MAX = 1_000;

/**
 * Ids of all slots on the shelf: a console tells the first of them, and then those behind.
 * @throws {UsageError} it does not tell all: nothing was done.
 */
async function wholeShelf(
  { provider, shelf }: Provider,
  { client }: Session,
): Promise<readonly string[]> {
  const idOf = ({ slot }: { readonly slot: string }) => slot.slice(provider.length + 1);
  const found = new Set(shelf.slots.map(idOf));
  while (found.size < shelf.total) {
    const before = found.size;
    const shelfAfter = [...found].at(-1);
    const path = `/providers/${encodeURIComponent(provider)}`;
    const { shelf: next } = await client.get<Provider>(path, { shelfAfter });
    for (const each of next.slots) found.add(idOf(each));
    if (found.size > before) continue;
    throw new UsageError(
      `this console tells ${before} of the ${shelf.total} slots on the shelf; name slots by their ids, or upgrade it; nothing was done`,
    );
  }
  if (found.size === shelf.total) return [...found];
  throw new UsageError('the shelf changed meanwhile; nothing was done; ask again');
}

function miscounted({ shelf }: Provider, expected: number | undefined): UsageError {
  const found = `${shelf.total} slots are on the shelf`;
  return new UsageError(
    expected === undefined
      ? `${found}; confirm with --expect-count ${shelf.total}`
      : `${found}, not ${expected}; nothing was done`,
  );
}
