import { NotFound, UsageError } from '../../domain/errors.ts';
import { forTraits, wantedTraits } from '../../domain/traits.ts';
import { VERBS, type MachineVerb } from '../../domain/verbs.ts';
import { isDestroying, type Given } from '../../domain/wishes.ts';
import type { Batch, Fleet, Request } from './answers.ts';
import type { VerbFlags } from './ask-flags.ts';
import { file, goOn, requireReason, type AskBody, type Waiting } from './filing.ts';
import { foretell, inOwnWords, previewOf, requireCount } from './foretelling.ts';
import { findNamed } from './names.ts';
import { countOf, filedUnder, requireSame, requireSameCount, sameMachines } from './repeated.ts';
import type { Session, Told } from './session.ts';

/** What is asked for, without of what. */
export interface Verb {
  readonly verb: MachineVerb;
  readonly [detail: string]: unknown;
}

interface Meaning extends Waiting {
  /** When it ends by itself was said as a duration. */
  readonly isUntilRelative?: boolean;
}

/**
 * `shepherd machine <verb>`: asks daemons for something, and waits for it.
 * @throws {UsageError} what is meant is not clear, or not what was expected: nothing was done.
 * @throws {NotFound} a name means nothing: nothing was done.
 */
export async function runVerb(
  name: string | undefined,
  verb: Verb,
  flags: VerbFlags & Meaning,
  session: Session,
): Promise<Told> {
  requireReason(flags);
  requireOneWay(name, flags);
  const isBulk = name === undefined;
  const { expectCount } = flags;
  const isAgreed = !flags.dryRun && (!destroys(verb) || flags.yes === true);
  const before =
    isAgreed && flags.key !== undefined ? await filedUnder(flags.key, session.client) : null;
  if (before) return goOnWith(before, name, verb, flags, session);
  const body: AskBody = { ...verb, ...(await whichOf(name, verb, flags, session)) };
  if (isBulk && !flags.dryRun && expectCount === undefined) {
    const { count } = await previewOf(body, { ...flags, isBulk }, session);
    requireCount(count, undefined);
  }
  if (!isAgreed) return foretell(body, { ...flags, isBulk }, session);
  if (expectCount !== undefined) await previewOf(body, { ...flags, isBulk }, session);
  const counted = expectCount === undefined ? body : { ...body, expectCount };
  try {
    return await file(counted, { ...flags, waitMs: flags.wait ?? flags.waitMs }, session);
  } catch (error) {
    throw inOwnWords(error);
  }
}

/**
 * The command is repeated under the key of what is filed: nothing is foretold, counted or named anew.
 * @throws {UsageError} the key was used for something else: nothing was done.
 */
async function goOnWith(
  filed: Request | Batch,
  name: string | undefined,
  verb: Verb,
  flags: VerbFlags & Meaning,
  session: Session,
): Promise<Told> {
  const { slots, expectCount } = flags;
  requireSame(filed, { verb: verb.verb, reason: flags.reason });
  requireSameCount(filed, expectCount);
  const names = name === undefined ? slots : [name];
  const which =
    names === undefined
      ? { selector: selectorOf(flags) }
      : { slots: await sameMachines(filed, names, flags, session.client) };
  const waitMs = flags.wait ?? flags.waitMs;
  const isBulk = 'counts' in filed;
  // A duration counts from when it was asked for first.
  if (flags.isUntilRelative) {
    const endMs = session.monotonic() + waitMs;
    const order = { verb: verb.verb, key: filed.key, filed };
    return goOn(order, { ...flags, waitMs, endMs }, session);
  }
  const counted = isBulk && name === undefined && { expectCount: expectCount ?? countOf(filed) };
  return file({ ...verb, ...which, ...counted }, { ...flags, waitMs }, session);
}

/** It erases or gives up what nobody can have back: it wants whole names, and `--yes`. */
const destroys = (verb: Verb): boolean => isDestroying(verb as Given);

/** The clock by which everything is counted: the database's. */
export const momentOf = async ({ get }: Session['client']): Promise<number> =>
  (await get<Fleet>('/fleet')).atMs;

function requireOneWay(name: string | undefined, flags: VerbFlags): void {
  const { slots, provider, state, all } = flags;
  const byProperty = (provider ?? state) !== undefined || wantedTraits(flags).length > 0;
  const ways = [name !== undefined, slots !== undefined, byProperty, all];
  const count = ways.filter(Boolean).length;
  if (count === 1) return;
  const how =
    'name one machine or slot; or several by --slots, by --provider, --location and --state, or --all';
  throw new UsageError(count === 0 ? `say which machine: ${how}` : `say it in one way: ${how}`);
}

async function whichOf(name: string | undefined, verb: Verb, flags: VerbFlags, session: Session) {
  if (name !== undefined) return { slots: [await oneOf(name, verb, flags, session)] };
  const { slots } = flags;
  if (slots === undefined) {
    await requirePlaces(flags, session);
    return { selector: selectorOf(flags) };
  }
  const twice = slots.find((each, at) => slots.indexOf(each) !== at);
  if (twice !== undefined) throw new UsageError(`--slots names ${twice} twice`);
  const found: string[] = [];
  for (const each of slots) found.push(await oneOf(each, verb, flags, session));
  return { slots: found };
}

function selectorOf(flags: VerbFlags) {
  const { provider, state, all } = flags;
  const traits = forTraits((trait) => flags[trait]);
  return { provider, ...traits, states: state, ...(all && { all }) };
}

/** A mistyped place is no place without machines. @throws {UsageError} */
async function requirePlaces({ provider, location }: VerbFlags, { client }: Session) {
  if (provider === undefined && location === undefined) return;
  const { providers, cells } = await client.get<Fleet>('/fleet');
  const names = [...providers, ...cells.map((each) => each.provider)];
  const places = cells.flatMap((each) => each.location ?? []);
  requireAmong('provider', provider, names);
  requireAmong('location', location, places);
}

export function requireAmong(
  what: string,
  name: string | undefined,
  known: readonly string[],
): void {
  if (name === undefined || known.includes(name)) return;
  const there = [...new Set(known)].toSorted().join(', ') || 'none';
  throw new UsageError(`no ${what} is named ${name}; there is ${there}`);
}

const SLOT = /^[a-z][a-z0-9-]{0,30}\/[^\p{Cc}]{1,200}$/u;

/** A slot without a machine can be held from getting one, though nothing is known of it. */
async function oneOf(name: string, verb: Verb, flags: VerbFlags, session: Session) {
  const exact = flags.exact || destroys(verb);
  const found = await findNamed(session.client, name, exact);
  if (found) return found.asked;
  if (VERBS[verb.verb].of === 'slot' && SLOT.test(name)) {
    session.say(`nothing is known of slot ${name}; its name is taken as it is written`);
    return name;
  }
  throw new NotFound(`no machine is named ${name}; "shepherd machines" has those there are`);
}
