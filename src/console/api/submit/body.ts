import { z } from 'zod';
import type { Selector } from '../../../domain/submission/selection.ts';
import { providerName } from '../../../domain/ids.ts';
import { forTraits } from '../../../domain/traits.ts';
import { described, isOfMachine, VERB_NAMES } from '../../../domain/verbs.ts';
import { wishOf } from '../../../domain/operator-request.ts';
import type { MachineVerb, Verb, VERBS } from '../../../domain/verbs.ts';
import type { ThingAtLarge, OperatorRequest } from '../../../domain/operator-request.ts';
import { detailsShape, Name, Names } from '../../../settings/verb-details.ts';
import { GivenMilliseconds, named } from '../schemas.ts';

/** The body of an operator request. */

const REASON_MAX = 2_000;
const VALID_FOR_MAX_MS = 90 * 86_400_000;

const WHICH = z.object({
  slots: Names.min(1)
    .optional()
    .describe(
      'Slots or machine ids. Several form a batch; a single one has the idempotency key itself.',
    ),
  selector: z
    .strictObject({
      provider: Name.optional(),
      ...forTraits(() => Name.optional()),
      states: z.array(Name).min(1).optional().describe('`Running`, or `Quarantined/needsHuman`.'),
      all: z.literal(true).optional(),
    })
    .describe('Selects machines by common properties, or all machines.')
    .optional(),
  expectCount: z
    .int()
    .min(0)
    .optional()
    .describe('Required number of selected machines, if there are several.'),
});
const WHY = z.object({
  reason: z.string().trim().min(1).max(REASON_MAX),
  validForMs: z
    .int()
    .min(1)
    .max(VALID_FOR_MAX_MS)
    .optional()
    .describe(
      'The request is refused if it is not carried out within this time. Default: one hour.',
    ),
});
const SUBJECTS = {
  machine: WHICH,
  slot: WHICH,
  scope: z.object({ scope: Name.default('fleet').describe('`fleet`, or a provider.') }),
  provider: z.object({ provider: Name }),
  pool: z.object({}),
};

/** What is requested, of what, and why. */
export type ActionRequest<V extends Verb = Verb> = {
  [Name in V]: OperatorRequest<Name> &
    z.output<(typeof SUBJECTS)[(typeof VERBS)[Name]['of']]> &
    z.output<typeof WHY>;
}[V];

function shapeOf(verbs: readonly Verb[]) {
  const [verb] = verbs as [Verb];
  const { of, reason } = described(verb);
  return z.strictObject({
    verb: z.literal(verbs),
    ...detailsShape(verb, GivenMilliseconds),
    ...SUBJECTS[of].shape,
    ...WHY.shape,
    ...(reason !== undefined && { reason: WHY.shape.reason.default(reason) }),
  });
}

const SHAPES = [...Map.groupBy(VERB_NAMES, (verb) => described(verb).details).values()].map(
  shapeOf,
);
export const AskSchema = named(
  'Ask',
  z.discriminatedUnion(
    'verb',
    SHAPES as [(typeof SHAPES)[number]],
  ) as unknown as z.ZodType<ActionRequest>,
);

/** A request about machines. */
export type MachineAsk = ActionRequest<MachineVerb>;
/** A request about the guard, a pool, or a provider. */
export type AskAtLarge = ActionRequest<Exclude<Verb, MachineVerb>>;

export const isOfMachines = (ask: ActionRequest): ask is MachineAsk => isOfMachine(ask.verb);

/** The guard, pool or provider that the request concerns. */
export const thingOf = (ask: AskAtLarge): ThingAtLarge =>
  ({
    ...wishOf(ask),
    ...('provider' in ask && { provider: providerName(ask.provider) }),
    ...('scope' in ask && { scope: ask.scope === 'fleet' ? ask.scope : providerName(ask.scope) }),
  }) as ThingAtLarge;

/** The selected machines; a machine named alone is no batch. */
export const selectorOf = ({ slots, selector }: MachineAsk): Selector => {
  const [only, ...others] = slots ?? [];
  const named = only !== undefined && others.length === 0 ? { name: only } : { slots };
  return { ...(slots && named), ...selector };
};
