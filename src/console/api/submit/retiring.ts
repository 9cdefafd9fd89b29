import { askedOf, type SelectedRequest } from '../../../domain/submission/selection.ts';
import type { OperatorRequest, RequestedThing } from '../../../domain/operator-request.ts';
import type { MachineVerb } from '../../../domain/verbs.ts';

/** The configuration decides whether a retired machine is also given back. */
interface RetiringMeans {
  /** Whether retired machines of this provider are given back. */
  readonly givesBack: (provider: string) => boolean;
}

/** The request as the provider's configuration completes it. */
export function asConfigured({ givesBack }: RetiringMeans, what: RequestedThing): RequestedThing {
  if (what.verb !== 'retire') return what;
  return { ...what, giveBack: what.giveBack === true || givesBack(what.target.provider) };
}

/** The request for each machine, completed. See `askedOf`. */
export const requestsOf = (
  means: RetiringMeans,
  ...asked: Parameters<typeof askedOf>
): SelectedRequest[] =>
  askedOf(...asked).map((each) => ({ ...each, what: asConfigured(means, each.what) }));

/** The request in its gravest form at any of the providers: it decides about rights. */
export const gravest = (
  { givesBack }: RetiringMeans,
  wish: OperatorRequest<MachineVerb>,
  providers: readonly string[],
): OperatorRequest<MachineVerb> =>
  wish.verb === 'retire' ? { ...wish, giveBack: wish.giveBack || providers.some(givesBack) } : wish;
