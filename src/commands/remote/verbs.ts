import { NotFound, UsageError } from '../../domain/errors.ts';
import { FLEET } from '../../domain/recovery/guard-judgement.ts';
import { forTraits, wantedTraits } from '../../domain/traits.ts';
import { VERBS, type MachineVerb } from '../../domain/verbs.ts';
import { isDestroying, type Given } from '../../domain/wishes.ts';
import { untilMsOf, type When } from '../options.ts';
import type { Batch, Fleet, Request } from './answers.ts';
import type { AskFlags, VerbFlags } from './ask-flags.ts';
import { file, foretell, goOn, requestsIn, type AskBody, type Waiting } from './filing.ts';
import { findNamed } from './names.ts';
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

/** What is filed already under the key of a command that is repeated; null: nothing is. */
type Before = Request | Batch | null;

/**
 * `shepherd machine <verb>`: asks daemons for something, and waits for it. What is meant, whether it is
 * said in one way, and how many machines that are, the console judges.
 * @throws {NotFound} a name means nothing: nothing was done. @throws {Refused}
 */
export async function runVerb(
  session: Session,
  verb: Verb,
  names: readonly string[],
  flags: VerbFlags & Meaning,
): Promise<Told> {
  const { key, expectCount, dryRun, yes } = flags;
  const isAgreed = !dryRun && (!destroys(verb) || yes === true);
  const before = isAgreed && key !== undefined ? await filedUnder(key, session) : null;
  const slots: string[] = [];
  for (const name of [...names, ...(flags.slots ?? [])]) {
    slots.push(asBefore(name, before, flags) ?? (await oneOf(name, verb, flags, session)));
  }
  const selector = selectorOf(flags);
  const body: AskBody = {
    ...verb,
    ...(slots.length > 0 && { slots }),
    ...(selector && { selector }),
    ...(expectCount !== undefined && { expectCount }),
  };
  if (!isAgreed) return foretell(session, body, flags);
  // A duration counts from when it was asked for first.
  if (before && flags.isUntilRelative) {
    requireSame(before, verb, slots, flags);
    return goOn({ verb: verb.verb, key: before.key, filed: before }, flags, session);
  }
  return file(session, body, flags);
}

export interface ScopeFlags extends AskFlags {
  readonly provider?: string;
  readonly for?: When;
}

/** `shepherd fleet freeze` and `thaw`: asks daemons for it, and waits for it. */
export async function askForScope(
  session: Session,
  verb: 'freeze' | 'thaw',
  { provider, for: when, ...flags }: ScopeFlags,
): Promise<Told> {
  if (provider === FLEET) throw new UsageError(`--provider ${FLEET} names no provider`);
  const scope = provider ?? FLEET;
  const asked = { ...flags, waitMs: 30_000 };
  if (when === undefined) return file(session, { verb, scope }, asked);
  const timed = 'freeze-until';
  const before = flags.key === undefined ? null : await filedUnder(flags.key, session);
  const isSame = before?.verb === timed && before.reason === flags.reason.trim();
  // A duration counts from when it was asked for first.
  if (isSame && 'forMs' in when) {
    return goOn({ verb: timed, key: before.key, filed: before }, asked, session);
  }
  const untilMs = untilMsOf(when, await momentOf(session.client));
  return file(session, { verb: timed, scope, untilMs }, asked);
}

/** It erases or gives up what nobody can have back: it wants whole names, and `--yes`. */
const destroys = (verb: Verb): boolean => isDestroying(verb as Given);

/** The clock by which everything is counted: the database's. */
export const momentOf = async ({ get }: Session['client']): Promise<number> =>
  (await get<Fleet>('/fleet')).atMs;

/** By what they have in common, or all; undefined: nothing is said of that. */
function selectorOf(flags: VerbFlags) {
  const { provider, state: states, all } = flags;
  const isGiven = all || (provider ?? states) !== undefined || wantedTraits(flags).length > 0;
  const traits = forTraits((trait) => flags[trait]);
  return isGiven ? { provider, ...traits, states, ...(all && { all }) } : undefined;
}

async function filedUnder(key: string, { client: { find } }: Session): Promise<Before> {
  const path = encodeURIComponent(key);
  const request = await find<Request>(`/requests/${path}`);
  const isAlone = request !== null && request.batch === null;
  return isAlone ? request : ((await find<Batch>(`/batches/${path}`)) ?? request);
}

/**
 * As a name was sent when it was asked for first: it may mean another machine by now, or none. Null: it
 * means none of those machines.
 */
function asBefore(name: string, before: Before, { exact }: VerbFlags): string | null {
  const isIt = (each: string) => (exact ? each === name : each.startsWith(name));
  for (const { slot, machineId } of before ? requestsIn(before) : []) {
    if (slot === null) continue;
    if (machineId !== null && isIt(machineId)) return machineId;
    if (isIt(slot) || isIt(slot.slice(slot.indexOf('/') + 1))) return slot;
  }
  return null;
}

/** @throws {UsageError} something else is filed under the key. */
function requireSame(
  filed: Request | Batch,
  { verb }: Verb,
  slots: readonly string[],
  { reason }: VerbFlags,
): void {
  const requests = requestsIn(filed);
  const isAsked = ({ slot, machineId }: Request) =>
    slots.length === 0 || slots.some((each) => each === slot || each === machineId);
  const isSame = requests.every((each) => each.verb === verb && isAsked(each));
  const isWhole = slots.length === 0 || slots.length === requests.length;
  if (isSame && isWhole && filed.reason === reason.trim()) return;
  throw new UsageError(`key "${filed.key}" was used for something else; nothing was done`);
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
