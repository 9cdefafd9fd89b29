import { z } from 'zod';
import type { FaultBook, Rule } from '../kit/fault-book.ts';
import { MATCH_FIELDS, refuseMatch, requireRoute, ruleOf } from '../kit/rule-form.ts';
import { WIRE_EFFECTS } from '../kit/wire-faults.ts';
import { SERVER_ID } from './state/ids.ts';

const ms = z.number().min(0);

const effect = z.discriminatedUnion('type', [
  ...WIRE_EFFECTS,
  /** 429; null: the answer does not say for how long. The header says it when asked to. */
  z.strictObject({
    type: z.literal('rateLimit'),
    retryAfterS: z.int().min(0).nullable(),
    header: z.boolean().optional(),
  }),
  /** A create finds nothing in stock, whatever the plans say. */
  z.strictObject({ type: z.literal('stockOut') }),
  z.strictObject({ type: z.literal('quota') }),
  /** A list shows what was there so long ago. */
  z.strictObject({ type: z.literal('listLag'), ms }),
  z.strictObject({
    type: z.literal('pages'),
    does: z.enum(['shuffled', 'doubled', 'omitted', 'drifting']),
  }),
  z.strictObject({ type: z.literal('hostnameFilter') }),
  /** From a create or reinstall on, for so long, `on` is shown. */
  z.strictObject({ type: z.literal('staleOn'), ms }),
  z.strictObject({ type: z.literal('deployStuck') }),
  z.strictObject({ type: z.literal('deployFails') }),
  z.strictObject({ type: z.literal('eraseFails') }),
  z.strictObject({ type: z.literal('statusText'), shows: z.string() }),
  z.strictObject({ type: z.literal('actionIgnored') }),
  z.strictObject({ type: z.literal('ipmiUnavailable') }),
  z.strictObject({ type: z.literal('locked') }),
  z.strictObject({
    type: z.literal('cut'),
    field: z.enum(['description', 'content']),
    length: z.int().min(0),
  }),
  z.strictObject({ type: z.literal('userDataIgnored') }),
  z.strictObject({ type: z.literal('keyNotInstalled') }),
  z.strictObject({ type: z.literal('addressChanges'), to: z.ipv4().optional() }),
  z.strictObject({ type: z.literal('scheduledDeletion'), afterMs: ms }),
  /** Keys are refused until the rule is removed. */
  z.strictObject({ type: z.literal('tokenRevoked'), code: z.literal([401, 403]).optional() }),
  z.strictObject({ type: z.literal('movedProject'), to: z.string() }),
  /** At once with a name; else just before a create, with the name that it asks for. */
  z.strictObject({ type: z.literal('stranger'), hostname: z.string().optional() }),
  z.strictObject({ type: z.literal('statsMissing') }),
  z.strictObject({
    type: z.literal('pageSizeRefused'),
    above: z.int().min(1),
    code: z.literal([400, 422]).optional(),
  }),
]);
export type FaultEffect = z.output<typeof effect>;
export const EFFECT_TYPES: readonly string[] = effect.options.map(({ shape }) => shape.type.value);
export type EffectType = FaultEffect['type'];
export type EffectOf<T extends EffectType> = Extract<FaultEffect, { type: T }>;

const match = z.strictObject({
  ...MATCH_FIELDS,
  /** Id of a server. */
  server: z.string().regex(SERVER_ID).optional(),
  /** Of the server, or the one that a create asks for; as it was asked for. */
  hostname: z.string().optional(),
  /** Id of a project. */
  project: z.string().optional(),
  /** Which page of a list. */
  page: z.int().min(1).optional(),
});
export type FaultMatch = z.output<typeof match>;

const ruleSchema = ruleOf(match, effect);

/** What a test asks for. */
export type FaultRule = z.input<typeof ruleSchema>;
/** A rule in force. */
export type Fault = Readonly<Rule<FaultMatch, FaultEffect>>;

/** What rules look at. Without method and route: the life of a server. */
export interface Subject {
  readonly method: string;
  readonly route: string;
  readonly server?: string | undefined;
  readonly hostname?: string | undefined;
  readonly project?: string | undefined;
  readonly page?: number | undefined;
}
export type Faults = FaultBook<FaultMatch, FaultEffect, Subject>;

/** Effects that happen to servers when the rule is made, not to a request. */
export const AT_ONCE = ['locked', 'addressChanges', 'scheduledDeletion', 'movedProject'] as const;
export type AtOnce = (typeof AT_ONCE)[number];
export const isAtOnce = (type: EffectType): type is AtOnce =>
  (AT_ONCE as readonly string[]).includes(type);

/** Effects that happen in the life of a server, whoever asks. */
const OF_LIFE: readonly EffectType[] = [
  ...AT_ONCE,
  'staleOn',
  'deployStuck',
  'deployFails',
  'eraseFails',
  'userDataIgnored',
  'keyNotInstalled',
];

export interface Known {
  readonly routes: readonly string[];
  readonly projects: readonly string[];
}

/**
 * A rule that names what there is not would never strike, and a test of it always pass.
 * @throws {z.ZodError} for a rule that cannot be understood, or names what there is not.
 */
export function parseFaultRule(input: unknown, known: Known) {
  const rule = ruleSchema.parse(input);
  const { route, method, page, project } = rule.match ?? {};
  requireRoute(rule, known.routes);
  if (project !== undefined && !known.projects.includes(project)) {
    refuseMatch(rule, 'project', `no project ${project}`);
  }
  if (rule.effect.type === 'movedProject' && !known.projects.includes(rule.effect.to)) {
    refuseMatch(rule, 'to', `no project ${rule.effect.to}`);
  }
  const ofRequests = [route, method, page].some((one) => one !== undefined);
  const isOfLife = OF_LIFE.includes(rule.effect.type) || isNamedStranger(rule.effect);
  if (ofRequests && isOfLife) {
    refuseMatch(rule, 'route', `${rule.effect.type} happens to servers, not to requests`);
  }
  return rule;
}

const isNamedStranger = (one: FaultEffect): boolean =>
  one.type === 'stranger' && one.hostname !== undefined;
