import { z } from 'zod';
import { DRAIN_MODES, HOLD_KINDS, PROVIDER_HOLD_KINDS } from '../../../domain/machine.ts';
import { POOL_VERBS, PROVIDER_VERBS } from '../../../domain/verbs.ts';
import type { ThingAtLarge } from '../../../domain/filing/things.ts';
import type { Selector } from '../../../domain/filing/selection.ts';
import type { Wish } from '../../../domain/filing/verbs.ts';
import { providerName } from '../../../domain/ids.ts';
import { forTraits } from '../../../domain/traits.ts';
import { GivenMilliseconds, named } from '../schemas.ts';

/** What is sent to ask for something. */

const REASON_MAX = 2_000;
const NAME_MAX = 400;
const SLOTS_MAX = 1_000;
const VALID_FOR_MAX_MS = 90 * 86_400_000;

const name = z.string().min(1).max(NAME_MAX);
const until = GivenMilliseconds.nullable().default(null).describe('Null: until it is taken away.');
const drain = z
  .enum(DRAIN_MODES)
  .nullable()
  .default(null)
  .describe('`skip`: its load balancers are not waited for; `force`: though few stay active.');

const SelectorSchema = z
  .strictObject({
    provider: name.optional(),
    ...forTraits(() => name.optional()),
    states: z.array(name).min(1).optional().describe('`Running`, or `Quarantined/needsHuman`.'),
    all: z.literal(true).optional(),
  })
  .describe('By what they have in common, or all.');

const WHICH = {
  slots: z
    .array(name)
    .min(1)
    .max(SLOTS_MAX)
    .optional()
    .describe('Slots or machine ids. One is asked under the key itself, several are a batch.'),
  selector: SelectorSchema.optional(),
  expectCount: z.int().min(0).optional().describe('Of several: how many machines these must be.'),
};
const WHY = {
  reason: z.string().trim().min(1).max(REASON_MAX),
  validForMs: z
    .int()
    .min(1)
    .max(VALID_FOR_MAX_MS)
    .optional()
    .describe('Refused when it is not carried out by then; an hour when absent.'),
};

const ImageSchema = z.strictObject({
  url: z.string().max(2_048),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'it must be 64 hexadecimal digits in small letters'),
  compression: z.enum(['none', 'gzip', 'zstd', 'xz']).default('none'),
  rootDevice: z.union([
    z.strictObject({ name }),
    z.strictObject({ serial: name }),
    z.strictObject({ wwn: name }),
  ]),
});

const MACHINE_WISHES = [
  z.strictObject({
    verb: z.enum(['restart-agent', 'reinstall', 'deprovision']),
    drain,
    returnToPool: z
      .boolean()
      .default(false)
      .describe('Of `deprovision`: a machine may be made on its slot; no hold keeps it free.'),
    ...WHICH,
    ...WHY,
  }),
  z.strictObject({
    verb: z.literal('reboot'),
    force: z.boolean().default(false).describe('Its system is not asked first.'),
    drain,
    ...WHICH,
    ...WHY,
  }),
  z.strictObject({
    verb: z.literal('hold'),
    kind: z.enum(HOLD_KINDS),
    untilMs: until,
    force: z.boolean().optional().describe('Of `no-serve`: though few members stay active.'),
    ...WHICH,
    ...WHY,
  }),
  z.strictObject({ verb: z.literal('unhold'), kind: z.enum(HOLD_KINDS), ...WHICH, ...WHY }),
  z.strictObject({ verb: z.literal('quarantine'), untilMs: until, ...WHICH, ...WHY }),
  z.strictObject({
    verb: z.literal('release'),
    forgetHostKey: z.boolean().default(false),
    ...WHICH,
    ...WHY,
  }),
  z.strictObject({ verb: z.literal('install'), image: ImageSchema, ...WHICH, ...WHY }),
  z.strictObject({ verb: z.enum(['clear-backoff', 'cancel-install']), ...WHICH, ...WHY }),
  z.strictObject({
    verb: z.literal('withdraw'),
    order: name.optional().describe('Only the order of this key.'),
    ...WHICH,
    ...WHY,
  }),
] as const;

export const AskSchema = named(
  'Ask',
  z.discriminatedUnion('verb', [
    ...MACHINE_WISHES,
    z.strictObject({
      verb: z.enum(['freeze', 'thaw']),
      scope: name.default('fleet').describe('`fleet`, or a provider.'),
      ...WHY,
    }),
    z.strictObject({
      verb: z.enum(PROVIDER_VERBS),
      provider: name,
      hold: z
        .enum(PROVIDER_HOLD_KINDS)
        .nullable()
        .default(null)
        .describe('All holds of this kind are ended.'),
      shelf: z
        .array(name)
        .max(SLOTS_MAX)
        .default([])
        .describe('Ids of slots that are taken off the shelf.'),
      ...WHY,
    }),
    z.strictObject({
      verb: z.enum(POOL_VERBS),
      pool: name,
      balancer: name.nullable().default(null).describe('Null: all that the pool has.'),
      ...WHY,
    }),
  ]),
);
export type Ask = z.output<typeof AskSchema>;

/** Something that is asked of machines. */
export type MachineAsk = Extract<Ask, { readonly slots?: unknown }>;
/** Something that is asked of the guard, or of a pool. */
export type AskAtLarge = Exclude<Ask, MachineAsk>;

export const isOfMachines = (ask: Ask): ask is MachineAsk =>
  !('scope' in ask) && !('pool' in ask) && !('shelf' in ask);

/** What is asked, without where and why. */
export function wishOf(ask: MachineAsk): Wish {
  const {
    slots: _,
    selector: __,
    expectCount: ___,
    reason: ____,
    validForMs: _____,
    ...wish
  } = ask;
  if (wish.verb === 'withdraw') {
    const { verb, order } = wish;
    return { verb, ...(order !== undefined && { order }) };
  }
  if (wish.verb !== 'hold') return wish;
  const { force, ...hold } = wish;
  return { ...hold, ...(force && { force }) };
}

/** What is asked of the guard, of a pool, or of a provider. */
export function thingOf(ask: AskAtLarge): ThingAtLarge {
  if ('shelf' in ask) {
    const { verb, provider, hold, shelf } = ask;
    return { verb, provider: providerName(provider), hold, shelf };
  }
  if ('pool' in ask) return { verb: ask.verb, pool: ask.pool, balancer: ask.balancer };
  const { verb, scope } = ask;
  return { verb, scope: scope === 'fleet' ? scope : providerName(scope) };
}

/** Which machines are meant; one that is named alone is no batch. */
export const selectorOf = ({ slots, selector }: MachineAsk): Selector => {
  const [only, ...others] = slots ?? [];
  const named = only !== undefined && others.length === 0 ? { name: only } : { slots };
  return { ...(slots && named), ...selector };
};
