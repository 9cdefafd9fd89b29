import { NotFound, UsageError } from '../../domain/errors.ts';
import { FLEET } from '../../domain/recovery/guard-judgement.ts';
import { forTraits, wantedTraits } from '../../domain/traits.ts';
import { VERBS, type MachineVerb } from '../../domain/verbs.ts';
import { isDestroying, type GivenRequest } from '../../domain/operator-request.ts';
import { untilMsOf, type When } from '../options.ts';
import type { Batch, Fleet, Request } from './answers.ts';
import type { AskFlags, VerbFlags } from './ask-flags.ts';
import { submit, foretell, goOn, requestsIn, type AskBody, type WaitOptions } from './submit.ts';
import { findNamed } from './names.ts';
import type { Session, CommandOutput } from './session.ts';

/** A verb with its details, without the machines. */
export interface Verb {
  readonly verb: MachineVerb;
  readonly [detail: string]: unknown;
}

interface Meaning extends WaitOptions {
  /** A time was given as a duration. */
  readonly isRelative?: boolean;
}

/** The request that exists under the key of a repeated command; null: none. */
type Before = Request | Batch | null;

/**
 * `shepherd machine <verb>`: sends a request and waits for it. The console checks which machines are chosen,
 * that they are chosen in one way only, and their number.
 * @throws {NotFound} no machine has the name: nothing was done. @throws {Refused}
 */
export async function runVerb(
  session: Session,
  verb: Verb,
  names: readonly string[],
  flags: VerbFlags & Meaning,
): Promise<CommandOutput> {
  const { key, expectCount, dryRun, yes } = flags;
  const isAgreed = !dryRun && (!destroys(verb) || yes === true);
  const before = isAgreed && key !== undefined ? await submittedUnder(key, session) : null;
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
  // A duration counts from the first time that the command ran.
  if (before && flags.isRelative) {
    requireSame(before, verb, slots, flags);
    return goOn({ verb: verb.verb, key: before.key, submitted: before }, flags, session);
  }
  return submit(session, body, flags);
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
): Promise<CommandOutput> {
  if (provider === FLEET)
    throw new UsageError(
      `--provider ${FLEET} is not the name of a provider; leave it out for the whole fleet`,
    );
  const scope = provider ?? FLEET;
  const asked = { ...flags, waitMs: 30_000 };
  if (when === undefined) return submit(session, { verb, scope }, asked);
  const timed = 'freeze-until';
  const before = flags.key === undefined ? null : await submittedUnder(flags.key, session);
  const isOfScope = before !== null && 'provider' in before && (before.provider ?? FLEET) === scope;
  const isSame = isOfScope && before.verb === timed && before.reason === flags.reason.trim();
  // A duration counts from the first time that the command ran.
  if (isSame && 'forMs' in when) {
    return goOn({ verb: timed, key: before.key, submitted: before }, asked, session);
  }
  const untilMs = untilMsOf(when, await momentOf(session.client));
  return submit(session, { verb: timed, scope, untilMs }, asked);
}

/** A destroying verb needs whole names and `--yes`. */
const destroys = (verb: Verb): boolean => isDestroying(verb as GivenRequest);

/** The present time by the clock of the database. */
export const momentOf = async ({ get }: Session['client']): Promise<number> =>
  (await get<Fleet>('/fleet')).atMs;

/** The selector that the options describe; undefined: no option chooses machines. */
function selectorOf(flags: VerbFlags) {
  const { provider, state: states, all } = flags;
  const isGiven = all || (provider ?? states) !== undefined || wantedTraits(flags).length > 0;
  const traits = forTraits((trait) => flags[trait]);
  return isGiven ? { provider, ...traits, states, ...(all && { all }) } : undefined;
}

async function submittedUnder(key: string, { client: { find } }: Session): Promise<Before> {
  const path = encodeURIComponent(key);
  const request = await find<Request>(`/requests/${path}`);
  const isAlone = request !== null && request.batch === null;
  return isAlone ? request : ((await find<Batch>(`/batches/${path}`)) ?? request);
}

/**
 * The slot or ID that a name meant when the command first ran, because it may mean another machine by now.
 * Null: it meant none of those machines.
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

/** @throws {UsageError} the key belongs to another request. */
function requireSame(
  submitted: Request | Batch,
  { verb }: Verb,
  slots: readonly string[],
  { reason }: VerbFlags,
): void {
  const requests = requestsIn(submitted);
  const isAsked = ({ slot, machineId }: Request) =>
    slots.length === 0 || slots.some((each) => each === slot || each === machineId);
  const isSame = requests.every((each) => each.verb === verb && isAsked(each));
  const isWhole = slots.length === 0 || slots.length === requests.length;
  if (isSame && isWhole && submitted.reason === reason.trim()) return;
  throw new UsageError(
    `key "${submitted.key}" belongs to another request; nothing was done; give another --key`,
  );
}

const SLOT = /^[a-z][a-z0-9-]{0,30}\/[^\p{Cc}]{1,200}$/u;

/** A hold may also be put on a slot that no daemon knows. */
async function oneOf(name: string, verb: Verb, flags: VerbFlags, session: Session) {
  const exact = flags.exact || destroys(verb);
  const found = await findNamed(session.client, name, exact);
  if (found) return found.asked;
  if (VERBS[verb.verb].of === 'slot' && SLOT.test(name)) {
    session.say(`no daemon knows slot ${name}; check the spelling`);
    return name;
  }
  throw new NotFound(`no machine is named ${name}; "shepherd machines" lists all`);
}
