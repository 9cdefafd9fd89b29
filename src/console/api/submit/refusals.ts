import type { MachineVerb } from '../../../domain/verbs.ts';
import { isDestroying, type OperatorRequest } from '../../../domain/operator-request.ts';
import type { Person, Right } from '../../access/port.ts';
import { mayDo, mayDoAt, OPERATOR_MACHINES_MAX, roleFor } from '../../access/rights.ts';
import { Problem } from '../problem.ts';
import type { AskAtLarge } from './body.ts';

/** Checks that this person may make the request for these machines. @throws {Problem} not allowed. */
export function requireMachineRight(...asked: Parameters<typeof machineRefusal>): void {
  const refusal = machineRefusal(...asked);
  if (refusal) throw refusal;
}

/**
 * Why this person may not make the request for these machines; null: they may.
 * @param providers of the machines, one for each.
 */
export function machineRefusal(
  person: Person,
  wish: OperatorRequest<MachineVerb>,
  providers: readonly string[],
): Problem | null {
  const isMany = providers.length > OPERATOR_MACHINES_MAX;
  const right: Right = isDestroying(wish) || isMany ? 'destroy' : 'operate';
  if (!mayDo(person, right)) {
    const what = isMany ? `more than ${OPERATOR_MACHINES_MAX} machines at once` : wish.verb;
    return lacks(person, right, what);
  }
  const barred = [...new Set(providers)].filter((each) => !mayDoAt(person, right, each));
  return barred.length > 0 ? outside(person, `machines of ${barred.toSorted().join(', ')}`) : null;
}

/** The same for the guard or a pool, which belong to no single provider. @throws {Problem} */
export function requireRightAtLarge(person: Person, ask: AskAtLarge): void {
  const right: Right = isDestroying(ask) ? 'destroy' : 'operate';
  if (!mayDo(person, right)) throw lacks(person, right, ask.verb);
  const provider = providerOf(ask);
  if (mayDoAt(person, right, provider)) return;
  const where = 'pool' in ask ? 'pools' : (provider ?? 'the whole fleet');
  throw outside(person, `${ask.verb} of ${where}`);
}

/** The same for something of one provider, after the route has demanded `operate`. @throws {Problem} */
export function requireRightAt(person: Person, provider: string, what: string): void {
  if (!mayDoAt(person, 'operate', provider)) throw outside(person, what);
}

function providerOf(ask: AskAtLarge): string | null {
  if ('provider' in ask) return ask.provider;
  return 'scope' in ask && ask.scope !== 'fleet' ? ask.scope : null;
}

const lacks = ({ name, role }: Person, right: Right, what: string) =>
  new Problem(
    'not-allowed',
    `${what} needs the role ${roleFor(right)}; ${name} has the role ${role}`,
  );

/** Refuses what lies outside the providers of a person's grant. */
export const outside = ({ name, providers }: Person, what: string) =>
  new Problem(
    'not-allowed',
    `${name} may act on ${providers?.join(', ') || 'no provider'} only, not on ${what}`,
  );
