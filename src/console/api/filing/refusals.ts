import {
  AmbiguousCommit,
  BatchRefused,
  FleetError,
  KeyReused,
  NotFound,
  NothingToDo,
  UsageError,
  explain,
} from '../../../domain/errors.ts';
import type { MachineVerb } from '../../../domain/verbs.ts';
import { isDestroying, type Wish } from '../../../domain/wishes.ts';
import type { Person, Right } from '../../access/port.ts';
import { mayDo, mayDoAt, OPERATOR_MACHINES_MAX, roleFor } from '../../access/rights.ts';
import { Problem } from '../problem.ts';
import { byReason } from './answers.ts';
import type { AskAtLarge } from './body.ts';

/** A database that is away is asked again after so long. */
const RETRY_SECONDS = 5;

/** Carries out a step of filing, or of looking at what was filed. @throws {Problem} what failed. */
export async function asProblems<T>(step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw error instanceof FleetError && !(error instanceof Problem) ? problemOf(error) : error;
  }
}

function problemOf(error: FleetError): Problem {
  if (error instanceof KeyReused) return new Problem('key-reused', error.message);
  if (error instanceof UsageError) return new Problem('malformed', error.message);
  if (error instanceof NotFound) return new Problem('not-found', error.message);
  if (error instanceof BatchRefused) return batchProblem(error);
  if (error instanceof NothingToDo) return new Problem('refused', error.message);
  if (!error.retryable && !(error instanceof AmbiguousCommit)) {
    return new Problem('internal', 'Internal error; the log of the daemon tells more', {
      cause: error,
    });
  }
  const detail = `${explain(error)}; asking again with the same key files nothing twice`;
  return new Problem('unavailable', detail, { retryAfterSeconds: RETRY_SECONDS, cause: error });
}

/** A request of a batch has the key `<key>/<slot>`. */
function batchProblem(error: BatchRefused): Problem {
  const found = error.refusals.map(({ key, cause }) => ({ slot: key, reason: cause.message }));
  return new Problem('refused', error.message, { members: { refusals: byReason(found) } });
}

/**
 * Whether this person may ask for it of these machines.
 * @param providers of the machines, one for each.
 * @throws {Problem} not allowed.
 */
export function requireMachineRight(
  person: Person,
  wish: Wish<MachineVerb>,
  providers: readonly string[],
): void {
  const isMany = providers.length > OPERATOR_MACHINES_MAX;
  const right: Right = isDestroying(wish) || isMany ? 'destroy' : 'operate';
  if (!mayDo(person, right)) {
    const what = isMany ? `more than ${OPERATOR_MACHINES_MAX} machines at once` : wish.verb;
    throw lacks(person, right, what);
  }
  const barred = [...new Set(providers)].filter((each) => !mayDoAt(person, right, each));
  if (barred.length > 0) throw outside(person, `machines of ${barred.toSorted().join(', ')}`);
}

/** The same of the guard, or of a pool, which belong to no provider alone. @throws {Problem} */
export function requireRightAtLarge(person: Person, ask: AskAtLarge): void {
  const right: Right = isDestroying(ask) ? 'destroy' : 'operate';
  if (!mayDo(person, right)) throw lacks(person, right, ask.verb);
  const provider = providerOf(ask);
  if (mayDoAt(person, right, provider)) return;
  const where = 'pool' in ask ? 'pools' : (provider ?? 'the whole fleet');
  throw outside(person, `${ask.verb} of ${where}`);
}

function providerOf(ask: AskAtLarge): string | null {
  if ('provider' in ask) return ask.provider;
  return 'scope' in ask && ask.scope !== 'fleet' ? ask.scope : null;
}

const lacks = ({ name, role }: Person, right: Right, what: string) =>
  new Problem(
    'not-allowed',
    `${what} demands the role ${roleFor(right)}; ${name} has the role ${role}`,
  );

const outside = ({ name, providers }: Person, what: string) =>
  new Problem(
    'not-allowed',
    `${name} may act on ${providers?.join(', ') || 'no provider'} only, not on ${what}`,
  );
